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

/* microagent-<backend>-supervisor, without the dashes that are in the backend's own name. */
#define SUPERVISOR_PROGRAM 64
void supervisor_program(const char *backend, char out[SUPERVISOR_PROGRAM]);

/* Finds it: $MICROAGENT_<BACKEND>_SUPERVISOR, else by program_find(). malloc'd. */
char *supervisor_find(const char *backend, struct error *err);

/* What a caller does while it waits: fn is called about five times a second. */
struct supervisor_wait {
	void (*fn)(void *data); /* NULL: nothing */
	void *data;
	/* Readable: a call is given up, its supervisor killed, ERR_UNAVAILABLE; finish: the
	 * lifeline is cut. -1: none. */
	int cancel;
	uint64_t deadline_ns; /* finish: the lifeline is cut then (monotonic). 0: none */
	bool apart; /* call: Ctrl-C on our terminal is for us alone, who then give the call up */
	bool bound; /* call: the supervisor ends with the calling thread, however that comes about
		     */
	const int *handed; /* call: descriptors that options name, from SUPERVISOR_HANDED on */
	size_t nhanded;
};

#define SUPERVISOR_HANDED 3
#define SUPERVISOR_HANDED_MAX 12
#define SUPERVISOR_OPTIONS_MAX 6

/* Runs it with the request (and at most SUPERVISOR_OPTIONS_MAX options, up to NULL; NULL: none) and
 * waits for the answer. Returns the response document (also one with ok:false, exit_code says 1 or
 * 75); NULL when there was no answer to be had; the error then has the end of its stderr, which is
 * never shown otherwise. wait may be NULL. */
json_t *supervisor_call(const char *path, const char *const *options, const json_t *request,
			const struct supervisor_wait *wait, int *exit_code, struct error *err);

/* {"backend","commands","networks","features"} as `--print-capabilities` prints them; a new
 * reference. */
json_t *supervisor_capabilities(const char *path, struct error *err);

/* An answer with ok:false as an error. */
int supervisor_error(const json_t *response, struct error *err);

/*
 * A supervisor in the foreground: the command `run`, which answers when the VM has ended. The
 * lifeline (lifeline.h) ends the VM when we cut it or die, however that comes about.
 */
struct supervisor_run {
	struct proc proc;
	int lifeline;	   /* ours; -1 once cut */
	int events;	   /* readable: an event or, at its end, none will come any more */
	int answer;	   /* its stdout */
	int notes;	   /* what it writes to stderr: kept, never shown by itself */
	struct buf queued; /* of events */
};
#define SUPERVISOR_RUN_NONE                                                                \
	{                                                                                  \
		.proc = PROC_NONE, .lifeline = -1, .events = -1, .answer = -1, .notes = -1 \
	}

/* option: one more of the supervisor's; NULL: none. keep: the workspace stays after the end
 * (stopped or failed); else it is removed. */
int supervisor_run_start(const char *path, const json_t *request, const char *option, bool keep,
			 struct supervisor_run *out, struct error *err);
/* Reads what has come: 1 and a new reference in *event, 0 when none is there now, -1 with
 * ERR_UNAVAILABLE at the end of the events. */
int supervisor_run_event(struct supervisor_run *run, json_t **event, struct error *err);
/* Ends the VM if it still runs. */
void supervisor_run_cut(struct supervisor_run *run);
/* Waits for the end and takes the answer, as supervisor_call(). */
json_t *supervisor_run_finish(struct supervisor_run *run, const struct supervisor_wait *wait,
			      int *exit_code, struct error *err);
/* Cuts the lifeline, and waits for the end. Accepts SUPERVISOR_RUN_NONE. */
void supervisor_run_free(struct supervisor_run *run);

#endif
