/* SPDX-License-Identifier: MIT */
/*
 * Parses one response of Firecracker's API. Only the part of HTTP/1.1 that Firecracker's server
 * uses is accepted: any other response cannot come from a working Firecracker. Pure.
 */
#ifndef BACKEND_FIRECRACKER_HTTP_H
#define BACKEND_FIRECRACKER_HTTP_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define HTTP_HEAD_MAX 8192 /* the most bytes of the status line and the headers together */

struct http_response {
	int status;
	size_t used;	  /* the length of the whole response in bytes */
	const char *body; /* points into the given bytes; has no NUL at its end */
	size_t body_len;
};

/* Parses the response at the beginning of the bytes. Returns 1 if *out is complete, 0 if more bytes
 * must come, or -1 with an error if the bytes are not an accepted response, or the body is longer
 * than `body_max`. */
int http_take(const uint8_t *bytes, size_t len, size_t body_max, struct http_response *out,
	      struct error *err);

#endif
