/* SPDX-License-Identifier: MIT */
/* The power key of a keyboard, for machines without ACPI: their power button. */
#ifndef GUEST_POWER_KEY_H
#define GUEST_POWER_KEY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* The first input device that has such a key, non-blocking; it becomes readable with every key.
 * ERR_NOT_FOUND where there is none. dir: where their nodes are, "/dev/input". */
int power_key_open(const char *dir, struct error *err);
/* Takes what is queued. 1: the key was pressed; 0: it was not; -1: the device is gone. */
int power_key_pressed(int fd);

/* Of len bytes as they are read from such a device, for tests. */
bool power_key_parse(const void *events, size_t len);

#endif
