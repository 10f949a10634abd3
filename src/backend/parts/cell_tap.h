/* SPDX-License-Identifier: MIT */
/*
 * A tap interface in a cell's own network namespace, for a VMM that opens it by name. Its other
 * side is a packet socket. It gets the VMM's frames, each with what must still be done to its
 * checksums (PACKET_VNET_HDR).
 */
#ifndef BACKEND_PARTS_CELL_TAP_H
#define BACKEND_PARTS_CELL_TAP_H

#include "base/error.h"
#include "base/proc.h"

struct cell_tap {
	int packet_fd;
	int control_fd; /* any socket of that namespace, for taking the interface down */
};

/* Makes the tap. program: in the cell, and still held back. Its user may open the interface, which
 * exists until the namespace has gone. ERR_UNAVAILABLE: this host has no /dev/net/tun. */
int cell_tap_make(const struct proc *program, const char *name, struct cell_tap *out,
		  struct error *err);
/* Checks whether cells can have a tap, as far as can be seen without trying. */
int cell_tap_check(struct error *err);

#endif
