/* SPDX-License-Identifier: MIT */
/*
 * The base of every class of the framework. The value of a property is stored under its name. A
 * copy of a configuration has copies of those values that are configurations themselves, also in
 * arrays, and shares all other values (attachments, shares): Apple's classes declare this by
 * NSCopying. An object that only the framework makes has a hidden object of a private class, which
 * has its instance variables.
 */
#pragma once

#import <Virtualization/Virtualization.h>

@interface VZStandinObject (Values)
/* Does the work of -init of NSObject, under a name that no class makes unavailable. */
- (id)initValues;
- (id)valueOf:(NSString *)name;
- (void)keep:(id)value as:(NSString *)name;
- (id)hidden;
- (id)initHidden:(id)hidden;
- (BOOL)isSharedByCopies;
@end

/* Marks a class without NSCopying, in its implementation: copies of a configuration share the
 * objects of this class. */
#define VZ_SHARED               \
	-(BOOL)isSharedByCopies \
	{                       \
		return YES;     \
	}

#define VZ_INIT                           \
	-(instancetype)init               \
	{                                 \
		return [self initValues]; \
	}
#define VZ_READ(type, name)                    \
	-(type)name                            \
	{                                      \
		return [self valueOf:@ #name]; \
	}
#define VZ_STRONG(type, name, setter)         \
	VZ_READ(type, name)                   \
	-(void)setter : (type)value           \
	{                                     \
		[self keep:value as:@ #name]; \
	}
#define VZ_COPIED(type, name, setter)                              \
	VZ_READ(type, name)                                        \
	-(void)setter : (type)value                                \
	{                                                          \
		[self keep:[[value copy] autorelease] as:@ #name]; \
	}
#define VZ_NUMBER(type, name, setter)                                                  \
	-(type)name                                                                    \
	{                                                                              \
		return (type)[[self valueOf:@ #name] longLongValue];                   \
	}                                                                              \
	-(void)setter : (type)value                                                    \
	{                                                                              \
		[self keep:[NSNumber numberWithLongLong:(long long)value] as:@ #name]; \
	}

/* A property that is an array, which is empty by default. */
#define VZ_LIST(name, setter)                                    \
	-(NSArray *)name                                         \
	{                                                        \
		NSArray *all = [self valueOf:@ #name];           \
		return all ? all : [NSArray array];              \
	}                                                        \
	-(void)setter : (NSArray *)all                           \
	{                                                        \
		[self keep:[[all copy] autorelease] as:@ #name]; \
	}

/* Returns an error of the framework, with the usual text of its code and the reason. */
extern NSError *vz_error(NSInteger code, NSString *reason);
/* Sets *error to an error of the framework like vz_error(), unless `error` is NULL. Returns NO. */
extern BOOL vz_refuse(NSError **error, NSInteger code, NSString *reason);
/* Prints the reason and calls abort(), in the cases in which Apple's framework ends a program that
 * breaks its rules. */
extern void vz_misused(NSString *format, ...) NS_FORMAT_FUNCTION(1, 2) __attribute__((noreturn));
/* Raises an exception, in the cases in which the documentation says so. */
extern void vz_raise(NSString *format, ...) NS_FORMAT_FUNCTION(1, 2) __attribute__((noreturn));
