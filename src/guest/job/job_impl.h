/* SPDX-License-Identifier: MIT */
/* The declarations that job.c (start and end of jobs) and job_io.c (their pipes) share. Each of
 * these files calls the other: the last read of a pipe may end the job, and the end of the program
 * limits what is still read. */
#ifndef GUEST_JOB_IMPL_H
#define GUEST_JOB_IMPL_H

#include "base/proc.h"
#include "guest/job/job.h"

enum job_state { JOB_STARTING, JOB_HELD, JOB_RUNNING, JOB_DRAINING, JOB_ENDED };

struct job_pipe {
	int fd; /* the agent's end of the pipe; -1: the pipe has ended */
	struct loop_watch *watch;
	bool paused; /* the agent does not read, since the owner had no room for output */
	/* How many bytes were in the pipe when the program exited, and were not read yet. Used in
	 * the state DRAINING. */
	size_t owed;
};

struct job {
	struct job_table *table;
	struct list_link link;
	enum job_state state;
	const struct job_owner *owner; /* the owner's functions; NULL: the job was abandoned */
	void *data;

	struct proc proc;
	struct cgroup cgroup;
	struct cgroup_tree
		*cgroups; /* the cgroup's tree; NULL: the job_spec has the cgroup itself */
	pid_t session;	  /* the command's pid, which is also its POSIX session id */
	struct loop_watch *exit_watch, *timeout, *drain_timer;
	int status_fd;
	struct loop_watch *status_watch;
	bool drain_over;
	bool inside;   /* the command runs in a container */
	bool released; /* job_release() was called for this job */
	void (*gone)(void *data);
	void *gone_data;

	struct job_pipe out[JOB_STREAMS];
	/* The agent's copies of the child's ends of the pipes or of the terminal. These copies stay
	 * open until the program has exited. Otherwise the agent would get a useless event each
	 * time that the program closes such an end. On one processor each event would cost two
	 * switches between processes. */
	int held[JOB_STREAMS];
	/* The command has a terminal. out[JOB_STDOUT].fd is then the terminal's master, and
	 * stdin_fd is a duplicate of the master. */
	bool terminal;
	int stdin_fd; /* the agent's end of stdin; -1: there is none, or it was closed */
	struct loop_watch *stdin_watch;

	char *program, *cwd; /* copies of the names of program and directory, for messages */
	struct user user;
	bool has_user;
	/* The job's number for the table's observer. 0: the observer wants no call when the job
	 * ends. */
	uint64_t witnessed;
	uint64_t began_ns; /* the time of the start by the monotonic clock, in ns */
	struct job_end end;
};

/* The child's ends of the streams. The agent closes or keeps its copies of them when the child was
 * started. */
struct child_ends {
	int fds[3]; /* what spawn_spec.fds gets; fds[0] may be the table's /dev/null */
	int own[3]; /* those of `fds` that the agent must close; -1: none */
};

/* The functions of job_io.c are declared below. */
/* Opens the streams of a command that will be started. Returns -1 with err set on failure. */
int job_io_open(struct job *job, const struct job_spec *spec, struct child_ends *ends,
		struct error *err);
/* Closes the child's ends of the streams, or keeps them in job->held. Called when the child was
 * started, or when it could not be started. */
void job_io_hold(struct job *job, struct child_ends *ends);
/* Starts to read output when the job enters the state RUNNING. Returns -1 with err set on
 * failure. */
int job_io_start(struct job *job, struct error *err);
/* Reads the output that is in the pipe, and gives it to the owner. */
void job_io_read(struct job *job, enum job_stream stream);
/* Returns true if all output was read, so that the owner's function ended() may be called. */
bool job_io_finished(const struct job *job);
/* Counts how many bytes are in the pipes. Called when the program has exited. */
void job_io_program_ended(struct job *job);
void job_io_release(struct job *job); /* closes the agent's copies in job->held */
void job_io_close(struct job *job);

/* The functions of job.c are declared below. */
void job_check_end(struct job *job);
/* If the job waits only for bytes that pipe.owed counts, sets a timer that checks whether the job
 * has ended. The timer is needed because there is no event when a terminal becomes empty. */
void job_look_again(struct job *job);

#endif
