/* SPDX-License-Identifier: MIT */
/* Detects the power key of a keyboard, which replaces the power button in machines without ACPI. */
#ifndef GUEST_POWER_KEY_H
#define GUEST_POWER_KEY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define POWER_KEYS 4

/* Opens all input devices that have a power key, since the host does not say which of them it uses.
 * Returns the number of opened devices. The file descriptors are non-blocking, and become readable
 * when any key is pressed. The caller closes the file descriptors. `dir` is the directory of the
 * device nodes, "/dev/input". */
size_t power_keys_open(const char *dir, int fds[POWER_KEYS]);
/* Reads all queued key events of an input device. Returns 1 if the power key was pressed, 0 if it
 * was not pressed, and -1 if the device is gone. */
int power_key_pressed(int fd);

/* Returns true if the `len` bytes, which an input device has sent, contain a press of the power
 * key. The function is public so that tests can call it. */
bool power_key_parse(const void *events, size_t len);

#endif
