/* SPDX-License-Identifier: MIT */
/*
 * The objects that describe a macOS guest. Apple's data representations of these objects are opaque
 * to a client. Here the representations are texts. An auxiliary storage is a file with the name of
 * its hardware model, so that its use with another model is noticed.
 */
#import "mac.h"

#import "object.h"
#import "settings.h"

#include <fcntl.h>
#include <unistd.h>

@implementation VZMacHardwareModel

- (instancetype)initWithDataRepresentation:(NSData *)dataRepresentation
{
	self = [self initValues];
	NSString *text = [[[NSString alloc] initWithData:dataRepresentation
						encoding:NSUTF8StringEncoding] autorelease];
	if (![text hasPrefix:MAC_MODEL_PREFIX]) {
		[self release];
		return nil;
	}
	[self keep:[[dataRepresentation copy] autorelease] as:@"dataRepresentation"];
	return self;
}

VZ_READ(NSData *, dataRepresentation)

- (BOOL)isSupported
{
	return settings_flag(@"macModelSupported", YES);
}

@end

@implementation VZMacMachineIdentifier

- (instancetype)init
{
	NSString *text = [MAC_MACHINE_PREFIX stringByAppendingString:[[NSUUID UUID] UUIDString]];

	return [self initWithDataRepresentation:[text dataUsingEncoding:NSUTF8StringEncoding]];
}

- (instancetype)initWithDataRepresentation:(NSData *)dataRepresentation
{
	self = [self initValues];
	NSString *text = [[[NSString alloc] initWithData:dataRepresentation
						encoding:NSUTF8StringEncoding] autorelease];
	if (![text hasPrefix:MAC_MACHINE_PREFIX]) {
		[self release];
		return nil;
	}
	[self keep:[[dataRepresentation copy] autorelease] as:@"dataRepresentation"];
	return self;
}

VZ_READ(NSData *, dataRepresentation)

@end

/* --- auxiliary storage ----------------------------------------------------------------------- */

@implementation VZMacAuxiliaryStorage
VZ_SHARED

- (instancetype)initWithURL:(NSURL *)URL
{
	self = [self initValues];
	if (self)
		[self keep:[[URL copy] autorelease] as:@"URL"];
	return self;
}

- (instancetype)initWithContentsOfURL:(NSURL *)URL
{
	return [self initWithURL:URL];
}

- (instancetype)initCreatingStorageAtURL:(NSURL *)URL
			   hardwareModel:(VZMacHardwareModel *)hardwareModel
				 options:(VZMacAuxiliaryStorageInitializationOptions)options
				   error:(NSError **)error
{
	BOOL overwrite = (options & VZMacAuxiliaryStorageInitializationOptionAllowOverwrite) != 0;
	NSData *model = [hardwareModel dataRepresentation];

	self = [self initWithURL:URL];
	int fd = open([[URL path] UTF8String],
		      O_WRONLY | O_CREAT | O_CLOEXEC | (overwrite ? O_TRUNC : O_EXCL), 0600);
	if (fd < 0 || write(fd, [model bytes], [model length]) != (ssize_t)[model length]) {
		vz_refuse(error, VZErrorInternal, @"Failed to create auxiliary storage.");
		[self release];
		self = nil;
	}
	if (fd >= 0)
		close(fd);
	return self;
}

VZ_READ(NSURL *, URL)

@end

@implementation VZMacPlatformConfiguration

- (instancetype)init
{
	self = [self initValues];
	if (self)
		[self setMachineIdentifier:[[[VZMacMachineIdentifier alloc] init] autorelease]];
	return self;
}

VZ_COPIED(VZMacHardwareModel *, hardwareModel, setHardwareModel)
VZ_COPIED(VZMacMachineIdentifier *, machineIdentifier, setMachineIdentifier)
VZ_STRONG(VZMacAuxiliaryStorage *, auxiliaryStorage, setAuxiliaryStorage)

@end

@implementation VZMacOSBootLoader
VZ_INIT
@end

@implementation VZMacOSConfigurationRequirements

VZ_READ(VZMacHardwareModel *, hardwareModel)

- (NSUInteger)minimumSupportedCPUCount
{
	return (NSUInteger)settings_number(@"macMinimumCPUs", 2);
}

- (uint64_t)minimumSupportedMemorySize
{
	return settings_number(@"macMinimumMemory", 4ull << 30);
}

@end

@implementation VZVirtualMachineStartOptions
@end

@implementation VZMacOSVirtualMachineStartOptions
VZ_NUMBER(BOOL, startUpFromMacOSRecovery, setStartUpFromMacOSRecovery)
@end
