/* SPDX-License-Identifier: MIT */
/* The power key of a keyboard, which replaces the power button in machines without ACPI. */
#ifndef GUEST_POWER_KEY_H
#define GUEST_POWER_KEY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define POWER_KEYS 4

/* Opens the input devices that have a power key, and returns their number. All of them are opened,
 * since the host does not say which one it uses. The descriptors are non-blocking, and become
 * readable at every key. `dir` is the directory of the device nodes, "/dev/input". */
size_t power_keys_open(const char *dir, int fds[POWER_KEYS]);
/* Reads all queued keys. Returns 1 if the power key was pressed, 0 if it was not, or -1 if the
 * device is gone. */
int power_key_pressed(int fd);

/* Returns true if the `len` bytes, which an input device has sent, contain a press of the power
 * key. The function is public for tests. */
bool power_key_parse(const void *events, size_t len);

#endif
