/* SPDX-License-Identifier: MIT */
#ifndef HYPERV_ENDING_H
#define HYPERV_ENDING_H

#include "hyperv/keeper/pipe.h"
#include "hyperv/store/record.h"

/* Connects to the pipe of the machine's keeper. Returns INVALID_HANDLE_VALUE with ERR_NOT_FOUND if
 * the machine has no keeper. */
HANDLE ending_connect(const struct record *record, struct error *err);
/* Waits for the short moment between a keeper's record of its machine's end and the keeper's own
 * end. Returns -1 with ERR_UNAVAILABLE if the keeper is still there after that. */
int ending_wait_over(const struct record *record, struct error *err);

#endif
