/* SPDX-License-Identifier: MIT */
/* The limit of two running macOS guests on a host, by Apple's licence and framework. The stand-in
 * counts the guests of all processes that have the same settings. */
#pragma once

#import <Foundation/Foundation.h>

extern BOOL mac_limit_take(id machine);
/* Gives back the machine's place among the running macOS guests. Does nothing for a machine that
 * has no place. */
extern void mac_limit_give(id machine);
