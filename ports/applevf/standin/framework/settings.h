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

/* Returns the fault that the settings want at this point; nil if they want none. The fault's member
 * "after" is how many calls come before the first fault. Its member "times" is how many faults come
 * at most. */
extern NSDictionary *settings_fault(NSString *point);
/* Returns the error for a fault. Its domain and code are those that the fault names. Without them
 * they are VZErrorDomain and `code`. */
extern NSError *settings_fault_error(NSDictionary *fault, NSInteger code);

/* Writes a line of JSON to the file that the settings name as "record". */
extern void settings_record(NSString *call, NSDictionary *details);

/* True when every class has its methods. Before that time GNUstep 1.31 already asks for classes
 * by name, in an +initialize that the +load of shim.m causes. GNUstep's strings do not work yet
 * then. */
extern bool are_classes_there;
