/* SPDX-License-Identifier: MIT */
/* What request.c (both forms' frame, and the frame form) and request_envelope.c share. */
#ifndef GUEST_REQUEST_IMPL_H
#define GUEST_REQUEST_IMPL_H

#include "guest/agent/request.h"

/* Each takes one key of an object into a request. path is the object's, "" for the whole document;
 * errors name both. */
int request_get_argv(json_t *from, const char *path, const char *key, struct request *out,
		     struct error *err);
int request_get_environment(json_t *from, const char *path, struct request *out, struct error *err);
int request_get_rlimits(json_t *from, const char *path, struct request *out, struct error *err);
/* An empty string means the default, as an absent one does. */
int request_get_optional_string(json_t *from, const char *path, const char *key, const char **out,
				struct error *err);
/* Zero means the default too. */
int request_get_timeout(json_t *from, const char *path, const char *key, uint64_t otherwise_ms,
			struct request *out, struct error *err);

/* request_envelope.c: out->doc is {"op":S,"payload":{...}}. */
int request_decode_op(struct request *out, struct error *err);

#endif
