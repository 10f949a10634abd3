/* SPDX-License-Identifier: MIT */
/*
 * What every class of the framework stands on. A property is a value by its name; a copy of a
 * configuration copies those of its values that are configurations themselves, and the members of
 * arrays of them, and shares the rest (attachments, shares), which is what Apple's classes declare
 * by NSCopying. Objects made by the framework alone have an object of a private class behind them,
 * where their instance variables are.
 */
#pragma once

#import <Virtualization/Virtualization.h>

@interface VZStandinObject (Values)
/* What -init of NSObject is, under a name that no class makes unavailable. */
- (id)initValues;
- (id)valueOf:(NSString *)name;
- (void)keep:(id)value as:(NSString *)name;
- (id)hidden;
- (id)initHidden:(id)hidden;
- (BOOL)isSharedByCopies;
@end

/* In the implementation of a class without NSCopying. */
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

/* Empty by default. */
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

/* An error of the framework with its code's own words, and the reason. */
extern NSError *vz_error(NSInteger code, NSString *reason);
/* Into the caller's place for it, if there is one; returns NO. */
extern BOOL vz_refuse(NSError **error, NSInteger code, NSString *reason);
/* Apple's framework ends a program that breaks its rules: here with the reason, by abort(). */
extern void vz_misused(NSString *format, ...) NS_FORMAT_FUNCTION(1, 2) __attribute__((noreturn));
/* What the documentation calls an exception. */
extern void vz_raise(NSString *format, ...) NS_FORMAT_FUNCTION(1, 2) __attribute__((noreturn));
