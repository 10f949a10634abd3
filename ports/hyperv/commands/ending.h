/* SPDX-License-Identifier: MIT */
#ifndef HYPERV_ENDING_H
#define HYPERV_ENDING_H

#include "hyperv/keeper/pipe.h"
#include "hyperv/store/record.h"

/* Connects to the pipe of the machine's live supervisor. The caller closes the handle. Returns
 * INVALID_HANDLE_VALUE with err set on failure. ERR_NOT_FOUND means that the machine has no live
 * supervisor. */
HANDLE ending_connect(const struct record *record, struct error *err);
/* Waits until the live supervisor exits. The live supervisor must already have recorded the end of
 * its machine. Fails with ERR_UNAVAILABLE if the live supervisor has not exited in time. */
int ending_wait_over(const struct record *record, struct error *err);

#endif
