/* SPDX-License-Identifier: MIT */
/*
 * Makes a restored machine different from other machines of the same template. The machine gets new
 * random numbers, a new boot id, and new contents of files that must differ between machines.
 *
 * The image's own ssh-keygen makes a host key for ssh, which takes a tenth of a second or more. So
 * a key is made only if the image had host keys, and in a separate process. The new key is an
 * ed25519 key. An ed25519 key takes the least time to make, and every client of the last ten years
 * accepts such a key. An RSA key would take seconds. Host keys of other types are removed, since a
 * key that several machines share is worse than no key.
 */
#ifndef GUEST_RENEW_H
#define GUEST_RENEW_H

#include <stdbool.h>

#include "base/error.h"
#include "guest/agent/config.h"

/* Does the part of the renewal that is possible before the machine is saved, so that restored
 * machines need less time. */
int renew_prepare(struct error *err);
/* Gives the machine a new identity. Sets *more to true if the caller must then call
 * renew_host_keys(), which may block. */
int renew_machine(const struct config_renew *renew, bool *more, struct error *err);
/* Steps of renew_machine() that change files. These steps are public functions so that tests can
 * call them. `root` is a file descriptor of the directory that has the files: "/", except in
 * tests. */
int renew_drop_seeds(int root, struct error *err);
int renew_ids(int root, const char *machine_id, struct error *err);
/* Removes all host keys of ssh below the directory `root`. Sets *any to true if there were host
 * keys, otherwise to false. */
int renew_drop_host_keys(int root, bool *any, struct error *err);
/* Replaces all host keys of ssh with one new ed25519 key. */
int renew_host_keys(struct error *err);

#endif
