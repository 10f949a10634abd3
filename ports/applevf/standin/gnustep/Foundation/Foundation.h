/* SPDX-License-Identifier: MIT */
/* GNUstep's Foundation, and declarations of Apple's Foundation that release 1.28 of GNUstep
 * lacks. */
#pragma once

#include_next <Foundation/Foundation.h>

/* Apple's Foundation includes these headers too, through CoreFoundation and libdispatch. */
#include <Availability.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#import <CoreFoundation/CoreFoundation.h>

typedef NSString *NSErrorUserInfoKey;

typedef struct {
	NSInteger majorVersion;
	NSInteger minorVersion;
	NSInteger patchVersion;
} NSOperatingSystemVersion;

@interface NSProcessInfo (StandinVersion)
- (NSOperatingSystemVersion)operatingSystemVersion;
- (BOOL)isOperatingSystemAtLeastVersion:(NSOperatingSystemVersion)version;
@end
