/* SPDX-License-Identifier: MIT */
/*
 * A tap interface in a cell's own network namespace, for a VMM that opens one by its name, and the
 * other side of it: a packet socket, which has the VMM's frames each with what is to be done to its
 * checksums yet (PACKET_VNET_HDR).
 */
#ifndef BACKEND_PARTS_CELL_TAP_H
#define BACKEND_PARTS_CELL_TAP_H

#include "base/error.h"
#include "base/proc.h"

struct cell_tap {
	int packet_fd;
	int control_fd; /* any socket of that namespace: by it the interface is taken down */
};

/* program: in the cell, and not let go yet. The interface is its user's to open, and is there until
 * the namespace has gone. ERR_UNAVAILABLE where this host has no /dev/net/tun. */
int cell_tap_make(const struct proc *program, const char *name, struct cell_tap *out,
		  struct error *err);
/* Whether cells can have one, as far as can be seen without trying. */
int cell_tap_check(struct error *err);

#endif
