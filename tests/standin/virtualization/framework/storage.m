/* SPDX-License-Identifier: MIT */
#import "object.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK 512
#define IDENTIFIER_MAX 20

@implementation VZStorageDeviceAttachment
VZ_SHARED
@end

@implementation VZDiskImageStorageDeviceAttachment

- (instancetype)initWithURL:(NSURL *)url readOnly:(BOOL)readOnly error:(NSError **)error
{
	return [self initWithURL:url
			   readOnly:readOnly
			cachingMode:VZDiskImageCachingModeAutomatic
		synchronizationMode:VZDiskImageSynchronizationModeFull
			      error:error];
}

/* A raw image, of whole blocks, which can be opened as is asked: the documentation of the class. */
static NSString *unfit_image(NSURL *url, int fd)
{
	struct stat about;

	if (![url isFileURL])
		return @"The URL is no file URL.";
	if (fd < 0)
		return @"The disk image cannot be opened.";
	if (fstat(fd, &about) < 0 || !S_ISREG(about.st_mode))
		return @"The disk image is no regular file.";
	return about.st_size % BLOCK ? @"The size of the disk image is no multiple of 512 bytes."
				     : nil;
}

- (instancetype)initWithURL:(NSURL *)url
		   readOnly:(BOOL)readOnly
		cachingMode:(VZDiskImageCachingMode)cachingMode
	synchronizationMode:(VZDiskImageSynchronizationMode)synchronizationMode
		      error:(NSError **)error
{
	int fd = open([[url path] UTF8String], (readOnly ? O_RDONLY : O_RDWR) | O_CLOEXEC);
	NSString *reason = unfit_image(url, fd);

	self = [self initValues];
	if (fd >= 0)
		[self keep:[[[NSFileHandle alloc] initWithFileDescriptor:fd
							  closeOnDealloc:YES] autorelease]
			as:@"image"];
	if (reason) {
		vz_refuse(error, VZErrorInvalidDiskImage, reason);
		[self release];
		return nil;
	}
	[self keep:[[url copy] autorelease] as:@"URL"];
	[self keep:[NSNumber numberWithBool:readOnly] as:@"readOnly"];
	[self keep:[NSNumber numberWithInteger:cachingMode] as:@"cachingMode"];
	[self keep:[NSNumber numberWithInteger:synchronizationMode] as:@"synchronizationMode"];
	return self;
}

VZ_READ(NSURL *, URL)

- (BOOL)isReadOnly
{
	return [[self valueOf:@"readOnly"] boolValue];
}

- (VZDiskImageCachingMode)cachingMode
{
	return [[self valueOf:@"cachingMode"] integerValue];
}

- (VZDiskImageSynchronizationMode)synchronizationMode
{
	return [[self valueOf:@"synchronizationMode"] integerValue];
}

@end

@implementation VZStorageDeviceConfiguration
VZ_READ(VZStorageDeviceAttachment *, attachment)
@end

@implementation VZVirtioBlockDeviceConfiguration

- (instancetype)initWithAttachment:(VZStorageDeviceAttachment *)attachment
{
	self = [self initValues];
	if (self) {
		[self keep:attachment as:@"attachment"];
		[self keep:@"" as:@"blockDeviceIdentifier"];
	}
	return self;
}

+ (BOOL)validateBlockDeviceIdentifier:(NSString *)blockDeviceIdentifier error:(NSError **)error
{
	NSData *ascii = [blockDeviceIdentifier dataUsingEncoding:NSASCIIStringEncoding];

	if (ascii && [ascii length] <= IDENTIFIER_MAX)
		return YES;
	return vz_refuse(error, VZErrorInvalidVirtualMachineConfiguration,
			 @"The block device identifier is invalid.");
}

VZ_READ(NSString *, blockDeviceIdentifier)

/* "Setting the identifier to an invalid string results in a fatal error" (its page). */
- (void)setBlockDeviceIdentifier:(NSString *)blockDeviceIdentifier
{
	if (![[self class] validateBlockDeviceIdentifier:blockDeviceIdentifier error:NULL])
		vz_raise(@"Invalid block device identifier \"%@\".", blockDeviceIdentifier);
	[self keep:[[blockDeviceIdentifier copy] autorelease] as:@"blockDeviceIdentifier"];
}

@end

@implementation VZUSBMassStorageDeviceConfiguration

- (instancetype)initWithAttachment:(VZStorageDeviceAttachment *)attachment
{
	self = [self initValues];
	if (self)
		[self keep:attachment as:@"attachment"];
	return self;
}

@end

@implementation VZEFIVariableStore
VZ_SHARED

- (instancetype)initWithURL:(NSURL *)URL
{
	self = [self initValues];
	if (self)
		[self keep:[[URL copy] autorelease] as:@"URL"];
	return self;
}

/* What Apple writes into it is published nowhere: here nothing, for nothing reads it. */
- (instancetype)initCreatingVariableStoreAtURL:(NSURL *)URL
				       options:(VZEFIVariableStoreInitializationOptions)options
					 error:(NSError **)error
{
	BOOL overwrite = (options & VZEFIVariableStoreInitializationOptionAllowOverwrite) != 0;
	int how = O_WRONLY | O_CREAT | O_CLOEXEC | (overwrite ? O_TRUNC : O_EXCL);
	int fd = open([[URL path] UTF8String], how, 0600);

	self = [self initWithURL:URL];
	if (fd < 0) {
		vz_refuse(error, VZErrorInternal, @"Failed to create the EFI variable store.");
		[self release];
		return nil;
	}
	close(fd);
	return self;
}

VZ_READ(NSURL *, URL)

@end
