/* SPDX-License-Identifier: MIT */
/*
 * Errors. Every function that can fail has `struct error *err` as its last parameter and returns 0
 * or -1 (or NULL). On failure such a function leaves its outputs unchanged. No such function logs
 * or exits. Callers put context in front of a message with error_prefix(). A message only states
 * what is wrong. The front end adds what to do next, which it finds by the reason of the error.
 * Only a program's main() prints. A struct error belongs to the caller. The struct contains no
 * pointers. So nothing has to be freed, and an error can be reported even when no memory is left.
 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

/* The included header has the types, because the callers of the library need the types too. */
#include "microagent/error.h"

/* Sets the error. Returns -1, as all functions below do, so that a caller can write `return
 * error_set(...)`. `err` may be NULL. */
int error_set(struct error *err, enum error_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Sets an error from an error number. The text becomes "<fmt>: <strerror>", and the code follows
 * from `errnum` (ENOENT: not-found, EACCES and EPERM: denied, EEXIST and EBUSY: conflict,
 * ETIMEDOUT: timeout, EAGAIN: unavailable, else io). For EMFILE the reason REASON_TOO_MANY_FILES is
 * set too, because any call may fail with EMFILE. */
int error_errno(struct error *err, int errnum, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Puts "<fmt>: " in front of the message. Returns -1. */
int error_prefix(struct error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Adds the reason and its subject to an error that was just set. Returns -1. */
int error_reason(struct error *err, enum error_reason reason, const char *subject);

/* Copies *other to *err, if `err` is not NULL. Returns -1. */
int error_copy(struct error *err, const struct error *other);

/* Tells clang's analyzer that these functions return -1. The analyzer reads one file at a time, so
 * it does not know their definitions when it reads another file. */
#ifdef __clang_analyzer__
#define error_set(...) (error_set(__VA_ARGS__), -1)
#define error_errno(...) (error_errno(__VA_ARGS__), -1)
#define error_reason(...) (error_reason(__VA_ARGS__), -1)
#define error_copy(...) (error_copy(__VA_ARGS__), -1)
#define error_prefix(...) (error_prefix(__VA_ARGS__), -1)
#endif

/* Returns the name of a code as in JSON: "invalid", "not-found", ...; "none" for ERR_NONE. */
const char *error_code_name(enum error_code code);
/* Returns the code with the name `name`; ERR_INTERNAL for an unknown name. */
enum error_code error_code_from_name(const char *name);
/* Returns the name of a reason as in JSON: "no-workspace", ...; "none" for REASON_NONE. */
const char *error_reason_name(enum error_reason reason);
/* Returns the reason with the name `name`; REASON_NONE for an unknown name. */
enum error_reason error_reason_from_name(const char *name);

#endif
