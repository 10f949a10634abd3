/* SPDX-License-Identifier: MIT */
/*
 * A tap interface in a cell's own network namespace, for a VMM that opens it by name. Its other
 * side is a packet socket, which gets the VMM's frames. Each frame has a header that says what must
 * still be done to its checksums (PACKET_VNET_HDR).
 */
#ifndef BACKEND_PARTS_CELL_TAP_H
#define BACKEND_PARTS_CELL_TAP_H

#include "base/error.h"
#include "base/proc.h"

struct cell_tap {
	int packet_fd;
	int control_fd; /* a socket of that namespace, by which the interface can be taken down */
};

/* Makes the tap. `program` is the process in the cell, which does not run yet. Its user may open
 * the interface. The interface exists until the namespace ends. ERR_UNAVAILABLE: this host has no
 * /dev/net/tun. */
int cell_tap_make(const struct proc *program, const char *name, struct cell_tap *out,
		  struct error *err);
/* Checks whether cells can have a tap, as far as can be seen without trying. */
int cell_tap_check(struct error *err);

#endif
