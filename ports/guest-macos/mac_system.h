/* SPDX-License-Identifier: MIT */
/* Functions for which the agent needs more than POSIX. The code for macOS is in darwin/. The code
 * in linux/ is for tests, and for a Linux guest that tests use in place of a macOS guest. */
#ifndef MAC_SYSTEM_H
#define MAC_SYSTEM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Opens a vsock socket that listens on the port, for every CID of this guest. Returns the socket,
 * which the caller closes, or -1 with err set. */
int mac_system_listen(uint32_t port, struct error *err);
/* Connects to a vsock port of the host. Returns the socket, which the caller closes, or -1 with err
 * set. */
int mac_system_dial_host(uint32_t port, struct error *err);
/* Returns true if the client of an accepted connection is the host (CID 2). */
bool mac_system_is_host(int fd);
/* Writes a text to `out` that is different at each boot. Returns 0, or -1 with err set. */
int mac_system_boot_id(char out[64], struct error *err);
/* Makes `env` the environment of this process. */
void mac_system_set_environment(char **env);
/* Sets `words` to the words of the command that mounts a shared directory. The last word is
 * followed by NULL, which counts as one of the 8 entries. */
void mac_system_mount_words(const char *tag, const char *where, bool read_only,
			    const char *words[8]);
/* The words of the command that switches the machine off. The array ends with NULL. */
extern const char *const mac_system_power_off[];

#endif
