/* SPDX-License-Identifier: MIT */
/* The limit that Apple sets on macOS guests, as far as it can be checked before a guest boots. */
#ifndef STORE_MACOS_GUESTS_H
#define STORE_MACOS_GUESTS_H

#include "store/store.h"

/* Checks that one more macOS guest may run. ERR_UNAVAILABLE: the state directory already has as
 * many running macOS guests as a Mac may run at once. The message names them. The guest named
 * `except` is not counted (NULL: all are counted). The guests of other state directories are not
 * counted: only the framework counts them, when the guest boots. */
int macos_guests_check_room(const struct state_dir *dir, const char *except, struct error *err);

#endif
