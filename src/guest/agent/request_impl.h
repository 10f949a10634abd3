/* SPDX-License-Identifier: MIT */
/* Functions that request.c and request_envelope.c share. */
#ifndef GUEST_REQUEST_IMPL_H
#define GUEST_REQUEST_IMPL_H

#include "guest/agent/request.h"

/* Functions that each decode one key of the object `from`. `path` is the path of the object in its
 * document, "" for the whole document; errors name the path and the key. */
int request_get_argv(json_t *from, const char *path, const char *key, struct request *out,
		     struct error *err);
int request_get_environment(json_t *from, const char *path, struct request *out, struct error *err);
int request_get_rlimits(json_t *from, const char *path, struct request *out, struct error *err);
/* Reads a string. An empty or absent string means the default. */
int request_get_optional_string(json_t *from, const char *path, const char *key, const char **out,
				struct error *err);
/* Reads a timeout. 0 or an absent number means the default. */
int request_get_timeout(json_t *from, const char *path, const char *key, uint64_t otherwise_ms,
			struct request *out, struct error *err);

/* Decodes out->doc, which is {"op":S,"payload":{...}}. Defined in request_envelope.c. */
int request_decode_op(struct request *out, struct error *err);

#endif
