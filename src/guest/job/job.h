/* SPDX-License-Identifier: MIT */
/*
 * A job is one command, from the fork to its end. The code of jobs handles processes, pipes,
 * terminals and time limits. The owner of a job decides where the output goes, and in what form.
 * The states of a job:
 *
 *   STARTING  the child was forked; exec has neither succeeded nor failed yet
 *   HELD      the child has set up everything in its container, and waits for job_release()
 *   RUNNING   the program runs, its output is read, and its stdin is written
 *   DRAINING  the program has ended and was reaped; output that is left in the pipes is read
 *   ENDED     the owner was told the end; the job is freed after this round of the loop
 *
 * A child that the program has left behind may keep the pipes open. So after LIMIT_EXEC_DRAIN_MS a
 * job in the state DRAINING reads only the bytes that were in the pipes at the program's end.
 *
 * The owner's functions are called only from the loop, and never by a function of this header. So
 * an owner may call every function of this header at any time. After job_abandon() the owner's
 * functions are not called any more.
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
	/* The exit code: 124 if the command timed out, 125 to 127 if it never ran, 128+n if signal
	 * n has ended it, else the program's exit code. */
	int exit_code;
	int signal; /* the number of the signal that has ended the program; 0: no signal has */
	bool timed_out;
	bool killed; /* a timeout or job_kill() has killed the command */
	int64_t elapsed_ms;
	int64_t started_ns, ended_ns; /* the start and the end by the wall clock, in ns */
	char start_error[512];	      /* the reason why the program never ran; "": it ran */
};

/* Returns the end of a command that never ran. `why` is the reason, and becomes its start_error. */
struct job_end job_end_unstarted(const char *why);

struct job_owner {
	/* Called when the state HELD begins. NULL: this job is never held. */
	void (*held)(void *data);
	/* Called when the program runs. Not called if job_is_running() was true directly after
	 * job_start(). */
	void (*started)(void *data, pid_t pid);
	/* Returns memory into which output may be put now, and sets *room to its length. NULL: the
	 * owner takes no output until it calls job_resume(). */
	uint8_t *(*space)(void *data, enum job_stream stream, size_t *room);
	/* Called directly after space(), when `len` bytes were put into the memory that space()
	 * returned. */
	void (*output)(void *data, enum job_stream stream, size_t len);
	/* Called when the owner should go on writing stdin: after job_write_stdin() did not take
	 * all bytes, when stdin has room again or the command has closed it. */
	void (*stdin_room)(void *data);
	/* Called last, after all output was given to the owner. */
	void (*ended)(void *data, const struct job_end *end);
};

struct job_spec;
struct spawn_inside;
/* The witness is told about every command of a table, in addition to the command's owner. */
struct job_witness {
	/* Called when a command starts. `number` is the number of the command in this table,
	 * counted from 1. Returns true if ended() must be called for this command too. */
	bool (*began)(void *data, uint64_t number, const struct job_spec *spec);
	void (*ended)(void *data, uint64_t number, const struct job_end *end);
	void *data;
};

struct job_spec {
	const char *const *argv;
	const char *const *envp;
	/* The working directory; NULL: the user's home directory, or "/" if there is none. */
	const char *cwd;
	const struct user *user;
	/* The owner writes stdin; otherwise stdin is /dev/null. Not used for a terminal. */
	bool stdin_open;
	/* A descriptor that the program gets as stdin and stdout; its stderr is then /dev/null. It
	 * must be above 2. 0: there is no such descriptor. */
	int connection;
	bool terminal;
	uint16_t rows, columns;
	uint64_t timeout_ms; /* the time limit in milliseconds; 0: no limit */
	/* A descriptor of the file that is executed instead of argv[0]; -1: argv[0] is executed. */
	int program_fd;
	/* The members of these names in struct spawn_spec (spawn.h). */
	bool may_block, traced;
	const struct rlimits *rlimits; /* the resource limits; NULL: the request asks for none */
	/* The members below are for a command in a container. For any other command they are 0. */
	/* How the child enters the container; used only during job_start(). */
	const struct spawn_inside *inside;
	/* The tree that gives the command its cgroup, instead of the table's tree. */
	struct cgroup_tree *cgroups;
	/* The cgroup of the command, instead of one from a tree. */
	const struct cgroup *cgroup;
	/* Called after `ended`, when the job does not use the members above any more. */
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
	/* The witness of this table; all members are 0 if there is none. */
	struct job_witness witness;
	uint64_t begun; /* the number of commands that were started */
};

/* Sets up an empty table. `cgroup_mount` is "/sys/fs/cgroup". */
int job_table_init(struct job_table *table, struct loop *loop, const char *cgroup_mount,
		   struct error *err);
/* Sends SIGHUP to the jobs on terminals. Their shells ignore SIGTERM. */
void job_table_hang_up(struct job_table *table);
/* Sends SIGKILL to all processes of all commands. */
void job_table_kill(struct job_table *table);
/* Frees the jobs that have ended. Must be called between rounds of the loop. */
void job_table_sweep(struct job_table *table);
void job_table_free(struct job_table *table); /* kills the jobs that still live */

/* Starts a job. Returns NULL with an error if there was no process for the command. A later failure
 * is told to the owner as the job's end. */
struct job *job_start(struct job_table *table, const struct job_spec *spec,
		      const struct job_owner *owner, void *data, struct error *err);
pid_t job_pid(const struct job *job);
bool job_is_running(const struct job *job);
/* Lets a job continue that is in the state HELD. */
void job_release(struct job *job);
/* Goes on to read output. Must be called when the owner has room again, after space() has returned
 * NULL. */
void job_resume(struct job *job);
/* Writes to the command's stdin. Returns how many bytes were taken. If they are fewer than `len`,
 * stdin is full for now, and stdin_room() will be called. If the command has closed its stdin, all
 * bytes are taken and dropped. */
size_t job_write_stdin(struct job *job, const void *bytes, size_t len);
/* Closes stdin. The bytes that job_write_stdin() has taken still reach the command. A terminal gets
 * its end-of-file character instead. */
void job_close_stdin(struct job *job);
/* Sends a signal to the command's process group. If the command has a terminal, sends it to the
 * process group in the foreground. If the command is in a container, sends it only to the command's
 * own process. */
void job_signal(struct job *job, int signal);
void job_resize(struct job *job, uint16_t rows, uint16_t columns);
/* Kills all processes of the command at once. The owner is told the end as usual. Does nothing if
 * the job has ended. */
void job_kill(struct job *job);
/* Kills the job. The owner of the job is not called any more. */
void job_abandon(struct job *job);
/* Closes the job's terminal, so that the kernel sends SIGHUP. The owner is not called any more. If
 * the program has not ended after LIMIT_HANG_UP_MS, all processes of the command are killed. If the
 * program has ended by then, its other processes that ignore SIGHUP live on. */
void job_hang_up(struct job *job);

#endif
