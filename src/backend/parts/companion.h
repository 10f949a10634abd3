/* SPDX-License-Identifier: MIT */
/*
 * The companions of one VM: the processes beside its VMM (vsockd...). They are children of this
 * process, and are listed in the order in which they were started. Each has a name, and its stderr
 * goes to the log. `ended` tells the owner about the end of each companion, and the owner decides
 * what the end means for the VM.
 */
#ifndef BACKEND_PARTS_COMPANION_H
#define BACKEND_PARTS_COMPANION_H

#include <jansson.h>
#include <stdbool.h>

#include "backend/parts/stderr_log.h"
#include "base/error.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/proc.h"

#define COMPANION_NAME 64

struct companions;

struct companion {
	struct companions *all;
	struct companion *next;
	char name[COMPANION_NAME];
	bool fatal; /* the VM cannot work without this companion */

	struct proc proc;
	pid_t pid; /* kept for describe(); 0: the companion was never started */
	struct loop_watch *watch;
	bool gone; /* the companion has ended and was reaped, or was never started */
	/* This process has ended the companion, or has told the owner about its end. */
	bool settled;
	int code;      /* the exit code when `gone`; 128+signal if a signal ended it */
	int stderr_fd; /* the child's end until it is started; else -1 */
	struct stderr_log stderr_log;
};

struct companions {
	struct loop *loop;
	struct log *log; /* may be NULL */
	struct companion *first;
	/* Called when a companion has ended and was reaped. The called function may free all
	 * companions. */
	void (*ended)(void *data, struct companion *companion);
	void *data;
};

/* Adds a companion, with a pipe for its stderr. Does not start it yet. */
struct companion *companion_add(struct companions *all, const char *name, bool fatal,
				struct error *err);
/* Starts the companion. `spec` is as for proc_spawn(); stderr is added to its descriptors. */
int companion_start(struct companion *companion, const struct proc_spec *spec, struct error *err);
/* Takes over a process that the broker has started as a child of this process, with the stderr of
 * this companion. */
void companion_adopt(struct companion *companion, const struct proc *proc);
/* Sends SIGKILL and sets `settled`. Does not wait. `ended` is called when the companion has
 * ended. */
void companion_end(struct companion *companion);

/* Kills, reaps and frees the companion. `ended` is not called. */
void companion_drop(struct companion *companion);

/* Functions that begin to watch for the end of one companion, or of all that were started. */
int companion_watch(struct companion *companion, struct error *err);
int companions_watch(struct companions *all, struct error *err);
bool companions_gone(const struct companions *all); /* whether all are `gone` */
/* Returns the first companion that is `gone` and not `settled`; NULL: there is none. */
struct companion *companions_lost(const struct companions *all);
void companions_end(struct companions *all); /* calls companion_end() for each */
/* Reads the rest of each companion's stderr. */
void companions_drain(struct companions *all);
/* Adds {name, pid} of each companion to the array. */
void companions_describe(const struct companions *all, json_t *list);
/* Kills, reaps and frees all companions. */
void companions_free(struct companions *all);

#endif
