/* SPDX-License-Identifier: MIT */
#pragma once

#import <Foundation/Foundation.h>

#define ENTITLEMENT_VIRTUALIZATION @"com.apple.security.virtualization"
#define ENTITLEMENT_NETWORKING @"com.apple.vm.networking"

extern BOOL entitlement_held(NSString *name);
