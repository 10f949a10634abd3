/* SPDX-License-Identifier: MIT */
/* The kernel's word that a device has come. */
#ifndef GUEST_UEVENT_H
#define GUEST_UEVENT_H

#include <stdint.h>

#include "base/error.h"

/* A socket that hears of devices from now on: what is looked for is looked at after it is there. */
int uevent_open(struct error *err);
/* Returns when there is a reason to look again; ERR_TIMEOUT. */
int uevent_wait(int fd, uint64_t deadline_ns, struct error *err);

#endif
