/* SPDX-License-Identifier: MIT */
/* What went wrong. The object is the caller's: nothing to free, and it works when memory is gone.
 */
#ifndef MICROAGENT_ERROR_H
#define MICROAGENT_ERROR_H

/* Stable: the names reach JSON as `errorCode`. */
enum error_code {
	ERR_NONE = 0,
	ERR_INVALID,	 /* the request or an argument is wrong; repeating it is useless */
	ERR_NOT_FOUND,	 /* the named thing does not exist */
	ERR_CONFLICT,	 /* not allowed in the present state, or differs from what is recorded */
	ERR_UNSUPPORTED, /* this backend or host cannot do it at all */
	ERR_UNAVAILABLE, /* cannot be done now; retrying may help (supervisor exit 75) */
	ERR_TIMEOUT,	 /* a deadline passed; retrying may help (supervisor exit 75) */
	ERR_DENIED,	 /* rights are missing */
	ERR_IO,		 /* the system or a peer failed */
	ERR_INTERNAL,	 /* a bug of ours */
	ERROR_CODE_COUNT
};

/* msg holds a 300-character path twice and some words; longer text is cut at the end. */
struct error {
	enum error_code code;
	int errnum; /* errno where one was involved, else 0 */
	char msg[1024];
};

#endif
