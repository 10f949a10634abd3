/* SPDX-License-Identifier: MIT */
/*
 * A tap interface in a cell's own network namespace, for a VMM that opens its tap by name. The
 * host's side of the tap is a packet socket, which gets the VMM's frames. Each frame comes after a
 * header (PACKET_VNET_HDR), which says which checksums of the frame are not computed yet.
 */
#ifndef BACKEND_PARTS_CELL_TAP_H
#define BACKEND_PARTS_CELL_TAP_H

#include "base/error.h"
#include "base/proc.h"

struct cell_tap {
	int packet_fd;
	/* A socket in the cell's network namespace, through which the tap can be taken down. */
	int control_fd;
};

/* Makes the tap. `program` is the process in the cell, which does not run its program yet. The user
 * of this process may open the tap. The tap exists until the cell's network namespace ends. Fails
 * with ERR_UNAVAILABLE if this host has no /dev/net/tun. */
int cell_tap_make(const struct proc *program, const char *name, struct cell_tap *out,
		  struct error *err);
/* Checks whether cells on this host can have a tap. The check makes no tap. So it may succeed
 * although cell_tap_make() fails later. */
int cell_tap_check(struct error *err);

#endif
