/* SPDX-License-Identifier: MIT */
/*
 * Makes a restored machine different from other machines of the same template: its random numbers,
 * its boot id, and the files that only one machine may have.
 *
 * The image's own ssh-keygen makes a host key for ssh, which takes a tenth of a second or more. So
 * a key is made only if the image had keys, in a separate process, and only of the kind ed25519: it
 * takes the least time, and every client of the last ten years accepts it. An RSA key would take
 * seconds. Keys of other kinds are removed, since a key that several machines share is worse than
 * no key.
 */
#ifndef GUEST_RENEW_H
#define GUEST_RENEW_H

#include <stdbool.h>

#include "base/error.h"
#include "guest/agent/config.h"

/* Does the part of the renewal that can be done before the machine is saved, so that restored
 * machines need not do it. */
int renew_prepare(struct error *err);
/* Renews the machine. Sets *more to true if renew_host_keys() must be called too, which may
 * block. */
int renew_machine(const struct config_renew *renew, bool *more, struct error *err);
/* Parts of renew_machine(), for files below root, which is an open directory. */
int renew_drop_seeds(int root, struct error *err);
int renew_ids(int root, const char *machine_id, struct error *err);
/* Removes all host keys below `root`. Sets *any to whether there were any. */
int renew_drop_host_keys(int root, bool *any, struct error *err);
/* Replaces all host keys by one new key of the kind ed25519. */
int renew_host_keys(struct error *err);

#endif
