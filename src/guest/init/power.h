/* SPDX-License-Identifier: MIT */
/* Ends the machine. */
#ifndef GUEST_POWER_H
#define GUEST_POWER_H

/* Writes the changed data of the file systems to the disk and ends the machine. The host sees an
 * orderly end. Does not return. */
void power_off(void) __attribute__((noreturn));
/* Ends the machine after a failure. Prints the reason on the console, and then resets the machine.
 * The host takes a reset for a failure. If the VMM would boot the machine again after a reset,
 * switches the machine off. Does not return. */
void power_fail(const char *reason) __attribute__((noreturn));

#endif
