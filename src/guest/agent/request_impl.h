/* SPDX-License-Identifier: MIT */
/* Functions that both request.c and request_envelope.c use. */
#ifndef GUEST_REQUEST_IMPL_H
#define GUEST_REQUEST_IMPL_H

#include "guest/agent/request.h"

/* Functions that each decode one key of the JSON object `from`. `path` says in error messages where
 * in the request the object `from` is; "" means that `from` is the whole request. */
int request_get_argv(json_t *from, const char *path, const char *key, struct request *out,
		     struct error *err);
int request_get_environment(json_t *from, const char *path, struct request *out, struct error *err);
int request_get_rlimits(json_t *from, const char *path, struct request *out, struct error *err);
/* Reads a string. Sets *out to NULL if the string is empty or absent. */
int request_get_optional_string(json_t *from, const char *path, const char *key, const char **out,
				struct error *err);
/* Reads a timeout in seconds. If the number is 0 or absent, the timeout is `otherwise_ms`
 * milliseconds. */
int request_get_timeout(json_t *from, const char *path, const char *key, uint64_t otherwise_ms,
			struct request *out, struct error *err);

/* Decodes out->doc, which is {"op":S,"payload":{...}}. Defined in request_envelope.c. */
int request_decode_op(struct request *out, struct error *err);

#endif
