/* SPDX-License-Identifier: MIT */
/*
 * Parses one response of Firecracker's API. The parser accepts only the part of HTTP/1.1 that
 * Firecracker's server uses, since any other response cannot come from a working Firecracker. The
 * parser only reads the bytes that it is given.
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
	const char *body; /* the body, which lies in the given bytes and has no NUL at its end */
	size_t body_len;
};

/* Parses the response at the beginning of `bytes`. Returns 1 if *out is complete, or 0 if more
 * bytes are needed. Returns -1 with an error if the bytes are not an accepted response, or if the
 * body is longer than `body_max`. */
int http_take(const uint8_t *bytes, size_t len, size_t body_max, struct http_response *out,
	      struct error *err);

#endif
