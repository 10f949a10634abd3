/* SPDX-License-Identifier: MIT */
/*
 * Parses one response of Firecracker's API: the HTTP/1.1 that its server speaks, and no more.
 * Anything else is refused, since it does not come from a Firecracker that works. Pure.
 */
#ifndef BACKEND_FIRECRACKER_HTTP_H
#define BACKEND_FIRECRACKER_HTTP_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define HTTP_HEAD_MAX 8192 /* status line and headers */

struct http_response {
	int status;
	size_t used;	  /* length of the response in bytes */
	const char *body; /* in the given bytes; not terminated */
	size_t body_len;
};

/* Returns 1 if *out is complete, 0 if more bytes must come; -1 with an error if it is no such
 * response, or is too long. */
int http_take(const uint8_t *bytes, size_t len, size_t body_max, struct http_response *out,
	      struct error *err);

#endif
