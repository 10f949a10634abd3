/* SPDX-License-Identifier: MIT */
/* What the Host Compute System's codes mean. Pure. */
#ifndef HYPERV_HRESULT_H
#define HYPERV_HRESULT_H

#include <stdint.h>

#include "base/error.h"

/* Those that are acted upon. */
#define HCS_SYSTEM_NOT_FOUND UINT32_C(0x8037010e)
#define HCS_SYSTEM_ALREADY_STOPPED UINT32_C(0x80370110)
#define HCS_OPERATION_PENDING UINT32_C(0x80370117)

/*
 * "<what>: <sentence> (0x8037010d)<: detail>". what is the call, for a person; detail what HCS says
 * of it itself, NULL or "" where it says nothing. Returns -1.
 */
int hresult_error(uint32_t code, const char *what, const char *detail, struct error *err);

#endif
