/* SPDX-License-Identifier: MIT */
/*
 * The base of every class of the framework. The value of a property is stored under the property's
 * name. A copy of a configuration has copies of all values that are configurations too, also of
 * those in arrays. The copy shares all other values, such as attachments and shares. Apple's
 * classes declare this by NSCopying. If only the framework can make the objects of a class, such an
 * object refers to a hidden object of a private class, which has the instance variables.
 */
#pragma once

#import <Virtualization/Virtualization.h>

@interface VZStandinObject (Values)
/* Does what -init of NSObject does, under a name that no class declares as unavailable. */
- (id)initValues;
- (id)valueOf:(NSString *)name;
- (void)keep:(id)value as:(NSString *)name;
- (id)hidden;
- (id)initHidden:(id)hidden;
- (BOOL)isSharedByCopies;
@end

/* Used in the implementation of a class without NSCopying. The macro means that copies of a
 * configuration share the objects of this class. */
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

/* Defines a property that is an array. The array is empty by default. */
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

/* Returns an error of the framework, with Apple's text for this code and the given reason. */
extern NSError *vz_error(NSInteger code, NSString *reason);
/* Sets *error to an error like that of vz_error(), unless `error` is NULL. Returns NO. */
extern BOOL vz_refuse(NSError **error, NSInteger code, NSString *reason);
/* Prints the reason and calls abort(). Used where Apple's framework ends a program that breaks the
 * framework's rules. */
extern void vz_misused(NSString *format, ...) NS_FORMAT_FUNCTION(1, 2) __attribute__((noreturn));
/* Raises an exception. Used where Apple's documentation says that the framework raises one. */
extern void vz_raise(NSString *format, ...) NS_FORMAT_FUNCTION(1, 2) __attribute__((noreturn));
