/* SPDX-License-Identifier: MIT */
/* The client of a supervisor: one request in, one response out. */
#ifndef CHANNEL_SUPERVISOR_H
#define CHANNEL_SUPERVISOR_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/proc.h"

/* Stores microagent-<backend>-supervisor, without the dashes in the backend's own name. */
#define SUPERVISOR_PROGRAM 64
void supervisor_program(const char *backend, char out[SUPERVISOR_PROGRAM]);

/* Returns the path of the supervisor, malloc'd: $MICROAGENT_<BACKEND>_SUPERVISOR, else
 * program_find(). */
char *supervisor_find(const char *backend, struct error *err);

/* What a caller does while it waits: fn is called about five times a second. */
struct supervisor_wait {
	void (*fn)(void *data); /* NULL: nothing */
	void *data;
	/* A descriptor. When it is readable: a call is given up, its supervisor is killed, and the
	 * call fails with ERR_UNAVAILABLE; for finish the lifeline is cut. -1: none. */
	int cancel;
	uint64_t deadline_ns; /* finish: when the lifeline is cut (monotonic). 0: never */
	bool apart; /* call: only this process gets Ctrl-C of its terminal, and then gives the call
		     * up */
	bool bound; /* call: the supervisor ends with the calling thread in every case */
	const int *handed; /* call: descriptors that options name, numbered from SUPERVISOR_HANDED
			    * on */
	size_t nhanded;
};

#define SUPERVISOR_HANDED 3
#define SUPERVISOR_HANDED_MAX 12
#define SUPERVISOR_OPTIONS_MAX 6

/* Runs a supervisor with the request (and at most SUPERVISOR_OPTIONS_MAX options, up to NULL; NULL:
 * none) and waits for the answer. Returns the response document, also one with ok:false, for which
 * *exit_code is 1 or 75. Returns NULL if there was no answer; the error then has the last part of
 * its stderr, which is not shown otherwise. wait may be NULL. */
json_t *supervisor_call(const char *path, const char *const *options, const json_t *request,
			const struct supervisor_wait *wait, int *exit_code, struct error *err);

/* Returns {"backend","commands","networks","features"} as `--print-capabilities` prints them; a new
 * reference. */
json_t *supervisor_capabilities(const char *path, struct error *err);

/* Converts an answer with ok:false to an error. */
int supervisor_error(const json_t *response, struct error *err);

/*
 * A supervisor in the foreground, for the command `run`, which answers when the machine has ended.
 * The lifeline (lifeline.h) ends the machine when this process cuts it or ends in any way.
 */
struct supervisor_run {
	struct proc proc;
	int lifeline;	   /* the near end; -1 once cut */
	int events;	   /* readable: an event came, or at its end, no more will come */
	int answer;	   /* its stdout */
	int notes;	   /* its stderr: kept, and not shown by itself */
	struct buf queued; /* events that were read */
};
#define SUPERVISOR_RUN_NONE                                                                \
	{                                                                                  \
		.proc = PROC_NONE, .lifeline = -1, .events = -1, .answer = -1, .notes = -1 \
	}

/* Starts it. option: one more option of the supervisor's; NULL: none. keep: the workspace stays
 * after the end (stopped or failed); else it is removed. */
int supervisor_run_start(const char *path, const json_t *request, const char *option, bool keep,
			 struct supervisor_run *out, struct error *err);
/* Reads what has come. Returns 1 with a new reference in *event, 0 if there is none now, -1 with
 * ERR_UNAVAILABLE at the end of the events. */
int supervisor_run_event(struct supervisor_run *run, json_t **event, struct error *err);
/* Ends the machine if it still runs. */
void supervisor_run_cut(struct supervisor_run *run);
/* Waits for the end and returns the answer, as supervisor_call() does. */
json_t *supervisor_run_finish(struct supervisor_run *run, const struct supervisor_wait *wait,
			      int *exit_code, struct error *err);
/* Cuts the lifeline, and waits for the end. Accepts SUPERVISOR_RUN_NONE. */
void supervisor_run_free(struct supervisor_run *run);

#endif
