/* SPDX-License-Identifier: MIT */
/* Copies bytes between the user and a serial console. */
#ifndef CLI_SERIAL_H
#define CLI_SERIAL_H

#include <stdbool.h>

#include "base/error.h"

enum serial_end {
	SERIAL_DETACHED,   /* the escape byte came */
	SERIAL_CLOSED,	   /* the console was closed on the other side */
	SERIAL_CANCELLED,  /* `cancel` became readable */
	SERIAL_OUT_CLOSED, /* nobody reads `out` any more */
};

/* Copies bytes until one of the ends above, and stores it in *end. `escape`: the byte of `in` that
 * detaches, or -1. Sets *heard to true if a byte came from the console. The end of `in` does not
 * end the copying. */
int serial_run(int console, int in, int out, int cancel, int escape, enum serial_end *end,
	       bool *heard, struct error *err);

#endif
