/* SPDX-License-Identifier: MIT */
/*
 * The companions of one VM: the processes beside a VMM (vsockd...), children of ours, in the order
 * in which they were started. Each has its name, its stderr in the log, and a meaning of its death.
 * Their owner hears of every end, and decides.
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
	bool fatal; /* the VM is worth nothing without it */

	struct proc proc;
	pid_t pid; /* as it was, for describe(); 0: never started */
	struct loop_watch *watch;
	bool gone;     /* ended and reaped, or never started */
	bool settled;  /* its end is our wish, or was told */
	int code;      /* once gone; 128+signal */
	int stderr_fd; /* the child's end, until it is started; -1 */
	struct stderr_log stderr_log;
};

struct companions {
	struct loop *loop;
	struct log *log; /* may be NULL */
	struct companion *first;
	/* One has ended and was reaped. May free them all. */
	void (*ended)(void *data, struct companion *companion);
	void *data;
};

/* A row for one, with a pipe for its stderr; not yet started. */
struct companion *companion_add(struct companions *all, const char *name, bool fatal,
				struct error *err);
/* Starts it: spec as for proc_spawn(), stderr added to its descriptors. */
int companion_start(struct companion *companion, const struct proc_spec *spec, struct error *err);
/* It was started elsewhere, as a child of ours, with the stderr of this row. */
void companion_adopt(struct companion *companion, const struct proc *proc);
/* SIGKILL, by our wish; `ended` follows. Does not wait. */
void companion_end(struct companion *companion);

/* Kills and reaps it, and forgets it; nobody hears of it. */
void companion_drop(struct companion *companion);

/* Begins to hear of the end of one, or of all, that were started. */
int companion_watch(struct companion *companion, struct error *err);
int companions_watch(struct companions *all, struct error *err);
bool companions_gone(const struct companions *all); /* all of them */
/* The first whose end is neither our wish nor told yet; NULL. */
struct companion *companions_lost(const struct companions *all);
void companions_end(struct companions *all); /* companion_end() of each */
/* Reads what is left of each stderr. */
void companions_drain(struct companions *all);
/* [{name, pid}] is added to the array. */
void companions_describe(const struct companions *all, json_t *list);
/* Kills and reaps what is left. */
void companions_free(struct companions *all);

#endif
