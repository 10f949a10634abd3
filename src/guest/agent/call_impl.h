/* SPDX-License-Identifier: MIT */
/* What the files of calls share. */
#ifndef GUEST_CALL_IMPL_H
#define GUEST_CALL_IMPL_H

#include "guest/agent/call.h"

/* On the connection from here on. NULL without memory. */
struct call *call_new(struct conn *conn, enum call_kind kind, const char *id, uint64_t number,
		      struct error *err);
/* Says that it could not be started, and frees it. */
void call_unstarted(struct call *call, const char *why);
/* Gathers the output until the end and answers then. */
extern const struct job_owner call_capture_owner;
/* Takes over bytes: all of the command's stdin, at whose end it is closed. */
void call_feed(struct call *call, struct buf *bytes);

/* call_file.c */
/* The most bytes of stdout that are kept. */
size_t call_file_room(const struct call *call);
char *call_file_answer(const struct call *call, const struct job_end *end, struct error *err);

#endif
