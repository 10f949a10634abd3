/* SPDX-License-Identifier: MIT */
/*
 * Makes a restored machine different from other machines of the same template. It gets new random
 * numbers, a new boot id, and new contents of the files that only one machine may have.
 *
 * The image's own ssh-keygen makes a host key for ssh, which takes a tenth of a second or more. So
 * a key is made only if the image had keys, and in a separate process. The key is of the kind
 * ed25519, which takes the least time and which every client of the last ten years accepts. An RSA
 * key would take seconds. Keys of other kinds are removed, since a key that several machines share
 * is worse than no key.
 */
#ifndef GUEST_RENEW_H
#define GUEST_RENEW_H

#include <stdbool.h>

#include "base/error.h"
#include "guest/agent/config.h"

/* Does the part of the renewal that is possible before the machine is saved. Restored machines then
 * need not do it. */
int renew_prepare(struct error *err);
/* Gives the machine a new identity. Sets *more to true if renew_host_keys() must be called too,
 * which may block. */
int renew_machine(const struct config_renew *renew, bool *more, struct error *err);
/* Parts of renew_machine() that change files. `root` is a descriptor of the directory below which
 * the files lie. */
int renew_drop_seeds(int root, struct error *err);
int renew_ids(int root, const char *machine_id, struct error *err);
/* Removes all host keys below `root`. Sets *any to true if there were any, else to false. */
int renew_drop_host_keys(int root, bool *any, struct error *err);
/* Replaces all host keys with one new key of the kind ed25519. */
int renew_host_keys(struct error *err);

#endif
