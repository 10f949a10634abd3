/* SPDX-License-Identifier: MIT */
/* Settings that a test gives to the stand-in, in the JSON file that MICROAGENT_STANDIN_VZ names
 * (README.md). */
#pragma once

#import <Foundation/Foundation.h>

#include <stdbool.h>

/* Returns the value of a path of keys, "entitlements", "com.apple.vm.networking". Returns nil if
 * there is none. The file is read each time, so that a test can change it. A file that cannot be
 * read ends the process. */
extern id settings_value(NSString *key);
extern id settings_in(NSString *key, NSString *inner);
extern NSString *settings_text(NSString *key, NSString *otherwise);
extern unsigned long long settings_number(NSString *key, unsigned long long otherwise);
extern BOOL settings_flag(NSString *key, BOOL otherwise);

/* Returns the fault for this point, if its turn has come: "after" so many calls, "times" at
 * most. */
extern NSDictionary *settings_fault(NSString *point);
/* Returns it as an error of VZErrorDomain, or with the domain and code that the fault names. */
extern NSError *settings_fault_error(NSDictionary *fault, NSInteger code);

/* Writes a line of JSON to the file that the settings name as "record". */
extern void settings_record(NSString *call, NSDictionary *details);

/* Returns whether every class has its methods. GNUstep 1.31 asks for classes by name before that,
 * in an +initialize that shim.m's +load causes, and its strings answer nothing yet. */
extern bool are_classes_there;
