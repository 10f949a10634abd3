/* SPDX-License-Identifier: MIT */
/*
 * The kernel's audit. The agent's rules tell the kernel which events to record, and the records
 * come through netlink.
 *
 * Only one process of a machine can receive the records: the process that uses this code. No other
 * process, even if it runs as root, can change which events are recorded, until the machine ends.
 * The kernel never lets a process wait for the receiver of the records. If the receiver is too
 * slow, the kernel drops records and counts them.
 *
 * Only processes that have a login uid are recorded (spawn.h). The processes that the host starts,
 * and their descendants, have a login uid. The kernel records every exec, every open for writing,
 * and every connect to an IP address by these processes.
 */
#ifndef GUEST_KAUDIT_LINK_H
#define GUEST_KAUDIT_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct kaudit_link {
	int fd;
	/* How many records the kernel has dropped. The caller reads this number and sets it to
	 * 0. */
	uint64_t lost;
	/* The kernel's own count of dropped records, from the kernel's last answer. */
	uint32_t seen_lost;
	/* The index of the next record to return, and the number of records that were fetched
	 * last. */
	unsigned next, count;
};

/* Starts the recording. Fails with ERR_UNSUPPORTED if this kernel has no audit, or if another
 * process already receives the records. */
int kaudit_link_open(struct kaudit_link *link, struct error *err);
/* Returns true and sets *text, *len and *type to the next record. Returns false if there is no
 * record at present. *text is valid until the next call. */
bool kaudit_link_next(struct kaudit_link *link, unsigned *type, const char **text, size_t *len);
/* Asks the kernel how many records it has dropped. When kaudit_link_next() finds the answer among
 * the records, it adds the number to link->lost. If the kernel has disconnected this process
 * because it was too slow, kaudit_link_next() then connects it again. */
void kaudit_link_ask(struct kaudit_link *link);
void kaudit_link_close(struct kaudit_link *link);

#endif
