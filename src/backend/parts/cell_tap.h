/* SPDX-License-Identifier: MIT */
/*
 * A tap interface in a cell's own network namespace, for a VMM that opens it by name. Its other
 * side is a packet socket, which gets the VMM's frames. Each frame has a header in front
 * (PACKET_VNET_HDR), which says which checksums of the frame are not computed yet.
 */
#ifndef BACKEND_PARTS_CELL_TAP_H
#define BACKEND_PARTS_CELL_TAP_H

#include "base/error.h"
#include "base/proc.h"

struct cell_tap {
	int packet_fd;
	/* A socket of the cell's network namespace, by which the tap can be taken down. */
	int control_fd;
};

/* Makes the tap. `program` is the process in the cell, which does not run its program yet. The user
 * of the process may open the tap. The tap exists until the cell's network namespace ends.
 * ERR_UNAVAILABLE: this host has no /dev/net/tun. */
int cell_tap_make(const struct proc *program, const char *name, struct cell_tap *out,
		  struct error *err);
/* Checks whether cells can have a tap, as far as can be seen without trying. */
int cell_tap_check(struct error *err);

#endif
