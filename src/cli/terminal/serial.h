/* SPDX-License-Identifier: MIT */
/* Copies bytes between the user and a serial console. */
#ifndef CLI_SERIAL_H
#define CLI_SERIAL_H

#include <stdbool.h>

#include "base/error.h"

enum serial_end {
	SERIAL_DETACHED,   /* the user typed the escape byte */
	SERIAL_CLOSED,	   /* the connection to the console was closed, but not by this program */
	SERIAL_CANCELLED,  /* `cancel` became readable */
	SERIAL_OUT_CLOSED, /* the reader of `out` has closed it */
};

/* Copies bytes until one of the events in enum serial_end, and stores this event in *end. `escape`
 * is the byte of `in` that detaches the user; -1: none. Sets *heard to true if a byte came from the
 * console. The end of `in` does not end the copying. */
int serial_run(int console, int in, int out, int cancel, int escape, enum serial_end *end,
	       bool *heard, struct error *err);

#endif
