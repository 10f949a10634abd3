/* SPDX-License-Identifier: MIT */
/* Apple's limit: a host runs at most two macOS guests ("Apple's licence and framework"). Here it
 * holds among processes with the same settings. */
#pragma once

#import <Foundation/Foundation.h>

extern BOOL mac_limit_take(id machine);
/* Does nothing for a machine that has no place. */
extern void mac_limit_give(id machine);
