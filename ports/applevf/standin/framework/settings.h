/* SPDX-License-Identifier: MIT */
/* Reads the settings that a test gives to the stand-in, in the JSON file that MICROAGENT_STANDIN_VZ
 * names (README.md). */
#pragma once

#import <Foundation/Foundation.h>

#include <stdbool.h>

/* Functions that return the value of a key, or of a key in the object of another key, for example
 * "entitlements" and "com.apple.vm.networking"; nil or `otherwise` if there is none. The file is
 * read anew at each call, so that a test can change it. A file that cannot be read ends the
 * process. */
extern id settings_value(NSString *key);
extern id settings_in(NSString *key, NSString *inner);
extern NSString *settings_text(NSString *key, NSString *otherwise);
extern unsigned long long settings_number(NSString *key, unsigned long long otherwise);
extern BOOL settings_flag(NSString *key, BOOL otherwise);

/* Returns the fault that the settings want at this point, or nil. A fault happens only after as
 * many calls as its "after" says, and at most as often as its "times" says. */
extern NSDictionary *settings_fault(NSString *point);
/* Returns the error for a fault: of VZErrorDomain, or with the domain and code that the fault
 * names. */
extern NSError *settings_fault_error(NSDictionary *fault, NSInteger code);

/* Writes a line of JSON to the file that the settings name as "record". */
extern void settings_record(NSString *call, NSDictionary *details);

/* True once every class has its methods. GNUstep 1.31 asks for classes by name before that, in an
 * +initialize that shim.m's +load causes, when its strings do not work yet. */
extern bool are_classes_there;
