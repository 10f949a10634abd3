/* SPDX-License-Identifier: MIT */
/*
 * Entitlements of the program. On a Mac the entitlements are in the program's signature. Here the
 * settings say which entitlements the program has. The few functions of CoreFoundation call methods
 * of Foundation's objects, since each type of CoreFoundation is such an object here.
 */
#import <Foundation/Foundation.h>
#import <Security/Security.h>

#import "entitlements.h"
#import "settings.h"

/* The type ids of CoreFoundation's types, which only have to differ from each other. */
enum { TYPE_OTHER = 1, TYPE_STRING = 7, TYPE_BOOLEAN = 21, TYPE_NUMBER = 22 };

CFTypeRef CFRetain(CFTypeRef cf)
{
	return (CFTypeRef)[(id)cf retain];
}

void CFRelease(CFTypeRef cf)
{
	if (!cf) {
		fprintf(stderr, "stand-in: CFRelease() was called with NULL\n");
		abort();
	}
	[(id)cf release];
}

CFTypeID CFGetTypeID(CFTypeRef cf)
{
	id object = (id)cf;

	if ([object isKindOfClass:[[NSNumber numberWithBool:YES] class]])
		return TYPE_BOOLEAN;
	if ([object isKindOfClass:[NSNumber class]])
		return TYPE_NUMBER;
	return [object isKindOfClass:[NSString class]] ? TYPE_STRING : TYPE_OTHER;
}

CFTypeID CFBooleanGetTypeID(void)
{
	return TYPE_BOOLEAN;
}

Boolean CFBooleanGetValue(CFBooleanRef boolean)
{
	return [(id)boolean boolValue];
}

/* --- entitlements ---------------------------------------------------------------------------- */

/* Returns the value of an entitlement that the settings do not name. Everybody who signs a program
 * can give it com.apple.security.virtualization, so the program has it by default. Only Apple can
 * give com.apple.vm.networking, so the program does not have it by default. */
static id default_entitlement(NSString *name)
{
	return [name isEqualToString:ENTITLEMENT_VIRTUALIZATION] ? [NSNumber numberWithBool:YES]
								 : nil;
}

static id entitlement_value(NSString *name)
{
	id said = settings_in(@"entitlements", name);

	if (said == [NSNull null])
		return nil;
	return said ? said : default_entitlement(name);
}

BOOL entitlement_held(NSString *name)
{
	return [entitlement_value(name) boolValue];
}

SecTaskRef SecTaskCreateFromSelf(CFAllocatorRef allocator)
{
	(void)allocator;
	return (SecTaskRef)(void *)[[NSObject alloc] init];
}

CFTypeRef SecTaskCopyValueForEntitlement(SecTaskRef task, CFStringRef entitlement,
					 CFErrorRef *error)
{
	if (!task || !entitlement) {
		fprintf(stderr,
			"stand-in: SecTaskCopyValueForEntitlement() was called with NULL\n");
		abort();
	}
	if (error)
		*error = NULL;
	return (CFTypeRef)[entitlement_value((NSString *)entitlement) retain];
}
