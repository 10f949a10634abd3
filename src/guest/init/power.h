/* SPDX-License-Identifier: MIT */
/* The end of the machine. */
#ifndef GUEST_POWER_H
#define GUEST_POWER_H

/* File systems to the disk, then off; the host sees a clean end. Does not return. */
void power_off(void) __attribute__((noreturn));
/* The same after a failure, which the host sees as one: by a reset, and reason on the console. */
void power_fail(const char *reason) __attribute__((noreturn));

#endif
