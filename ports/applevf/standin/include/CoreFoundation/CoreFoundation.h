/* SPDX-License-Identifier: MIT */
/* The part of CoreFoundation that a client of SecTask needs. In Objective-C each of these types is
 * an object. */
#pragma once

#include <stdbool.h>

typedef const void *CFTypeRef;
typedef unsigned long CFTypeID;
typedef unsigned char Boolean;
typedef const struct __CFString *CFStringRef;
typedef const struct __CFBoolean *CFBooleanRef;
typedef struct __CFError *CFErrorRef;
typedef const struct __CFAllocator *CFAllocatorRef;

#define kCFAllocatorDefault ((CFAllocatorRef)0)
#define CFSTR(literal) ((CFStringRef)(const void *)@literal)

extern CFTypeRef CFRetain(CFTypeRef cf);
extern void CFRelease(CFTypeRef cf);
extern CFTypeID CFGetTypeID(CFTypeRef cf);
extern CFTypeID CFBooleanGetTypeID(void);
extern Boolean CFBooleanGetValue(CFBooleanRef boolean);
