/* SPDX-License-Identifier: MIT */
/*
 * A job is one command from fork to its end. It handles processes, pipes, terminals and time. Its
 * owner decides where the output goes, and in what form. The states of a job:
 *
 *   STARTING  the child was forked; exec has neither succeeded nor failed yet
 *   HELD      the child has set up everything in its container, and waits for job_release()
 *   RUNNING   the program runs, its output is read, and its stdin is written
 *   DRAINING  the program has ended and was reaped; the rest of its output is read
 *   ENDED     the owner was told the end; the job is freed after the present round of the loop
 *
 * A child that the program has left behind may keep the pipes open. So after LIMIT_EXEC_DRAIN_MS a
 * job in the state DRAINING reads only the bytes that were in the pipes at the program's end.
 *
 * The owner is called only from the loop, never from a function of this header. So an owner may
 * call any function at any time. After job_abandon() the owner is not called any more.
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

/* The end of a job. */
struct job_end {
	/* 124: it timed out; 125 to 127: it never ran; 128+n: signal n has ended it; else the exit
	 * code of the program. */
	int exit_code;
	int signal; /* the signal that has ended the program; 0: none */
	bool timed_out;
	bool killed; /* a timeout or job_kill() has killed the command */
	int64_t elapsed_ms;
	int64_t started_ns, ended_ns; /* the times by the wall clock, in ns */
	char start_error[512];	      /* the reason why the program never ran; "": it ran */
};

/* Returns the end of a command that never ran. `why` becomes its start_error. */
struct job_end job_end_unstarted(const char *why);

struct job_owner {
	/* Called when the state HELD begins. NULL: the job is never held. */
	void (*held)(void *data);
	/* Called when exec has succeeded, unless job_is_running() was true at once. */
	void (*started)(void *data, pid_t pid);
	/* Returns the memory into which output may be put now, and sets *room to its length. NULL:
	 * the owner takes no output until job_resume(). */
	uint8_t *(*space)(void *data, enum job_stream stream, size_t *room);
	/* Called directly after space(), when `len` bytes were put into the memory that space()
	 * returned. */
	void (*output)(void *data, enum job_stream stream, size_t len);
	/* Called when job_write_stdin() did not take all bytes and may take more now, and also when
	 * the command has closed its stdin. */
	void (*stdin_room)(void *data);
	/* Called last, when all output was given. */
	void (*ended)(void *data, const struct job_end *end);
};

struct job_spec;
struct spawn_inside;
/* A receiver that is told about every command of a table, in addition to the command's owner. */
struct job_witness {
	/* Called at the start. `number` is the number of the command in this table, from 1. Returns
	 * true if ended() is to be called too. */
	bool (*began)(void *data, uint64_t number, const struct job_spec *spec);
	void (*ended)(void *data, uint64_t number, const struct job_end *end);
	void *data;
};

struct job_spec {
	const char *const *argv;
	const char *const *envp;
	const char *cwd; /* NULL: the home directory, or / */
	const struct user *user;
	bool stdin_open; /* the owner writes stdin; else it is /dev/null. Ignored for a terminal. */
	/* A descriptor above 2 that the program gets as stdin and stdout, with /dev/null as stderr;
	 * 0: none. */
	int connection;
	bool terminal;
	uint16_t rows, columns;
	uint64_t timeout_ms;	       /* 0: no bound */
	int program_fd;		       /* the file to execute instead of argv[0]; -1: none */
	bool may_block, traced;	       /* may_block and traced of spawn.h */
	const struct rlimits *rlimits; /* NULL: none asked for */
	/* The members below are for a command in a container; otherwise they are 0. */
	const struct spawn_inside *inside; /* used during job_start() */
	struct cgroup_tree *cgroups;	   /* used instead of the table's tree */
	const struct cgroup *cgroup;	   /* used instead of a cgroup of a tree */
	/* Called after `ended`, when the job does not use these members any more. */
	void (*gone)(void *data);
	void *gone_data;
};

struct job;

/* All jobs of the agent. */
struct job_table {
	struct loop *loop;
	struct cgroup_tree cgroups;
	struct list live, dead;
	size_t count; /* the number of live jobs */
	struct list lingering;
	size_t nlingering;
	int null_fd;
	struct job_witness witness; /* all zero: there is no witness */
	uint64_t begun;		    /* the number of commands that were begun */
};

/* Sets up a table. `cgroup_mount` is "/sys/fs/cgroup". */
int job_table_init(struct job_table *table, struct loop *loop, const char *cgroup_mount,
		   struct error *err);
/* Sends SIGHUP to the jobs on terminals, whose shells ignore SIGTERM. */
void job_table_hang_up(struct job_table *table);
/* Sends SIGKILL to all processes of all commands. */
void job_table_kill(struct job_table *table);
/* Frees the jobs that have ended. Must be called between rounds of the loop. */
void job_table_sweep(struct job_table *table);
void job_table_free(struct job_table *table); /* kills the jobs that still live */

/* Starts a job. Returns NULL if the command could not even be forked. */
struct job *job_start(struct job_table *table, const struct job_spec *spec,
		      const struct job_owner *owner, void *data, struct error *err);
pid_t job_pid(const struct job *job);
bool job_is_running(const struct job *job);
/* Lets a job in the state HELD go on. */
void job_release(struct job *job);
/* Reads output again. Must be called when the owner's space() has room again. */
void job_resume(struct job *job);
/* Writes to the command's stdin. Returns how many bytes were taken; fewer than `len` mean that
 * stdin is full for now. If the command has closed its stdin, all bytes are taken and dropped. */
size_t job_write_stdin(struct job *job, const void *bytes, size_t len);
/* Closes stdin after all bytes that were taken have been written. A terminal gets its end-of-file
 * character. */
void job_close_stdin(struct job *job);
/* Sends a signal to the command's process group; if the command has a terminal, to the group in the
 * foreground; if it is in a container, only to the command's process. */
void job_signal(struct job *job, int signal);
void job_resize(struct job *job, uint16_t rows, uint16_t columns);
/* Kills all processes of the command at once. `ended` is called as for every job. Does nothing if
 * the job has ended. */
void job_kill(struct job *job);
/* Kills the job. Its owner is not called any more. */
void job_abandon(struct job *job);
/* Closes the job's terminal, which sends SIGHUP to the job. Its owner is not called any more. If
 * the program has not ended after LIMIT_HANG_UP_MS, all processes of the command are killed. If the
 * program has ended, other processes of the command that ignore the SIGHUP live on. */
void job_hang_up(struct job *job);

#endif
