/* SPDX-License-Identifier: MIT */
#import "object.h"

#define TAG_MAX 36
#define NAME_BYTES 255

@implementation VZSharedDirectory
VZ_SHARED

- (instancetype)initWithURL:(NSURL *)url readOnly:(BOOL)readOnly
{
	self = [self initValues];
	if (self) {
		[self keep:[[url copy] autorelease] as:@"URL"];
		[self keep:[NSNumber numberWithBool:readOnly] as:@"readOnly"];
	}
	return self;
}

VZ_READ(NSURL *, URL)

- (BOOL)isReadOnly
{
	return [[self valueOf:@"readOnly"] boolValue];
}

@end

@implementation VZDirectoryShare
VZ_SHARED
@end

@implementation VZSingleDirectoryShare

- (instancetype)initWithDirectory:(VZSharedDirectory *)directory
{
	self = [self initValues];
	if (self)
		[self keep:directory as:@"directory"];
	return self;
}

VZ_READ(VZSharedDirectory *, directory)

@end

@implementation VZMultipleDirectoryShare

- (instancetype)init
{
	return [self initWithDirectories:[NSDictionary dictionary]];
}

- (instancetype)initWithDirectories:(NSDictionary *)directories
{
	for (NSString *name in directories)
		if (![VZMultipleDirectoryShare validateName:name error:NULL])
			vz_raise(@"Invalid directory name \"%@\".", name);
	self = [self initValues];
	if (self)
		[self keep:[[directories copy] autorelease] as:@"directories"];
	return self;
}

VZ_READ(NSDictionary *, directories)

+ (BOOL)validateName:(NSString *)name error:(NSError **)error
{
	NSUInteger bytes = [name lengthOfBytesUsingEncoding:NSUTF8StringEncoding];

	if (bytes > 0 && bytes <= NAME_BYTES && ![name isEqualToString:@"."] &&
	    ![name isEqualToString:@".."] && [name rangeOfString:@"/"].location == NSNotFound)
		return YES;
	return vz_refuse(error, VZErrorInvalidVirtualMachineConfiguration,
			 @"The directory name is invalid.");
}

+ (NSString *)canonicalizedNameFromName:(NSString *)name
{
	NSString *safe = [name stringByReplacingOccurrencesOfString:@"/" withString:@"-"];

	return [self validateName:safe error:NULL] ? safe : nil;
}

@end

@implementation VZDirectorySharingDeviceConfiguration
@end

@implementation VZVirtioFileSystemDeviceConfiguration

- (instancetype)initWithTag:(NSString *)tag
{
	self = [self initValues];
	if (self)
		[self setTag:tag];
	return self;
}

/* A valid tag is "non-empty and less than 36 bytes when encoded in UTF-8" (objc2-virtualization,
 * from Apple's header). */
+ (BOOL)validateTag:(NSString *)tag error:(NSError **)error
{
	NSUInteger bytes = [tag lengthOfBytesUsingEncoding:NSUTF8StringEncoding];

	if (bytes > 0 && bytes < TAG_MAX)
		return YES;
	return vz_refuse(error, VZErrorInvalidVirtualMachineConfiguration, @"The tag is invalid.");
}

VZ_READ(NSString *, tag)
VZ_STRONG(VZDirectoryShare *, share, setShare)

- (void)setTag:(NSString *)tag
{
	if (![[self class] validateTag:tag error:NULL])
		vz_raise(@"Invalid tag \"%@\".", tag);
	[self keep:[[tag copy] autorelease] as:@"tag"];
}

+ (NSString *)macOSGuestAutomountTag
{
	return @"com.apple.virtio-fs.automount";
}

@end
