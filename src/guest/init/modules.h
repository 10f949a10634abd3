/* SPDX-License-Identifier: MIT */
#ifndef GUEST_MODULES_H
#define GUEST_MODULES_H

/* Loads what the file lists, a path a line in the order of loading, and removes each from the
 * initramfs's memory. No list, a file that is not there and a module that is built in are all fine;
 * another failure is said on the console, and what needs the module will fail by itself. */
void modules_load(const char *list);

#endif
