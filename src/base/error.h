/* SPDX-License-Identifier: MIT */
/*
 * Errors. Every fallible function ends in `struct error *err`, returns 0 or -1 (or NULL), leaves
 * its outputs untouched on failure, never logs and never exits. Callers put context in front with
 * error_prefix(). A message names facts; what a person may do next is added by the front end, which
 * knows it from the reason: the callers of a library have no command line. Only a program's main()
 * prints. The object is the caller's: nothing to free, and it works when memory is gone.
 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

/* The types, which the library's callers need too. */
#include "microagent/error.h"

/* Both return -1 so that a caller can write `return error_set(...)`. err may be NULL. */
int error_set(struct error *err, enum error_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Text becomes "<fmt>: <strerror>", code follows from errnum (ENOENT: not-found, EACCES and EPERM:
 * denied, EEXIST and EBUSY: conflict, ETIMEDOUT: timeout, EAGAIN: unavailable, else io). EMFILE has
 * a reason too, since any call may meet it. */
int error_errno(struct error *err, int errnum, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Puts "<fmt>: " in front of the message. Returns -1. */
int error_prefix(struct error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Says besides what exactly it is, and of what; for an error that was just set. Returns -1. */
int error_reason(struct error *err, enum error_reason reason, const char *subject);

/* Makes *err the other one, where err is not NULL. Returns -1. */
int error_copy(struct error *err, const struct error *other);

/* It looks at one file at a time and would think that they may return 0. */
#ifdef __clang_analyzer__
#define error_set(...) (error_set(__VA_ARGS__), -1)
#define error_errno(...) (error_errno(__VA_ARGS__), -1)
#define error_reason(...) (error_reason(__VA_ARGS__), -1)
#define error_copy(...) (error_copy(__VA_ARGS__), -1)
#define error_prefix(...) (error_prefix(__VA_ARGS__), -1)
#endif

/* "invalid", "not-found", ... as in JSON; "none" for ERR_NONE. */
const char *error_code_name(enum error_code code);
/* The reverse; ERR_INTERNAL for an unknown name. */
enum error_code error_code_from_name(const char *name);
/* "no-workspace", ... as in JSON; "none" for REASON_NONE. */
const char *error_reason_name(enum error_reason reason);
/* The reverse; REASON_NONE for an unknown name. */
enum error_reason error_reason_from_name(const char *name);

#endif
