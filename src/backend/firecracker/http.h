/* SPDX-License-Identifier: MIT */
/*
 * One response of Firecracker's API, taken apart: the HTTP/1.1 that its server speaks and no more.
 * Whatever else comes is refused, since it does not come from a Firecracker that works. Pure.
 */
#ifndef BACKEND_FIRECRACKER_HTTP_H
#define BACKEND_FIRECRACKER_HTTP_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define HTTP_HEAD_MAX 8192 /* status line and headers */

struct http_response {
	int status;
	size_t used;	  /* bytes of it in all */
	const char *body; /* in what was given; not terminated */
	size_t body_len;
};

/* 1: *out is whole; 0: more of it is to come; -1: it is no such response, or longer than it may be.
 */
int http_take(const uint8_t *bytes, size_t len, size_t body_max, struct http_response *out,
	      struct error *err);

#endif
