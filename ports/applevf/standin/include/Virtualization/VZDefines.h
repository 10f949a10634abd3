/* SPDX-License-Identifier: MIT */
/*
 * Declarations of the public interface of Apple's Virtualization.framework, written from its
 * documentation. A client is compiled with them in two ways: for Darwin, to check syntax, selectors
 * and availability; and for GNUstep, for which framework/ implements them with QEMU. ../../facts.md
 * says where each fact is documented.
 */
#pragma once

#import <CoreFoundation/CoreFoundation.h>
#import <Foundation/Foundation.h>
#import <dispatch/dispatch.h>

/* GCC's runtime has no weak references. With this runtime a delegate must outlive the object or be
 * set to nil, as always without ARC. */
#ifdef __APPLE__
#define VZ_WEAK weak
#define VZ_SINCE(version) __attribute__((availability(macos, introduced = version)))
#else
#define VZ_WEAK assign
#define VZ_SINCE(version)
#endif

/* GCC's old runtime knows only the instance variables that the class declares. So the base of all
 * classes declares them here. */
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

/* Marks a class of which only the framework or a subclass makes objects. The implementation of the
 * stand-in may make such objects too. */
#ifdef VZ_STANDIN_IMPLEMENTATION
#define VZ_NO_INIT
#else
#define VZ_NO_INIT                                        \
	+(instancetype) new __attribute__((unavailable)); \
	-(instancetype)init __attribute__((unavailable));
#endif
