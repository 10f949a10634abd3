/* SPDX-License-Identifier: MIT */
#ifndef HYPERV_ENDING_H
#define HYPERV_ENDING_H

#include "hyperv/keeper/pipe.h"
#include "hyperv/store/record.h"

/* The pipe of the machine's keeper; INVALID_HANDLE_VALUE with ERR_NOT_FOUND: nobody keeps it. */
HANDLE ending_connect(const struct record *record, struct error *err);
/* A keeper that has recorded its machine's end is gone a moment later: that moment.
 * ERR_UNAVAILABLE: it is not over then. */
int ending_wait_over(const struct record *record, struct error *err);

#endif
