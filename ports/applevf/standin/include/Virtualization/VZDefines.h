/* SPDX-License-Identifier: MIT */
/*
 * Declarations of the public interface of Apple's Virtualization.framework, written from its
 * documentation. A client is compiled with these declarations in two ways. For Darwin, this checks
 * syntax, selectors and availability. For GNUstep, the directory framework/ implements them with
 * QEMU. ../../facts.md says where each fact is documented.
 */
#pragma once

#import <CoreFoundation/CoreFoundation.h>
#import <Foundation/Foundation.h>
#import <dispatch/dispatch.h>

/* GCC's Objective-C runtime has no weak references. With this runtime, a client must keep a
 * delegate longer than the object, or set it to nil. Clients without ARC usually do so. */
#ifdef __APPLE__
#define VZ_WEAK weak
#define VZ_SINCE(version) __attribute__((availability(macos, introduced = version)))
#else
#define VZ_WEAK assign
#define VZ_SINCE(version)
#endif

/* GCC's old Objective-C runtime knows only instance variables that a class declares in its
 * @interface. So VZ_ROOT, the base of all classes, declares the instance variables here. */
#ifdef __APPLE__
#define VZ_ROOT NSObject
#else
#define VZ_ROOT VZStandinObject
@interface VZStandinObject : NSObject {
	NSMutableDictionary *_values;
	id _hidden;
}
- (id)copyWithZone:(NSZone *)zone;
@end
#endif

/* Marks a class whose objects only the framework or a subclass may create. The implementation of
 * the stand-in may create such objects too. */
#ifdef VZ_STANDIN_IMPLEMENTATION
#define VZ_NO_INIT
#else
#define VZ_NO_INIT                                        \
	+(instancetype) new __attribute__((unavailable)); \
	-(instancetype)init __attribute__((unavailable));
#endif
