/* SPDX-License-Identifier: MIT */
#pragma once

#include <CoreFoundation/CoreFoundation.h>

typedef struct __SecTask *SecTaskRef;

extern SecTaskRef SecTaskCreateFromSelf(CFAllocatorRef allocator);
extern CFTypeRef SecTaskCopyValueForEntitlement(SecTaskRef task, CFStringRef entitlement,
						CFErrorRef *error);
