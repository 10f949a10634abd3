/* SPDX-License-Identifier: MIT */
/* The declarations that job.c (start and end) and job_io.c (pipes) share. Each of the two files
 * calls the other. To read a pipe may end the job, and after the end of the program only certain
 * bytes are still read. */
#ifndef GUEST_JOB_IMPL_H
#define GUEST_JOB_IMPL_H

#include "base/proc.h"
#include "guest/job/job.h"

enum job_state { JOB_STARTING, JOB_HELD, JOB_RUNNING, JOB_DRAINING, JOB_ENDED };

struct job_pipe {
	int fd; /* the agent's end of the pipe; -1: the pipe has ended */
	struct loop_watch *watch;
	bool paused; /* nothing is read, since the owner had no room */
	/* How many bytes were in the pipe at the program's end and were not read yet. Used in the
	 * state DRAINING. */
	size_t owed;
};

struct job {
	struct job_table *table;
	struct list_link link;
	enum job_state state;
	const struct job_owner *owner; /* the functions of the owner; NULL: the job was abandoned */
	void *data;

	struct proc proc;
	struct cgroup cgroup;
	struct cgroup_tree
		*cgroups; /* the tree of the cgroup; NULL: the cgroup was given in the job_spec */
	pid_t session;	  /* the session id, which is the pid of the command */
	struct loop_watch *exit_watch, *timeout, *drain_timer;
	int status_fd;
	struct loop_watch *status_watch;
	bool drain_over;
	bool inside;   /* the command runs in a container */
	bool released; /* job_release() was called for this job */
	void (*gone)(void *data);
	void *gone_data;

	struct job_pipe out[JOB_STREAMS];
	/* The agent's copies of the child's ends of the pipes or of the terminal. They are open
	 * until the program has ended. Without them the agent would get an event each time that the
	 * program closes one, which is of no use. On one processor each event would cost two
	 * switches between processes. */
	int held[JOB_STREAMS];
	/* The command has a terminal: out[JOB_STDOUT].fd is its master, and stdin_fd a duplicate of
	 * that. */
	bool terminal;
	int stdin_fd; /* the agent's end of stdin; -1: there is none, or it was closed */
	struct loop_watch *stdin_watch;

	char *program, *cwd; /* copies of the program's name and the directory, for messages */
	struct user user;
	bool has_user;
	/* The job's number for the witness; 0: the witness wants no call for its end. */
	uint64_t witnessed;
	uint64_t began_ns; /* the start by the monotonic clock, in ns */
	struct job_end end;
};

/* The child's ends of the streams. The agent closes or keeps them when the child has got them. */
struct child_ends {
	int fds[3]; /* the descriptors for spawn_spec.fds; fds[0] may be the table's /dev/null */
	int own[3]; /* those descriptors of fds that the agent must close; -1: none */
};

/* The functions of job_io.c are declared below. */
/* Opens the streams of a command that will be started. */
int job_io_open(struct job *job, const struct job_spec *spec, struct child_ends *ends,
		struct error *err);
/* Closes the child's ends of the streams, or keeps them in job->held. Called when the child has got
 * its ends, or could not be started. */
void job_io_hold(struct job *job, struct child_ends *ends);
/* Starts to read and write, when the state RUNNING begins. */
int job_io_start(struct job *job, struct error *err);
/* Reads output that has come, and gives it to the owner. */
void job_io_read(struct job *job, enum job_stream stream);
/* Returns true if all output was read, so that the owner may be told the job's end. */
bool job_io_finished(const struct job *job);
/* Counts the bytes that are in the pipes when the program has ended. */
void job_io_program_ended(struct job *job);
void job_io_release(struct job *job); /* closes the ends in job->held */
void job_io_close(struct job *job);

/* The functions of job.c are declared below. */
void job_check_end(struct job *job);
/* Checks soon whether the job has ended, if the job waits only for bytes that pipe.owed counts. A
 * terminal that becomes empty gives no event. */
void job_look_again(struct job *job);

#endif
