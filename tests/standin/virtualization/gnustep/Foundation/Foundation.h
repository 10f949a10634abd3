/* SPDX-License-Identifier: MIT */
/* GNUstep's Foundation, and what Apple's declares that release 1.28 of it lacks. */
#pragma once

#include_next <Foundation/Foundation.h>

#import <CoreFoundation/CoreFoundation.h>

typedef struct {
	NSInteger majorVersion;
	NSInteger minorVersion;
	NSInteger patchVersion;
} NSOperatingSystemVersion;

@interface NSProcessInfo (StandinVersion)
- (NSOperatingSystemVersion)operatingSystemVersion;
- (BOOL)isOperatingSystemAtLeastVersion:(NSOperatingSystemVersion)version;
@end
