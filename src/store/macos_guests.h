/* SPDX-License-Identifier: MIT */
/* Checks Apple's limit on running macOS guests, as far as this is possible before a guest boots. */
#ifndef STORE_MACOS_GUESTS_H
#define STORE_MACOS_GUESTS_H

#include "store/store.h"

/* Checks that one more macOS guest may run. ERR_UNAVAILABLE: the state directory already has as
 * many running macOS guests as a Mac may run at the same time. The message names these guests. The
 * guest `except` is not counted; NULL: all guests are counted. Guests of other state directories
 * are not counted here. Apple's framework counts them when the guest boots. */
int macos_guests_check_room(const struct state_dir *dir, const char *except, struct error *err);

#endif
