/* SPDX-License-Identifier: MIT */
/* Apple's licence and framework allow two running macOS guests on a host. This code applies the
 * limit. The stand-in counts the guests of all processes that have the same settings. */
#pragma once

#import <Foundation/Foundation.h>

extern BOOL mac_limit_take(id machine);
/* Records that the machine no longer counts as a running macOS guest. Does nothing for a machine
 * that does not count. */
extern void mac_limit_give(id machine);
