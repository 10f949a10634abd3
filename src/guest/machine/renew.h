/* SPDX-License-Identifier: MIT */
/*
 * Makes a restored machine different from its siblings: the kernel's random numbers, the boot id,
 * and the files that must belong to one machine alone.
 *
 * The image's own ssh-keygen makes a host key for ssh, which takes a tenth of a second or more. So
 * this is done only if there were keys, in a separate process, and for one kind: ed25519 costs the
 * least, and every client of the last ten years takes it; an RSA key would take seconds. Keys of
 * other kinds are removed, since a key that siblings share is worse than none.
 */
#ifndef GUEST_RENEW_H
#define GUEST_RENEW_H

#include <stdbool.h>

#include "base/error.h"
#include "guest/agent/config.h"

/* Does what can be done before the machine is saved, so that it costs the siblings nothing. */
int renew_prepare(struct error *err);
/* Renews the machine. *more: renew_host_keys() must be called, which may block. */
int renew_machine(const struct config_renew *renew, bool *more, struct error *err);
/* Parts of renew_machine(): files below root, an open directory. */
int renew_drop_seeds(int root, struct error *err);
int renew_ids(int root, const char *machine_id, struct error *err);
/* Removes all host keys below root. *any: there were some. */
int renew_drop_host_keys(int root, bool *any, struct error *err);
/* Replaces all host keys by one. */
int renew_host_keys(struct error *err);

#endif
