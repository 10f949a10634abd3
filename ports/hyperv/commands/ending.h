/* SPDX-License-Identifier: MIT */
#ifndef HYPERV_ENDING_H
#define HYPERV_ENDING_H

#include "hyperv/keeper/pipe.h"
#include "hyperv/store/record.h"

/* Connects to the pipe of the machine's keeper. Returns INVALID_HANDLE_VALUE with ERR_NOT_FOUND if
 * the machine has no keeper. */
HANDLE ending_connect(const struct record *record, struct error *err);
/* Waits until a keeper has ended that has already recorded the end of its machine. This takes only
 * a moment. ERR_UNAVAILABLE: the keeper has not ended in time. */
int ending_wait_over(const struct record *record, struct error *err);

#endif
