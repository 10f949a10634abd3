/* SPDX-License-Identifier: MIT */
/* What Apple allows of macOS guests, as far as it can be told before one is booted. */
#ifndef SUPERVISOR_MACOS_GUESTS_H
#define SUPERVISOR_MACOS_GUESTS_H

#include "supervisor/commands/record.h"

/* ERR_UNAVAILABLE, naming them, where as many of the record's state directory run as a Mac may run
 * at once. Those of other directories are counted by the framework alone, at the boot. */
int macos_guests_check_room(const struct record *record, struct error *err);
/* ERR_UNSUPPORTED for what only looks at the disk: the machine that does is a Linux. */
int macos_guests_refuse_reader(const struct call *call, struct error *err);

#endif
