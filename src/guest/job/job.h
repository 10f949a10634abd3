/* SPDX-License-Identifier: MIT */
/*
 * A job is one command, from the fork to the command's end. The code of jobs handles processes,
 * pipes, terminals and time limits. The owner of a job is the code that has started it, and decides
 * what is done with the output. The states of a job:
 *
 *   STARTING  the child was forked; exec has neither succeeded nor failed yet
 *   HELD      the child has set up everything in its container, and waits for job_release()
 *   RUNNING   the program runs, its output is read, and its stdin is written
 *   DRAINING  the program has ended and was reaped; output that is left in the pipes is read
 *   ENDED     the owner was told the end; the job is freed after this round of the loop
 *
 * A child of the program may still run after the program's end, and keep the pipes open. So after
 * LIMIT_EXEC_DRAIN_MS milliseconds, a job in the state DRAINING reads only the bytes that were in
 * the pipes when the program exited.
 *
 * The owner's functions (struct job_owner) are called only from the event loop, and never by a
 * function of this header. So an owner may call every function of this header at any time. After
 * job_abandon() the owner's functions are not called any more.
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

/* The result of a job that has ended. */
struct job_end {
	/* 124 if the command timed out, 125 to 127 if it never ran, 128+n if signal n has killed
	 * it. In all other cases the program's exit code. */
	int exit_code;
	int signal; /* the signal that has killed the program; 0: no signal has killed it */
	bool timed_out;
	bool killed; /* a timeout or job_kill() has killed the command */
	int64_t elapsed_ms;
	int64_t started_ns, ended_ns; /* times of start and end, in ns since 1970 */
	char start_error[512];	      /* why the program never ran; "": the program ran */
};

/* Returns the result of a command that never ran. `why` is the reason, and becomes the member
 * start_error. */
struct job_end job_end_unstarted(const char *why);

struct job_owner {
	/* Called when the job enters the state HELD. NULL if this job never has this state. */
	void (*held)(void *data);
	/* Called when the program has started to run. Not called if job_is_running() was already
	 * true when job_start() returned. */
	void (*started)(void *data, pid_t pid);
	/* Returns memory into which the job may read output now, and sets *room to its length in
	 * bytes. Returns NULL if the owner can take no output now. The owner must then call
	 * job_resume() later. */
	uint8_t *(*space)(void *data, enum job_stream stream, size_t *room);
	/* Called directly after space(), when the job has read `len` bytes of output into the
	 * memory from space(). */
	void (*output)(void *data, enum job_stream stream, size_t len);
	/* Called after job_write_stdin() did not take all bytes, when stdin has room again or the
	 * command has closed its stdin. The owner should then write the other bytes. */
	void (*stdin_room)(void *data);
	/* The last call of the owner's functions, after all output was passed to output(). */
	void (*ended)(void *data, const struct job_end *end);
};

struct job_spec;
struct spawn_inside;
/* An observer of all commands of a job table, whose functions are called in addition to those of
 * each command's owner. */
struct job_witness {
	/* Called when a command starts. `number` counts the commands of the table, from 1. Returns
	 * true if ended() must also be called for this command. */
	bool (*began)(void *data, uint64_t number, const struct job_spec *spec);
	void (*ended)(void *data, uint64_t number, const struct job_end *end);
	void *data;
};

