/* SPDX-License-Identifier: MIT */
/* The parts that job.c (start and end) and job_io.c (pipes) share. The two files need each other:
 * to read a pipe may end the job, and after the end of a job only certain bytes are still read. */
#ifndef GUEST_JOB_IMPL_H
#define GUEST_JOB_IMPL_H

#include "base/proc.h"
#include "guest/job/job.h"

enum job_state { JOB_STARTING, JOB_HELD, JOB_RUNNING, JOB_DRAINING, JOB_ENDED };

struct job_pipe {
	int fd; /* -1: the pipe has ended */
	struct loop_watch *watch;
	bool paused; /* the owner had no room */
	/* In the state DRAINING: how many of the bytes that were in the pipe at the program's end
	 * are unread. */
	size_t owed;
};

struct job {
	struct job_table *table;
	struct list_link link;
	enum job_state state;
	const struct job_owner *owner; /* NULL: the job was abandoned */
	void *data;

	struct proc proc;
	struct cgroup cgroup;
	struct cgroup_tree
		*cgroups; /* the tree of the cgroup; NULL: the spec has given the cgroup */
	pid_t session;	  /* the session's id, which is the command's pid */
	struct loop_watch *exit_watch, *timeout, *drain_timer;
	int status_fd;
	struct loop_watch *status_watch;
	bool drain_over;
	bool inside;   /* the command runs in a container */
	bool released; /* job_release() was called */
	void (*gone)(void *data);
	void *gone_data;

	struct job_pipe out[JOB_STREAMS];
	/* The agent's copies of the child's ends of the pipes, or of the terminal, which are open
	 * until the program has ended. Without them each close by the program would give the agent
	 * an event, and on one processor two switches between processes, without use. */
	int held[JOB_STREAMS];
	bool terminal; /* out[JOB_STDOUT].fd is the terminal's master, stdin_fd a duplicate */
	int stdin_fd;  /* -1: none, or closed */
	struct loop_watch *stdin_watch;

	char *program, *cwd; /* the program and directory, for messages */
	struct user user;
	bool has_user;
	uint64_t witnessed; /* the job's number for the witness; 0: the witness is not told its end
			     */
	uint64_t began_ns;  /* monotonic */
	struct job_end end;
};

/* The child's ends of the streams, which are closed when the child has them. */
struct child_ends {
	int fds[3]; /* the descriptors for the spec; fds[0] may be the table's /dev/null */
	int own[3]; /* the descriptors of fds that must be closed; -1: none */
};

/* Functions of job_io.c: */
/* Opens the streams of a command that is to be started. */
int job_io_open(struct job *job, const struct job_spec *spec, struct child_ends *ends,
		struct error *err);
/* Closes the child's ends, or keeps them in job->held. Called when the child has its ends, or could
 * not be started. */
void job_io_hold(struct job *job, struct child_ends *ends);
int job_io_start(struct job *job, struct error *err); /* at the beginning of RUNNING */
/* Reads all output that has come. */
void job_io_read(struct job *job, enum job_stream stream);
/* Returns true if all output was read, so that the owner may be told the end. */
bool job_io_finished(const struct job *job);
/* Notes how many bytes the pipes have at the program's end. */
void job_io_program_ended(struct job *job);
void job_io_release(struct job *job); /* closes the ends in job->held */
void job_io_close(struct job *job);

/* Functions of job.c: */
void job_check_end(struct job *job);
/* Checks the end again soon, if only owed bytes are still awaited: an empty terminal gives no
 * event. */
void job_look_again(struct job *job);

#endif
