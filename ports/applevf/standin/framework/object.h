/* SPDX-License-Identifier: MIT */
/*
 * The base of every class of the framework. A property is a value under its name. A copy of a
 * configuration copies the values that are configurations themselves, and the members of arrays of
 * them. It shares the other values (attachments, shares), as Apple's classes declare it by
 * NSCopying. Objects that only the framework makes have an object of a private class behind them,
 * which has their instance variables.
 */
#pragma once

#import <Virtualization/Virtualization.h>

@interface VZStandinObject (Values)
/* Does the same as -init of NSObject, under a name that no class makes unavailable. */
- (id)initValues;
- (id)valueOf:(NSString *)name;
- (void)keep:(id)value as:(NSString *)name;
- (id)hidden;
- (id)initHidden:(id)hidden;
- (BOOL)isSharedByCopies;
@end

/* For the implementation of a class without NSCopying. */
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

/* The array is empty by default. */
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

/* Returns an error of the framework with the text of its code, and the reason. */
extern NSError *vz_error(NSInteger code, NSString *reason);
/* Stores the error for the caller, if the caller wants it. Returns NO. */
extern BOOL vz_refuse(NSError **error, NSInteger code, NSString *reason);
/* Ends the process with the reason, by abort(). Apple's framework ends a program that breaks its
 * rules. */
extern void vz_misused(NSString *format, ...) NS_FORMAT_FUNCTION(1, 2) __attribute__((noreturn));
/* Raises what the documentation calls an exception. */
extern void vz_raise(NSString *format, ...) NS_FORMAT_FUNCTION(1, 2) __attribute__((noreturn));
