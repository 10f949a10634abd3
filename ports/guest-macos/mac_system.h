/* SPDX-License-Identifier: MIT */
/* What POSIX has no word for. linux/ is for the tests, and for a guest that stands in for a Mac. */
#ifndef MAC_SYSTEM_H
#define MAC_SYSTEM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* A listening vsock socket on that port, of whichever CID is ours. */
int mac_system_listen(uint32_t port, struct error *err);
/* Connected to that port of the host. */
int mac_system_dial_host(uint32_t port, struct error *err);
/* Whether the peer of a connection that was accepted is the host (CID 2). */
bool mac_system_is_host(int fd);
/* What tells this boot from others. */
int mac_system_boot_id(char out[64], struct error *err);
/* It becomes this process's. */
void mac_system_set_environment(char **env);
/* The words that mount a shared directory, NULL-terminated, in room for 8. */
void mac_system_mount_words(const char *tag, const char *where, bool read_only,
			    const char *words[8]);
/* The words that switch the machine off in order. */
extern const char *const mac_system_power_off[];

#endif
