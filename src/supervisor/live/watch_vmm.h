/* SPDX-License-Identifier: MIT */
/*
 * Children and sockets that a VMM should not have, looked at from outside, in /proc. A VMM in its
 * cell starts nothing and connects to nothing, so whatever is new there is the work of somebody who
 * has taken it over. What it has when it is trusted (once its guest is ready) is remembered.
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
	struct proc vmm; /* its pidfd is the caller's, and -1 where the broker looks */
	/* Its vsock device is its own: a socket is new with each connection to the guest, and says
	 * nothing. Children alone are looked at. */
	bool own_sockets;
	unsigned long long sockets[WATCH_VMM_SOCKETS];
	size_t socket_count;
	pid_t children[WATCH_VMM_CHILDREN]; /* that were told */
	size_t child_count;
	unsigned allowed; /* sockets that may still come and are as they should be */
};

/* The broker's part, by which the other two go where there is one: only who may look into the VMM
 * sees what it has. Its data: a struct watch_vmm of the VMM. */
extern const struct broker_duty watch_vmm_duty;
/* What the process has now is as it should be. */
int watch_vmm_expect(struct watch_vmm *watch, const struct proc *vmm, struct error *err);
/* What is new since: an array, empty or with {"what":"child","pid","exe"?} and
 * {"what":"socket","inode"}, each told once. NULL: it cannot be known. */
json_t *watch_vmm_look(struct watch_vmm *watch, struct error *err);

#endif
