/* SPDX-License-Identifier: MIT */
/*
 * A job is one command from fork to its end. It knows processes, pipes, terminals and time. Its
 * owner knows where the output goes, and in what form.
 *
 *   STARTING  forked; exec has neither succeeded nor failed yet
 *   HELD      in its container, everything is set up, and it waits for job_release()
 *   RUNNING   the program runs; output flows, stdin is taken
 *   DRAINING  the program has ended and was reaped; what is left in its pipes is read. A child that
 *             the program left behind may hold the pipes open: after LIMIT_EXEC_DRAIN_MS only the
 *             bytes that were in the pipes at the program's end are still waited for.
 *   ENDED     the owner has been told; the object is freed after the present round of the loop
 *
 * No function here calls the owner directly: only the loop does. So an owner may call any function
 * at any time, and after job_abandon() the owner is not called any more.
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

/* How a job ended. */
struct job_end {
	int exit_code; /* 124 timed out, 125-127 never ran, 128+n by signal n, else the program's */
	int signal;    /* 0: none */
	bool timed_out;
	bool killed; /* by a timeout or job_kill() */
	int64_t elapsed_ms;
	int64_t started_ns, ended_ns; /* wall clock, ns */
	char start_error[512];	      /* "" if the program ran */
};

/* Returns the end of a command that never ran; why becomes its start_error. */
struct job_end job_end_unstarted(const char *why);

struct job_owner {
	/* Called when HELD begins. NULL if the job is never held. */
	void (*held)(void *data);
	/* Called when exec has succeeded, unless job_is_running() was true at once. */
	void (*started)(void *data, pid_t pid);
	/* Returns where output may be put now, and in *room how much; NULL: nowhere until
	 * job_resume(). */
	uint8_t *(*space)(void *data, enum job_stream stream, size_t *room);
	/* Called directly after space(), when len bytes were put there. */
	void (*output)(void *data, enum job_stream stream, size_t len);
	/* Called when job_write_stdin() took less than all and may take more now; also after
	 * stdin's end. */
	void (*stdin_room)(void *data);
	/* The last call. All output has been given. */
	void (*ended)(void *data, const struct job_end *end);
};

struct job_spec;
struct spawn_inside;
/* A receiver that is told of every command of a table, besides its owner. */
struct job_witness {
	/* Called at the start. number is the number of the command in this table, from 1. Returns
	 * true if ended is to be called too. */
	bool (*began)(void *data, uint64_t number, const struct job_spec *spec);
	void (*ended)(void *data, uint64_t number, const struct job_end *end);
	void *data;
};

struct job_spec {
	const char *const *argv;
	const char *const *envp;
	const char *cwd; /* NULL: the home directory, or / */
	const struct user *user;
	bool stdin_open; /* else stdin is /dev/null; a terminal is always open */
	int connection;	 /* above 2: becomes stdin and stdout (stderr: /dev/null); 0: none */
	bool terminal;
	uint16_t rows, columns;
	uint64_t timeout_ms;	       /* 0: none */
	int program_fd;		       /* -1, or the file to execute instead of argv[0] */
	bool may_block, traced;	       /* see spawn.h */
	const struct rlimits *rlimits; /* NULL: none asked for */
	/* For a command in a container; otherwise zero. */
	const struct spawn_inside *inside; /* used during job_start() */
	struct cgroup_tree *cgroups;	   /* used instead of the table's */
	const struct cgroup *cgroup;	   /* used instead of one from a tree */
	void (*gone)(void *data);	   /* releases what was borrowed; called after `ended` */
	void *gone_data;
};

struct job;

/* All jobs of the agent. */
struct job_table {
	struct loop *loop;
	struct cgroup_tree cgroups;
	struct list live, dead;
	size_t count; /* number of live ones */
	struct list lingering;
	size_t nlingering;
	int null_fd;
	struct job_witness witness; /* zeroed: none */
	uint64_t begun;		    /* how many commands were begun */
};

/* Sets up a table. cgroup_mount is "/sys/fs/cgroup". */
int job_table_init(struct job_table *table, struct loop *loop, const char *cgroup_mount,
		   struct error *err);
/* Sends SIGHUP to the jobs on terminals, whose shells ignore SIGTERM. */
void job_table_hang_up(struct job_table *table);
/* Sends SIGKILL to everything. */
void job_table_kill(struct job_table *table);
/* Frees ended jobs. To be called between rounds of the loop. */
void job_table_sweep(struct job_table *table);
void job_table_free(struct job_table *table); /* kills the jobs that live */

/* Starts a job. Returns NULL if the command could not even be forked. */
struct job *job_start(struct job_table *table, const struct job_spec *spec,
		      const struct job_owner *owner, void *data, struct error *err);
pid_t job_pid(const struct job *job);
bool job_is_running(const struct job *job);
/* Lets a job in the state HELD go on. */
void job_release(struct job *job);
/* To be called when the owner's space() would give room again. */
void job_resume(struct job *job);
/* Writes to the command's stdin. Returns how many bytes were taken; fewer than len mean that stdin
 * is full for now. If the command has closed its stdin, all bytes are taken and dropped. */
size_t job_write_stdin(struct job *job, const void *bytes, size_t len);
/* Closes stdin after all bytes that were taken have been written. A terminal gets its end-of-file
 * character. */
void job_close_stdin(struct job *job);
/* Sends a signal: to the command's process group; on a terminal to the group in the foreground; in
 * a container to the command's process alone. */
void job_signal(struct job *job, int signal);
void job_resize(struct job *job, uint16_t rows, uint16_t columns);
/* Kills the whole tree at once. The end is told as for every job. Does nothing if the job has
 * ended. */
void job_kill(struct job *job);
/* Kills the job, and takes its owner away. */
void job_abandon(struct job *job);
/* Closes the job's terminal and takes its owner away: the job gets SIGHUP. If the program is still
 * there after LIMIT_HANG_UP_MS, its whole tree is killed. Other processes that ignore the SIGHUP
 * live on. */
void job_hang_up(struct job *job);

#endif
