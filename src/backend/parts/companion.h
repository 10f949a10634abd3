/* SPDX-License-Identifier: MIT */
/*
 * The companions of one VM: the processes beside a VMM (vsockd...). They are our children, in the
 * order in which they were started. Each has a name, its stderr goes to the log, and its death has
 * a meaning. Their owner is told of every end, and decides.
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
	bool fatal; /* the VM is useless without it */

	struct proc proc;
	pid_t pid; /* kept for describe(); 0: never started */
	struct loop_watch *watch;
	bool gone;     /* ended and reaped, or never started */
	bool settled;  /* we wished its end, or its end was told */
	int code;      /* exit code once gone; 128+signal */
	int stderr_fd; /* the child's end until it is started; else -1 */
	struct stderr_log stderr_log;
};

struct companions {
	struct loop *loop;
	struct log *log; /* may be NULL */
	struct companion *first;
	/* Called when a companion has ended and was reaped. May free all companions. */
	void (*ended)(void *data, struct companion *companion);
	void *data;
};

/* Adds a companion, with a pipe for its stderr. Does not start it yet. */
struct companion *companion_add(struct companions *all, const char *name, bool fatal,
				struct error *err);
/* Starts the companion. spec is as for proc_spawn(); stderr is added to its descriptors. */
int companion_start(struct companion *companion, const struct proc_spec *spec, struct error *err);
/* Takes over a process that was started elsewhere, as our child, with the stderr of this
 * companion. */
void companion_adopt(struct companion *companion, const struct proc *proc);
/* Sends SIGKILL and marks the end as our wish. `ended` follows. Does not wait. */
void companion_end(struct companion *companion);

/* Kills, reaps and frees the companion. `ended` is not called. */
void companion_drop(struct companion *companion);

/* Begin to watch for the end of one companion, or of all that were started. */
int companion_watch(struct companion *companion, struct error *err);
int companions_watch(struct companions *all, struct error *err);
bool companions_gone(const struct companions *all); /* whether all have gone */
/* Returns the first companion whose end is neither our wish nor told yet; NULL: there is none. */
struct companion *companions_lost(const struct companions *all);
void companions_end(struct companions *all); /* calls companion_end() for each */
/* Reads the rest of each companion's stderr. */
void companions_drain(struct companions *all);
/* Adds {name, pid} of each companion to the array. */
void companions_describe(const struct companions *all, json_t *list);
/* Kills, reaps and frees all companions. */
void companions_free(struct companions *all);

#endif
