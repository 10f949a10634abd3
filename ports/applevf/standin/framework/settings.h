/* SPDX-License-Identifier: MIT */
/* What a test says to the stand-in, by the JSON file that MICROAGENT_STANDIN_VZ names (README.md).
 */
#pragma once

#import <Foundation/Foundation.h>

#include <stdbool.h>

/* The value of a path of keys, "entitlements", "com.apple.vm.networking"; nil if there is none. The
 * file is read anew each time, so that a test can change it. One that cannot be read ends the
 * process. */
extern id settings_value(NSString *key);
extern id settings_in(NSString *key, NSString *inner);
extern NSString *settings_text(NSString *key, NSString *otherwise);
extern unsigned long long settings_number(NSString *key, unsigned long long otherwise);
extern BOOL settings_flag(NSString *key, BOOL otherwise);

/* The fault that is to happen at this point, if its turn has come: "after" so many calls, "times"
 * at most. */
extern NSDictionary *settings_fault(NSString *point);
/* As an error of VZErrorDomain, or of the domain and code that the fault names. */
extern NSError *settings_fault_error(NSDictionary *fault, NSInteger code);

/* A line of JSON to the file that the settings name as "record". */
extern void settings_record(NSString *call, NSDictionary *details);

/* Whether every class has its methods. GNUstep 1.31 asks for classes by name before, in an
 * +initialize that shim.m's +load causes, and its strings answer nothing yet. */
extern bool are_classes_there;
