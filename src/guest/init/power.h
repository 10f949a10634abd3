/* SPDX-License-Identifier: MIT */
/* Ends the machine. */
#ifndef GUEST_POWER_H
#define GUEST_POWER_H

/* Writes the file systems to the disk and switches the machine off. The host sees an orderly end.
 * Does not return. */
void power_off(void) __attribute__((noreturn));
/* Ends the machine after a failure. Prints the reason on the console and resets the machine. The
 * host sees a reset as a failure. Does not return. */
void power_fail(const char *reason) __attribute__((noreturn));

#endif
