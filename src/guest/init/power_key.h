/* SPDX-License-Identifier: MIT */
/* The power key of a keyboard, for machines without ACPI: their power button. */
#ifndef GUEST_POWER_KEY_H
#define GUEST_POWER_KEY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define POWER_KEYS 4

/* How many input devices have such a key, and they: non-blocking, readable with every key. Which of
 * them the host presses it does not say. dir: where their nodes are, "/dev/input". */
size_t power_keys_open(const char *dir, int fds[POWER_KEYS]);
/* Takes what is queued. 1: the key was pressed; 0: it was not; -1: the device is gone. */
int power_key_pressed(int fd);

/* Of len bytes as they are read from such a device, for tests. */
bool power_key_parse(const void *events, size_t len);

#endif
