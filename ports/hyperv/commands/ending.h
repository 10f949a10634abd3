/* SPDX-License-Identifier: MIT */
#ifndef HYPERV_ENDING_H
#define HYPERV_ENDING_H

#include "hyperv/keeper/pipe.h"
#include "hyperv/store/record.h"

/* Connects to the pipe of the machine's keeper. The caller closes the handle. Returns
 * INVALID_HANDLE_VALUE with an error; ERR_NOT_FOUND: the machine has no keeper. */
HANDLE ending_connect(const struct record *record, struct error *err);
/* Waits for the end of a keeper that has already recorded the end of its machine. That keeper ends
 * within a moment. ERR_UNAVAILABLE: it has not ended in time. */
int ending_wait_over(const struct record *record, struct error *err);

#endif
