/* SPDX-License-Identifier: MIT */
/*
 * The kernel's audit. The agent's rules tell the kernel which events to record, and the records
 * come through netlink.
 *
 * Only one process of a machine can receive the records, which is this process. While it receives
 * them, no other process can change which events are recorded, not even a process of root. This
 * holds until the machine ends. No process ever waits for this process. If it is too slow, the
 * kernel drops records and counts them.
 *
 * Only processes that have a login uid are recorded (spawn.h). These are the processes that the
 * host starts, and their descendants. The kernel records every exec, every open for writing, and
 * every connect to an IP address by these processes.
 */
#ifndef GUEST_KAUDIT_LINK_H
#define GUEST_KAUDIT_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct kaudit_link {
	int fd;
	/* The number of records that the kernel has dropped. The owner reads this number and sets
	 * it to 0. */
	uint64_t lost;
	/* The kernel's count of dropped records, as the kernel has last reported it. */
	uint32_t seen_lost;
	/* next: the index of the next record to return; count: the number of records from the last
	 * fetch. */
	unsigned next, count;
};

/* Begins to record. Fails with ERR_UNSUPPORTED if this kernel has no audit, or if another process
 * receives the records. */
int kaudit_link_open(struct kaudit_link *link, struct error *err);
/* Returns true and sets *text, *len and *type to the next record. Returns false if there is no
 * record now. *text is valid until the next call. */
bool kaudit_link_next(struct kaudit_link *link, unsigned *type, const char **text, size_t *len);
/* Asks the kernel how many records it has dropped. The answer comes among the records, and the
 * number is added to `lost`. If the kernel has disconnected this process because it was slow, this
 * process connects again when the answer comes. */
void kaudit_link_ask(struct kaudit_link *link);
void kaudit_link_close(struct kaudit_link *link);

#endif
