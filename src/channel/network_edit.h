/* SPDX-License-Identifier: MIT */
/*
 * Applies a change to config.network, for a machine that runs. The live supervisor applies it to
 * its record. The command that asks for the change applies it too, to know what the record will be
 * (store/record_digest.h).
 *
 * The request: {"change": "allow" or "deny", "rule": ...}, {"change": "publish" or "unpublish",
 * "forward": ...}.
 */
#ifndef CHANNEL_NETWORK_EDIT_H
#define CHANNEL_NETWORK_EDIT_H

#include <jansson.h>

#include "base/error.h"

/* Returns the changed network, a new reference, which the contract has not checked yet
 * (network_decode()). ERR_INVALID, ERR_CONFLICT and ERR_NOT_FOUND if the change is not possible. */
json_t *network_edited(const json_t *network, const json_t *request, struct error *err);
/* Returns which of the four changes it is; ERR_INVALID if it is none. */
const char *network_change_name(const json_t *request, struct error *err);

#endif
