/* SPDX-License-Identifier: MIT */
/*
 * Applies a change to config.network, for a running machine. The live supervisor applies the change
 * to its record. The command that asks for the change also applies it, to know the record that the
 * supervisor will write (store/record_digest.h).
 *
 * The request is {"change": "allow" or "deny", "rule": ...}, or {"change": "publish" or
 * "unpublish", "forward": ...}.
 */
#ifndef CHANNEL_NETWORK_EDIT_H
#define CHANNEL_NETWORK_EDIT_H

#include <jansson.h>

#include "base/error.h"

/* Returns the changed network as a new reference. The caller must check this network by
 * network_decode(). ERR_INVALID, ERR_CONFLICT or ERR_NOT_FOUND if the change is not possible. */
json_t *network_edited(const json_t *network, const json_t *request, struct error *err);
/* Returns the word of the request's "change"; NULL with ERR_INVALID if the word is not "allow",
 * "deny", "publish" or "unpublish". */
const char *network_change_name(const json_t *request, struct error *err);

#endif
