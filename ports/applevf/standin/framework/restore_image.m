/* SPDX-License-Identifier: MIT */
/*
 * A restore image is a ZIP archive (an IPSW). The stand-in checks only the archive's first bytes.
 * The settings say what the image contains, and where the latest image is. Completion handlers run
 * "on an arbitrary thread", as Apple documents.
 */
#import "dispatch.h"
#import "entitlements.h"
#import "mac.h"
#import "object.h"
#import "settings.h"

#define ARCHIVE "PK\003\004"
#define BUILD_DEFAULT @"23F79"
#define VERSION_DEFAULT @"14.5"

typedef void (^RestoreImageHandler)(VZMacOSRestoreImage *, NSError *);

@implementation VZMacOSRestoreImage

static void answer_elsewhere(RestoreImageHandler handler, VZMacOSRestoreImage *image,
			     NSError *error)
{
	RestoreImageHandler copy = [[handler copy] autorelease];

	standin_thread(^{
	  copy(image, error);
	});
}

static NSError *unfit_file(NSURL *url)
{
	NSDictionary *fault = settings_fault(@"loadRestoreImage");
	NSFileHandle *file = [NSFileHandle fileHandleForReadingAtPath:[url path]];

	if (fault)
		return settings_fault_error(fault, VZErrorRestoreImageLoadFailed);
	if (!entitlement_held(ENTITLEMENT_VIRTUALIZATION))
		return vz_error(VZErrorRestoreImageLoadFailed,
				@"The process doesn’t have the "
				@"“com.apple.security.virtualization” entitlement.");
	if (!file)
		return vz_error(VZErrorRestoreImageLoadFailed, nil);
	NSData *start = [file readDataOfLength:sizeof(ARCHIVE) - 1];
	return [start isEqualToData:[NSData dataWithBytes:ARCHIVE length:sizeof(ARCHIVE) - 1]]
		       ? nil
		       : vz_error(VZErrorInvalidRestoreImage, nil);
}

+ (void)loadFileURL:(NSURL *)fileURL completionHandler:(RestoreImageHandler)completionHandler
{
	if (![fileURL isFileURL])
		vz_raise(@"A restore image is loaded from a file URL, not from %@.", fileURL);
	NSError *error = unfit_file(fileURL);
	VZMacOSRestoreImage *image = error ? nil : [[[self alloc] initValues] autorelease];
	[image keep:fileURL as:@"URL"];
	answer_elsewhere(completionHandler, image, error);
}

+ (void)fetchLatestSupportedWithCompletionHandler:(RestoreImageHandler)completionHandler
{
	NSString *where = settings_text(@"latestRestoreImage", nil);
	VZMacOSRestoreImage *image = where ? [[[self alloc] initValues] autorelease] : nil;

	if (image)
		[image keep:[NSURL URLWithString:where] as:@"URL"];
	answer_elsewhere(completionHandler, image,
			 image ? nil : vz_error(VZErrorRestoreImageCatalogLoadFailed, nil));
}

- (BOOL)isSupported
{
	NSNumber *said = settings_in(@"restoreImage", @"supported");

	return said ? [said boolValue] : YES;
}

VZ_READ(NSURL *, URL)

- (NSString *)buildVersion
{
	NSString *said = settings_in(@"restoreImage", @"buildVersion");

	return said ? said : BUILD_DEFAULT;
}

/* Parses a version such as "13.6.1". Parts that are missing in the text are 0. */
- (NSOperatingSystemVersion)operatingSystemVersion
{
	NSString *said = settings_in(@"restoreImage", @"version");
	NSArray *parts = [said ? said : VERSION_DEFAULT componentsSeparatedByString:@"."];
	NSInteger numbers[3] = {0, 0, 0};

	for (NSUInteger i = 0; i < 3 && i < [parts count]; i++)
		numbers[i] = [[parts objectAtIndex:i] integerValue];
	return (NSOperatingSystemVersion){numbers[0], numbers[1], numbers[2]};
}

- (VZMacOSConfigurationRequirements *)mostFeaturefulSupportedConfiguration
{
	NSString *model = [MAC_MODEL_PREFIX stringByAppendingString:[self buildVersion]];
	VZMacHardwareModel *hardware = [[[VZMacHardwareModel alloc]
		initWithDataRepresentation:[model dataUsingEncoding:NSUTF8StringEncoding]]
		autorelease];

	if (![self isSupported])
		return nil;
	VZMacOSConfigurationRequirements *requirements =
		[[[VZMacOSConfigurationRequirements alloc] initValues] autorelease];
	[requirements keep:hardware as:@"hardwareModel"];
	return requirements;
}

@end
