/* SPDX-License-Identifier: MIT */
/* Reads the settings that a test gives to the stand-in. The settings are in the JSON file whose
 * path is in the environment variable MICROAGENT_STANDIN_VZ (README.md). */
#pragma once

#import <Foundation/Foundation.h>

#include <stdbool.h>

/* Functions that return the value of a key, or of the key `inner` in the object of the key `key`,
 * for example "entitlements" and "com.apple.vm.networking". The functions return nil or `otherwise`
 * if there is no value. Each call reads the file again, so that a test can change the file. If the
 * file cannot be read, the process is ended. */
extern id settings_value(NSString *key);
extern id settings_in(NSString *key, NSString *inner);
extern NSString *settings_text(NSString *key, NSString *otherwise);
extern unsigned long long settings_number(NSString *key, unsigned long long otherwise);
extern BOOL settings_flag(NSString *key, BOOL otherwise);

/* Returns the fault that the settings have for this point, or nil if there is none for this call.
 * The fault's member "after" is the number of calls before the first fault. The fault's member
 * "times" is the largest number of faults. */
extern NSDictionary *settings_fault(NSString *point);
/* Returns the error for a fault. The domain and code of the error come from the fault. If the fault
 * has none, they are VZErrorDomain and `code`. */
extern NSError *settings_fault_error(NSDictionary *fault, NSInteger code);

/* Writes a line of JSON with the call to the file that the settings name as "record". */
extern void settings_record(NSString *call, NSDictionary *details);

/* True when every class has its methods. GNUstep 1.31 looks up classes by name even before that, in
 * an +initialize that the +load of shim.m causes. At that time GNUstep's strings do not work
 * yet. */
extern bool are_classes_there;
