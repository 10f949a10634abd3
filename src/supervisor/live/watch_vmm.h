/* SPDX-License-Identifier: MIT */
/*
 * Finds children and sockets that a VMM should not have, from outside, in /proc. A VMM in its cell
 * starts nothing and connects to nothing. So anything new there is the work of an attacker who has
 * taken the VMM over. What the VMM has while it is trusted (until its guest is ready) is
 * remembered.
 */
#ifndef SUPERVISOR_WATCH_VMM_H
#define SUPERVISOR_WATCH_VMM_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/broker.h"
#include "base/error.h"
#include "base/proc.h"

#define WATCH_VMM_SOCKETS 256
#define WATCH_VMM_CHILDREN 32

struct watch_vmm {
	struct proc vmm; /* its pidfd is the caller's; -1 if the broker looks */
	/* The VMM has its own vsock device. Then each connection to the guest makes a new socket,
	 * which means nothing. So only children are looked at. */
	bool own_sockets;
	unsigned long long sockets[WATCH_VMM_SOCKETS];
	size_t socket_count;
	pid_t children[WATCH_VMM_CHILDREN]; /* children that were told */
	size_t child_count;
	unsigned allowed; /* how many expected sockets may still come */
};

/* The broker's part, which does the other two calls if there is a broker: only a process with the
 * right to look into the VMM sees what the VMM has. Its data is a struct watch_vmm of the VMM. */
extern const struct broker_duty watch_vmm_duty;
/* Remembers what the process has now as expected. */
int watch_vmm_expect(struct watch_vmm *watch, const struct proc *vmm, struct error *err);
/* Returns what is new since: an array, empty or with {"what":"child","pid","exe"?} and
 * {"what":"socket","inode"}, each told once. NULL: it cannot be known. */
json_t *watch_vmm_look(struct watch_vmm *watch, struct error *err);

#endif
