/* SPDX-License-Identifier: MIT */
/*
 * What makes a machine that was restored another one than its siblings: the kernel's random
 * numbers, the boot id, and what its file system has that is to be of one machine alone.
 *
 * A host key for ssh is drawn by the image's own ssh-keygen, which takes a tenth of a second and
 * more: only where there are keys, in a process of its own, and of one kind (ed25519, which every
 * client of the last ten years takes, and which costs the least; an RSA key would take seconds).
 * Keys of other kinds are removed, since a key that siblings share is worse than none.
 */
#ifndef GUEST_RENEW_H
#define GUEST_RENEW_H

#include <stdbool.h>

#include "base/error.h"
#include "guest/agent/config.h"

/* What can be done before the machine is saved costs none of its siblings anything. */
int renew_prepare(struct error *err);
/* *more: renew_host_keys() is to be called, which may block. */
int renew_machine(const struct config_renew *renew, bool *more, struct error *err);
/* Parts of that: files below root, an open directory. */
int renew_drop_seeds(int root, struct error *err);
int renew_ids(int root, const char *machine_id, struct error *err);
/* Removes all keys there are below root. *any: there were some. */
int renew_drop_host_keys(int root, bool *any, struct error *err);
/* All keys are replaced by one. */
int renew_host_keys(struct error *err);

#endif