struct job_spec {
	const char *const *argv;
	const char *const *envp;
	/* The working directory. NULL: the user's home directory, or "/" if that does not exist. */
	const char *cwd;
	const struct user *user;
	/* If true, the owner writes stdin. If false, stdin is /dev/null. Not used for a
	 * terminal. */
	bool stdin_open;
	/* A file descriptor above 2 that the program gets as stdin and stdout. The program's stderr
	 * is then /dev/null. 0: there is no such file descriptor. */
	int connection;
	bool terminal;
	uint16_t rows, columns;
	uint64_t timeout_ms; /* the command's time limit in milliseconds; 0: no limit */
	/* A file descriptor of the file that is executed instead of argv[0]. -1: argv[0] is
	 * executed. */
	int program_fd;
	/* See the members of the same names of struct spawn_spec in spawn.h. */
	bool may_block, traced;
	const struct rlimits *rlimits; /* the resource limits; NULL: the request has none */
	/* The members below are for a command in a container. For any other command these members
	 * are 0. */
	/* How the child enters the container; used only during job_start(). */
	const struct spawn_inside *inside;
	/* The tree from which the command gets its cgroup. NULL: the tree of the job table. */
	struct cgroup_tree *cgroups;
	/* The cgroup of the command. NULL: the command gets a cgroup from the tree. */
	const struct cgroup *cgroup;
	/* Called after the owner's ended(), when the job no longer uses `cgroups` and `cgroup`.
	 * NULL: nothing is called. */
	void (*gone)(void *data);
	void *gone_data;
};

struct job;

/* All jobs of the agent. */
struct job_table {
	struct loop *loop;
	struct cgroup_tree cgroups;
	struct list live, dead;
	size_t count; /* the number of jobs in the list `live` */
	struct list lingering;
	size_t nlingering;
	int null_fd;
	/* The observer of this table. If all members are 0, there is none. */
	struct job_witness witness;
	uint64_t begun; /* how many commands were started so far */
};

/* Sets up an empty table. `cgroup_mount` is "/sys/fs/cgroup". */
int job_table_init(struct job_table *table, struct loop *loop, const char *cgroup_mount,
		   struct error *err);
/* Sends SIGHUP to the jobs on terminals, because shells on terminals ignore SIGTERM. */
void job_table_hang_up(struct job_table *table);
/* Sends SIGKILL to all processes of all commands. */
void job_table_kill(struct job_table *table);
/* Frees the jobs that have ended. Must be called between two rounds of the event loop. */
void job_table_sweep(struct job_table *table);
void job_table_free(struct job_table *table); /* also kills the jobs that have not ended */

/* Starts a job. Returns NULL with err set if no process could be created for the command. If a
 * later step fails, the owner gets the reason by its function ended(). */
struct job *job_start(struct job_table *table, const struct job_spec *spec,
		      const struct job_owner *owner, void *data, struct error *err);
pid_t job_pid(const struct job *job);
bool job_is_running(const struct job *job);
/* Lets a job in the state HELD continue. */
void job_release(struct job *job);
/* Continues to read output after space() has returned NULL. Must be called when the owner can take
 * output again. */
void job_resume(struct job *job);
/* Writes to the command's stdin. Returns how many of the bytes were written. If fewer than `len`
 * bytes were written, stdin is full at present, and stdin_room() will be called. If the command has
 * closed its stdin, drops all bytes and returns `len`. */
size_t job_write_stdin(struct job *job, const void *bytes, size_t len);
/* Closes the command's stdin. The command still gets the bytes that job_write_stdin() has written.
 * A terminal is not closed, but gets its end-of-file character. */
void job_close_stdin(struct job *job);
/* Sends a signal to the command's process group. If the command has a terminal, sends it to the
 * process group in the foreground. If the command is in a container, sends it only to the command's
 * own process. */
void job_signal(struct job *job, int signal);
void job_resize(struct job *job, uint16_t rows, uint16_t columns);
/* Kills all processes of the command at once. The owner's function ended() is called as usual. Does
 * nothing if the job has ended. */
void job_kill(struct job *job);
/* Kills all processes of the command. The owner's functions are not called any more. */
void job_abandon(struct job *job);
/* Closes the job's terminal, so that the kernel sends SIGHUP. The owner's functions are not called
 * any more. If the program still runs after LIMIT_HANG_UP_MS milliseconds, all processes of the
 * command are killed. If the program has exited by then, processes of the command that ignore
 * SIGHUP continue to run. */
void job_hang_up(struct job *job);

#endif
