/* SPDX-License-Identifier: MIT */
/* Functions and methods of Apple's Foundation that release 1.28 of GNUstep's Foundation lacks. */
#import <Foundation/Foundation.h>

#import "settings.h"

@implementation NSProcessInfo (StandinVersion)

- (NSOperatingSystemVersion)operatingSystemVersion
{
	NSOperatingSystemVersion version = {0, 0, 0};
	NSInteger *numbers[] = {&version.majorVersion, &version.minorVersion,
				&version.patchVersion};
	NSArray *said =
		[settings_text(@"operatingSystem", @"14.5.0") componentsSeparatedByString:@"."];

	for (NSUInteger i = 0; i < 3 && i < [said count]; i++)
		*numbers[i] = [[said objectAtIndex:i] integerValue];
	return version;
}

- (BOOL)isOperatingSystemAtLeastVersion:(NSOperatingSystemVersion)least
{
	NSOperatingSystemVersion version = [self operatingSystemVersion];

	if (version.majorVersion != least.majorVersion)
		return version.majorVersion > least.majorVersion;
	if (version.minorVersion != least.minorVersion)
		return version.minorVersion > least.minorVersion;
	return version.patchVersion >= least.patchVersion;
}

@end
