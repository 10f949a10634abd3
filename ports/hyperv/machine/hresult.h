/* SPDX-License-Identifier: MIT */
/* Explains the error codes of the Host Compute System (HCS). The functions have no side effects. */
#ifndef HYPERV_HRESULT_H
#define HYPERV_HRESULT_H

#include <stdint.h>

#include "base/error.h"

/* The codes for which this program does something special. */
#define HCS_SYSTEM_NOT_FOUND UINT32_C(0x8037010e)
#define HCS_SYSTEM_ALREADY_STOPPED UINT32_C(0x80370110)
#define HCS_OPERATION_PENDING UINT32_C(0x80370117)

/*
 * Sets `err` to "<what>: <sentence> (0x8037010d)<: detail>". `what` says in words for a user what
 * has failed. The sentence explains the code, which is in brackets. `detail` is the text of HCS
 * about the error, and may be NULL or "". Returns -1.
 */
int hresult_error(uint32_t code, const char *what, const char *detail, struct error *err);

#endif
