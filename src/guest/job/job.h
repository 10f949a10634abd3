/* SPDX-License-Identifier: MIT */
/*
 * A job is one command from fork to its last word. It knows processes, pipes, terminals and time;
 * whom its output goes to and in what shape is its owner's.
 *
 *   STARTING  forked; exec has neither succeeded nor failed yet
 *   HELD      it is in its container, all is set up, and it waits for job_release()
 *   RUNNING   the program runs; output flows, stdin is taken
 *   DRAINING  the program has ended and was reaped; what is left in its pipes is read. A child it
 *             left behind may hold them open: after LIMIT_EXEC_DRAIN_MS only what the pipes held at
 *             the program's end is still waited for.
 *   ENDED     the owner has been told; the object is swept after the present round of the loop
 *
 * No function here calls the owner: that happens from the loop alone, so an owner may call anything
 * from anywhere, and after job_abandon() it hears nothing more.
 */
#ifndef GUEST_JOB_H
#define GUEST_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/list.h"
#include "base/loop.h"
#include "guest/job/cgroup.h"
#include "guest/job/rlimits.h"
#include "guest/job/users.h"

enum job_stream { JOB_STDOUT, JOB_STDERR, JOB_STREAMS };

/* How it ended. */
struct job_end {
	int exit_code; /* 124 timed out, 125-127 never ran, 128+n by signal n, else its own */
	int signal;    /* 0: none */
	bool timed_out;
	bool killed; /* by us: a timeout or job_kill() */
	int64_t elapsed_ms;
	int64_t started_ns, ended_ns; /* wall clock */
	char start_error[512];	      /* "" if it ran */
};

/* Of a command that never was: why is told as its start_error. */
struct job_end job_end_unstarted(const char *why);

struct job_owner {
	/* HELD begins. NULL where no command is. */
	void (*held)(void *data);
	/* exec has succeeded, unless job_is_running() was true at once. */
	void (*started)(void *data, pid_t pid);
	/* Where output may be put now and how much; NULL: nowhere until job_resume(). */
	uint8_t *(*space)(void *data, enum job_stream stream, size_t *room);
	/* len bytes were put there; directly after space(). */
	void (*output)(void *data, enum job_stream stream, size_t len);
	/* job_write_stdin() took less than all and may take more now; also after stdin's end. */
	void (*stdin_room)(void *data);
	/* The last call. All output has been given. */
	void (*ended)(void *data, const struct job_end *end);
};

struct job_spec;
struct spawn_inside;
/* Told of every command of a table, whoever its owner is. */
struct job_witness {
	/* number: of the command in this table, from 1. Says whether its end is to be told too. */
	bool (*began)(void *data, uint64_t number, const struct job_spec *spec);
	void (*ended)(void *data, uint64_t number, const struct job_end *end);
	void *data;
};

struct job_spec {
	const char *const *argv;
	const char *const *envp;
	const char *cwd; /* NULL: home or / */
	const struct user *user;
	bool stdin_open; /* else /dev/null; a terminal is open anyway */
	int connection;	 /* above 2: it is stdin and stdout, and stderr is /dev/null; 0: none */
	bool terminal;
	uint16_t rows, columns;
	uint64_t timeout_ms;	       /* 0: none */
	int program_fd;		       /* -1, or the file to execute instead of argv[0] */
	bool may_block, traced;	       /* spawn.h */
	const struct rlimits *rlimits; /* NULL: none asked for */
	/* Of a command in a container; else zero. */
	const struct spawn_inside *inside; /* during job_start() */
	struct cgroup_tree *cgroups;	   /* instead of the table's */
	const struct cgroup *cgroup;	   /* instead of one of a tree */
	void (*gone)(void *data);	   /* what was borrowed is let go; after `ended` */
	void *gone_data;
};

struct job;

/* All the jobs of the agent. */
struct job_table {
	struct loop *loop;
	struct cgroup_tree cgroups;
	struct list live, dead;
	size_t count; /* live ones */
	struct list lingering;
	size_t nlingering;
	int null_fd;
	struct job_witness witness; /* zeroed: none */
	uint64_t begun;		    /* commands so far */
};

/* cgroup_mount: "/sys/fs/cgroup". */
int job_table_init(struct job_table *table, struct loop *loop, const char *cgroup_mount,
		   struct error *err);
/* SIGHUP to those on terminals, whose shells ignore SIGTERM. */
void job_table_hang_up(struct job_table *table);
/* SIGKILL to everything. */
void job_table_kill(struct job_table *table);
/* Frees ended jobs; between rounds of the loop. */
void job_table_sweep(struct job_table *table);
void job_table_free(struct job_table *table); /* kills what lives */

/* NULL when the command could not even be forked. */
struct job *job_start(struct job_table *table, const struct job_spec *spec,
		      const struct job_owner *owner, void *data, struct error *err);
pid_t job_pid(const struct job *job);
bool job_is_running(const struct job *job);
/* HELD: lets it go on. */
void job_release(struct job *job);
/* The owner's space() would give room again. */
void job_resume(struct job *job);
/* Returns how many bytes were taken: fewer than len mean that stdin is full for now. When the
 * command has closed its stdin everything is taken and dropped. */
size_t job_write_stdin(struct job *job, const void *bytes, size_t len);
/* Everything that was taken has been written; a terminal gets its end-of-file character. */
void job_close_stdin(struct job *job);
/* To the command's process group, on a terminal to the group in the foreground; in a container to
 * its process alone. */
void job_signal(struct job *job, int signal);
void job_resize(struct job *job, uint16_t rows, uint16_t columns);
/* The whole tree, at once; the end is told as for every job. Does nothing once it has ended. */
void job_kill(struct job *job);
/* The same without an owner from now on. */
void job_abandon(struct job *job);
/* Closes its terminal, without an owner from now on: SIGHUP, and after LIMIT_HANG_UP_MS the end of
 * the whole tree if the program is still there. What ignores the hang-up and is not it lives on. */
void job_hang_up(struct job *job);

#endif
