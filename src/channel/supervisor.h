/* SPDX-License-Identifier: MIT */
/* Runs a supervisor for one request, and returns its response. */
#ifndef CHANNEL_SUPERVISOR_H
#define CHANNEL_SUPERVISOR_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/proc.h"

/* Stores the name of a backend's supervisor, microagent-<backend>-supervisor. In this name the
 * backend is written without dashes. */
#define SUPERVISOR_PROGRAM 64
void supervisor_program(const char *backend, char out[SUPERVISOR_PROGRAM]);

/* Returns the path of the supervisor, malloc'd: the value of $MICROAGENT_<BACKEND>_SUPERVISOR if
 * this is set, else what program_find() finds. */
char *supervisor_find(const char *backend, struct error *err);

/* How a caller waits for a supervisor. */
struct supervisor_wait {
	void (*fn)(void *data); /* is called about five times a second; may be NULL */
	void *data;
	/* A descriptor. When it is readable, supervisor_call() kills the supervisor and fails with
	 * ERR_UNAVAILABLE, and supervisor_run_finish() cuts the lifeline. -1: no descriptor. */
	int cancel;
	uint64_t deadline_ns; /* only for supervisor_run_finish(): the time on clock_mono_ns() at
			       * which the lifeline is cut; 0: no such time */
	bool apart; /* only for supervisor_call(); true: Ctrl-C at the terminal goes only to this
		     * process, and not to the supervisor */
	bool bound; /* only for supervisor_call(); true: the supervisor is killed when the calling
		     * thread ends in any way */
	const int *handed; /* only for supervisor_call(): descriptors of this process. The
			    * supervisor gets copies of them with the numbers from SUPERVISOR_HANDED
			    * on, which its options name. */
	size_t nhanded;
};

#define SUPERVISOR_HANDED 3
#define SUPERVISOR_HANDED_MAX 12
#define SUPERVISOR_OPTIONS_MAX 6

/* Runs a supervisor with the request and waits for the answer. `options`: at most
 * SUPERVISOR_OPTIONS_MAX words for its command line, NULL-terminated; NULL: no words. `wait` may be
 * NULL. Returns the response. A response with ok:false is returned too; *exit_code is then 1 or 75.
 * Returns NULL if there was no response; the message of the error then has the last part of the
 * supervisor's stderr, which is shown nowhere else. */
json_t *supervisor_call(const char *path, const char *const *options, const json_t *request,
			const struct supervisor_wait *wait, int *exit_code, struct error *err);

/* Returns {"backend","commands","networks","features"} as `--print-capabilities` prints them; a new
 * reference. */
json_t *supervisor_capabilities(const char *path, struct error *err);

/* Returns 0 if the response has ok:true. Else sets the error that the response has, and returns
 * -1. */
int supervisor_error(const json_t *response, struct error *err);

/*
 * A supervisor in the foreground, for the command `run`, which answers when the machine has ended.
 * The lifeline (lifeline.h) ends the machine when this process cuts the lifeline or ends in any
 * way.
 */
struct supervisor_run {
	struct proc proc;
	int lifeline;	   /* the near end of the lifeline; -1 after the lifeline was cut */
	int events;	   /* a descriptor that is readable when an event has come, or when no more
			    * events will come */
	int answer;	   /* a descriptor of the pipe that is the supervisor's stdout */
	int notes;	   /* a descriptor of the file that is the supervisor's stderr, which is
			    * only used for errors */
	struct buf queued; /* bytes of events that were read and are not used yet */
};
#define SUPERVISOR_RUN_NONE                                                                \
	{                                                                                  \
		.proc = PROC_NONE, .lifeline = -1, .events = -1, .answer = -1, .notes = -1 \
	}

/* Starts a supervisor. `option` is one more word for its command line; NULL: no word. If `keep` is
 * true, the workspace stays when the machine has ended (stopped or failed); else the workspace is
 * removed. */
int supervisor_run_start(const char *path, const json_t *request, const char *option, bool keep,
			 struct supervisor_run *out, struct error *err);
/* Reads the next event. Returns 1 with a new reference in *event, 0 if no event has come now, -1
 * with ERR_UNAVAILABLE if no more events will come. */
int supervisor_run_event(struct supervisor_run *run, json_t **event, struct error *err);
/* Ends the machine if it still runs. */
void supervisor_run_cut(struct supervisor_run *run);
/* Waits for the end of the machine, and returns the response as supervisor_call() does. */
json_t *supervisor_run_finish(struct supervisor_run *run, const struct supervisor_wait *wait,
			      int *exit_code, struct error *err);
/* Cuts the lifeline, and waits for the end of the supervisor. Accepts SUPERVISOR_RUN_NONE. */
void supervisor_run_free(struct supervisor_run *run);

#endif
