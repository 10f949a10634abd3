/* SPDX-License-Identifier: MIT */
/*
 * The kernel's audit: the agent's rules, and the kernel's records through netlink. Only one process
 * of a machine can receive the records, and this process does so. While it receives them, no other
 * process, not even one of root, can change which events are recorded, until the machine ends.
 * Nothing ever waits for this process: if it is too slow, the kernel drops records and counts them.
 *
 * Only processes that have a login uid are recorded (see spawn.h): those that the host runs, and
 * their descendants. The kernel records every exec, every open for writing, and every connect to an
 * IP address by these processes.
 */
#ifndef GUEST_KAUDIT_LINK_H
#define GUEST_KAUDIT_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct kaudit_link {
	int fd;
	/* The number of records that the kernel dropped; the owner reads it and sets it to 0. */
	uint64_t lost;
	uint32_t seen_lost; /* the kernel's last count of lost records */
	/* next: the index of the next record; count: the number of records; both are of one read */
	unsigned next, count;
};

/* Begins the recording. ERR_UNSUPPORTED: this kernel has no audit, or another process receives
 * it. */
int kaudit_link_open(struct kaudit_link *link, struct error *err);
/* Returns true with the text and type of the next record; false if there is none now. `text` is
 * valid until the next call. */
bool kaudit_link_next(struct kaudit_link *link, unsigned *type, const char **text, size_t *len);
/* Asks the kernel how many records were lost. The answer comes among the records, and is added to
 * `lost`. If the kernel has disconnected this process because it was slow, this process connects
 * again when the answer comes. */
void kaudit_link_ask(struct kaudit_link *link);
void kaudit_link_close(struct kaudit_link *link);

#endif
