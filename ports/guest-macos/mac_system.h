/* SPDX-License-Identifier: MIT */
/* The functions that POSIX does not have. darwin/ has their code for macOS. linux/ has their code
 * for tests, and for a Linux guest that tests use in place of a Mac. */
#ifndef MAC_SYSTEM_H
#define MAC_SYSTEM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Opens a vsock socket that listens on the port, for every CID of this guest. Returns the
 * descriptor; -1 with an error. */
int mac_system_listen(uint32_t port, struct error *err);
/* Connects to a vsock port of the host. Returns the descriptor; -1 with an error. */
int mac_system_dial_host(uint32_t port, struct error *err);
/* Returns true if the peer of an accepted connection is the host (CID 2). */
bool mac_system_is_host(int fd);
/* Writes a text to `out` that is different at each boot. */
int mac_system_boot_id(char out[64], struct error *err);
/* Makes `env` the environment of this process. */
void mac_system_set_environment(char **env);
/* Fills in `words` with the command that mounts a shared directory. The words end with a NULL; with
 * it there are at most 8. */
void mac_system_mount_words(const char *tag, const char *where, bool read_only,
			    const char *words[8]);
/* The words of the command that shuts the machine down; they end with a NULL. */
extern const char *const mac_system_power_off[];

#endif
