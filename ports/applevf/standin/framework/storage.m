/* SPDX-License-Identifier: MIT */
#import "object.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK 512
#define IDENTIFIER_MAX 20
/* The default timeout of a network block device, in seconds. Apple does not publish the value of
 * this timeout. */
#define NBD_TIMEOUT 10

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

/* Returns the reason why the image cannot be used, or nil if it can be used. Apple documents that
 * the image must be a raw image of whole blocks, which can be opened for reading or for writing as
 * the client wants. */
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

@implementation VZDiskBlockDeviceStorageDeviceAttachment

/* Retains the file handle. Apple documents that the handle stays open until the machine starts. */
- (instancetype)initWithFileHandle:(NSFileHandle *)fileHandle
			  readOnly:(BOOL)readOnly
	       synchronizationMode:(VZDiskSynchronizationMode)synchronizationMode
			     error:(NSError **)error
{
	struct stat about;

	self = [self initValues];
	if (fstat([fileHandle fileDescriptor], &about) < 0 || !S_ISBLK(about.st_mode)) {
		vz_refuse(error, VZErrorInvalidDiskImage,
			  @"The file handle is not one of a block device.");
		[self release];
		return nil;
	}
	[self keep:fileHandle as:@"image"];
	[self keep:[NSNumber numberWithBool:readOnly] as:@"readOnly"];
	[self keep:[NSNumber numberWithInteger:synchronizationMode] as:@"synchronizationMode"];
	return self;
}

- (NSFileHandle *)fileHandle
{
	return [self valueOf:@"image"];
}

- (BOOL)isReadOnly
{
	return [[self valueOf:@"readOnly"] boolValue];
}

- (VZDiskSynchronizationMode)synchronizationMode
{
	return [[self valueOf:@"synchronizationMode"] integerValue];
}

@end

@implementation VZNetworkBlockDeviceStorageDeviceAttachment

- (instancetype)initWithURL:(NSURL *)URL
		    timeout:(NSTimeInterval)timeout
	     forcedReadOnly:(BOOL)forcedReadOnly
	synchronizationMode:(VZDiskSynchronizationMode)synchronizationMode
		      error:(NSError **)error
{
	self = [self initValues];
	if (![[self class] validateURL:URL error:error]) {
		[self release];
		return nil;
	}
	[self keep:[[URL copy] autorelease] as:@"URL"];
	[self keep:[NSNumber numberWithDouble:timeout] as:@"timeout"];
	[self keep:[NSNumber numberWithBool:forcedReadOnly] as:@"forcedReadOnly"];
	[self keep:[NSNumber numberWithInteger:synchronizationMode] as:@"synchronizationMode"];
	return self;
}

- (instancetype)initWithURL:(NSURL *)URL error:(NSError **)error
{
	return [self initWithURL:URL
			    timeout:NBD_TIMEOUT
		     forcedReadOnly:NO
		synchronizationMode:VZDiskSynchronizationModeFull
			      error:error];
}

/* Accepts the schemes of NBD's page on URIs, for TCP to a host and for a Unix socket. */
+ (BOOL)validateURL:(NSURL *)URL error:(NSError **)error
{
	NSString *scheme = [URL scheme];
	BOOL by_tcp = [scheme isEqualToString:@"nbd"] || [scheme isEqualToString:@"nbds"];
	BOOL by_unix =
		[scheme isEqualToString:@"nbd+unix"] || [scheme isEqualToString:@"nbds+unix"];

	if ((by_tcp && [[URL host] length]) ||
	    (by_unix && [[URL query] rangeOfString:@"socket="].location != NSNotFound))
		return YES;
	return vz_refuse(error, VZErrorInvalidVirtualMachineConfiguration,
			 @"The URL is not one of a network block device.");
}

VZ_READ(NSURL *, URL)

- (NSTimeInterval)timeout
{
	return [[self valueOf:@"timeout"] doubleValue];
}

- (BOOL)isForcedReadOnly
{
	return [[self valueOf:@"forcedReadOnly"] boolValue];
}

- (VZDiskSynchronizationMode)synchronizationMode
{
	return [[self valueOf:@"synchronizationMode"] integerValue];
}

/* Returns the delegate, which this object does not retain, since the property is weak. */
- (id<VZNetworkBlockDeviceStorageDeviceAttachmentDelegate>)delegate
{
	return [[self valueOf:@"delegate"] nonretainedObjectValue];
}

- (void)setDelegate:(id<VZNetworkBlockDeviceStorageDeviceAttachmentDelegate>)delegate
{
	[self keep:delegate ? [NSValue valueWithNonretainedObject:delegate] : nil as:@"delegate"];
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

/* Ends the process if the identifier is not valid, as Apple's page about the property says:
 * "Setting the identifier to an invalid string results in a fatal error". */
- (void)setBlockDeviceIdentifier:(NSString *)blockDeviceIdentifier
{
	if (![[self class] validateBlockDeviceIdentifier:blockDeviceIdentifier error:NULL])
		vz_raise(@"Invalid block device identifier \"%@\".", blockDeviceIdentifier);
	[self keep:[[blockDeviceIdentifier copy] autorelease] as:@"blockDeviceIdentifier"];
}

@end

/* Defines the methods of a device that has only an attachment. */
#define VZ_ATTACHED                                                                 \
	-(instancetype)initWithAttachment : (VZStorageDeviceAttachment *)attachment \
	{                                                                           \
		self = [self initValues];                                           \
		if (self)                                                           \
			[self keep:attachment as:@"attachment"];                    \
		return self;                                                        \
	}

@implementation VZUSBMassStorageDeviceConfiguration
VZ_ATTACHED
@end

@implementation VZNVMExpressControllerDeviceConfiguration
VZ_ATTACHED
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

/* Creates an empty file as the variable store. Apple does not publish what its framework writes
 * into the store. Here nothing reads the file. */
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
