/* SPDX-License-Identifier: MIT */
/* "Apple's licence and framework: two running macOS guests on a host". Here: among processes with
 * the same settings. */
#pragma once

#import <Foundation/Foundation.h>

extern BOOL mac_limit_take(id machine);
/* Does nothing for one that has no place. */
extern void mac_limit_give(id machine);
