/* SPDX-License-Identifier: MIT */
/*
 * The companions of one VM, which are the processes beside its VMM, such as vsockd. The companions
 * are children of this process. The list of companions has the order in which they were started.
 * Each companion has a name, and its stderr goes to the log. The function `ended` is called at the
 * end of each companion, and decides what this end means for the VM.
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
	/* The VM cannot work without this companion, and must be killed when the companion has
	 * ended. */
	bool fatal;

	struct proc proc;
	/* The companion's pid, which is kept for describe(); 0: the companion was never started. */
	pid_t pid;
	struct loop_watch *watch;
	bool gone; /* the companion has ended and was reaped, or was never started */
	/* This process has ended the companion, or has already reported the companion's end. */
	bool settled;
	/* The exit code if `gone` is set; 128+n: signal n has ended the companion. */
	int code;
	/* The companion's end of the stderr pipe, until the companion is started; -1 otherwise. */
	int stderr_fd;
	struct stderr_log stderr_log;
};

struct companions {
	struct loop *loop;
	struct log *log; /* the log for stderr; NULL: there is no log */
	struct companion *first;
	/* Called when a companion has ended and was reaped. This function may free all
	 * companions. */
	void (*ended)(void *data, struct companion *companion);
	void *data;
};

/* Adds a companion to the list, and makes a pipe for its stderr. Does not start the companion
 * yet. */
struct companion *companion_add(struct companions *all, const char *name, bool fatal,
				struct error *err);
/* Starts the companion. `spec` is as for proc_spawn(). The companion's stderr is added to the
 * descriptors of `spec`. */
int companion_start(struct companion *companion, const struct proc_spec *spec, struct error *err);
/* Makes `proc` the process of this companion. The broker has started it as a child of this process,
 * with the stderr of this companion. */
void companion_adopt(struct companion *companion, const struct proc *proc);
/* Sends SIGKILL to the companion and sets `settled`. Does not wait. The function `ended` of struct
 * companions is called when the companion has ended. */
void companion_end(struct companion *companion);

/* Kills, reaps and frees the companion. The function `ended` of struct companions is not called. */
void companion_drop(struct companion *companion);

/* Functions that begin to watch for the end of one companion, or of all companions that were
 * started. */
int companion_watch(struct companion *companion, struct error *err);
int companions_watch(struct companions *all, struct error *err);
bool companions_gone(const struct companions *all); /* returns true if all companions are `gone` */
/* Returns the first companion that is `gone` and not `settled`. Returns NULL if there is none. */
struct companion *companions_lost(const struct companions *all);
void companions_end(struct companions *all); /* calls companion_end() for each companion */
/* Reads all bytes that are still in the stderr pipes of the companions. */
void companions_drain(struct companions *all);
/* Adds {name, pid} of each companion to the array `list`. */
void companions_describe(const struct companions *all, json_t *list);
/* Kills, reaps and frees all companions. */
void companions_free(struct companions *all);

#endif
