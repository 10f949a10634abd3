/* SPDX-License-Identifier: MIT */
/* What Apple allows of macOS guests, as far as it can be told before one is booted. */
#ifndef STORE_MACOS_GUESTS_H
#define STORE_MACOS_GUESTS_H

#include "store/store.h"

/* ERR_UNAVAILABLE, naming them, where as many of the state directory run as a Mac may run at once,
 * beside the one that is called except (NULL: none). Those of other directories are counted by the
 * framework alone, at the boot. */
int macos_guests_check_room(const struct state_dir *dir, const char *except, struct error *err);

#endif
