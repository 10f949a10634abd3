/* SPDX-License-Identifier: MIT */
/*
 * A change to the network of a machine that runs, made to config.network. The live supervisor makes
 * it to what it records, and the command that asks for it makes the same, to know what the record
 * is to be then (store/record_digest.h).
 *
 * The request: {"change": "allow" or "deny", "rule": ...}, {"change": "publish" or "unpublish",
 * "forward": ...}.
 */
#ifndef CHANNEL_NETWORK_EDIT_H
#define CHANNEL_NETWORK_EDIT_H

#include <jansson.h>

#include "base/error.h"

/* The changed network, which the contract has yet to judge (network_decode()), a new reference.
 * ERR_INVALID, ERR_CONFLICT and ERR_NOT_FOUND for what cannot be. */
json_t *network_edited(const json_t *network, const json_t *request, struct error *err);
/* Which of the four; ERR_INVALID. */
const char *network_change_name(const json_t *request, struct error *err);

#endif
