/* SPDX-License-Identifier: MIT */
/*
 * The agent of macOS guests. It speaks docs/agent-protocol.md as far as seed systems and
 * `microagent session exec` need it: envelopes (exec, copyout), frames (buffered requests and
 * streaming mode), and the control stream. What it has not (write, list, stat, pty, files,
 * resumable execs, limits, workloads) it refuses by name.
 *
 * One process and one poll(2): src/guest is Linux through and through (cgroups, pidfds, epoll), and
 * of a Mac nothing can be run where this is written. So all but mac_system.h is plain POSIX, and
 * the very code that is compiled for macOS is run on Linux by tests/unit/test_guest_macos_*.c.
 * darwin/ is compiled for macOS here, and has never run on a Mac.
 *
 * A command is a session of its own: its process group is what a timeout, a cancel and the loss of
 * the client kill. A process that has left the group gets away, which a cgroup would have stopped.
 */
#ifndef MAC_AGENT_H
#define MAC_AGENT_H

#include <jansson.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"

#define MAC_STREAMS 2 /* stdout, stderr */
#define MAC_CONNECTIONS 64
#define MAC_ID_BYTES 1024
#define MAC_NEVER UINT64_MAX

/* Whom commands are run as. */
struct mac_user {
	uid_t uid;
	gid_t gid;
	char name[64], home[256], shell[256];
};

enum mac_answer { MAC_ENVELOPE, MAC_COPYOUT, MAC_BUFFERED, MAC_STREAMED };

/* What is asked for. Strings are borrowed from doc. */
struct mac_request {
	json_t *doc;
	enum mac_answer answer;
	char problem[300]; /* "": none; else it is answered as one that could not be started */
	const char *id, *path, *cwd, *user;
	uint64_t number, timeout_ms;
	const char **argv; /* NULL-terminated, malloc'd */
	json_t *env;	   /* strings, or NULL */
	struct buf stdin_bytes;
	bool stdin_open, window;
};

/* A command. */
struct mac_job {
	struct mac_job *next;
	struct mac_conn *conn;
	enum mac_answer answer;
	char *id;
	uint64_t number;
	pid_t pid;
	bool exited, killed, timed_out;
	int status;		   /* of waitpid() */
	int code;		   /* where it was never started */
	char start_error[300];	   /* "": it was */
	int in, outs[MAC_STREAMS]; /* our ends; -1: closed */
	struct buf stdin_bytes;
	bool stdin_closing, window;
	uint64_t taken, told; /* bytes of stdin: with the command, acknowledged */
	struct buf captured[MAC_STREAMS];
	bool truncated[MAC_STREAMS];
	uint64_t began_ns, ended_ns, deadline_ns, drain_ns;
};

enum mac_form { MAC_FORM_NONE, MAC_FORM_ENVELOPE, MAC_FORM_FRAME };

struct mac_conn {
	struct mac_conn *next;
	struct mac_agent *agent;
	int fd;
	enum mac_form form;
	struct buf in, out;
	struct mac_job *jobs;
	uint64_t idle_ns; /* when it was last of use */
	bool in_ended;	  /* the client sends no more */
	bool streaming;	  /* until the client ends it */
	bool asked;	  /* a buffered request came */
	bool closing;	  /* when all is written */
	bool broken;	  /* at once */
};

struct mac_agent {
	int listen_fd; /* -1: none */
	int children;  /* readable when a child has ended */
	struct mac_conn *conns;
	size_t conn_count;
	const char *user;	     /* the name that commands run as where none is asked for */
	struct mac_control *control; /* NULL: none */
	bool (*admits)(int fd);	     /* whether a peer is the host */
};

/* --- mac_agent.c ----------------------------------------------------------------------------- */

int mac_agent_open(struct mac_agent *agent, struct error *err);
/* Takes the descriptor, whatever comes of it. */
void mac_agent_add(struct mac_agent *agent, int fd);
/* Waits once and does what there is to do; at most until the deadline. */
int mac_agent_turn(struct mac_agent *agent, struct error *err);
void mac_agent_close(struct mac_agent *agent);

/* --- mac_conn.c ------------------------------------------------------------------------------ */

struct mac_conn *mac_conn_new(struct mac_agent *agent, int fd);
void mac_conn_free(struct mac_conn *conn); /* kills its commands */
void mac_conn_read(struct mac_conn *conn);
void mac_conn_write(struct mac_conn *conn);
/* Works through what has come in, as far as it may be now. */
void mac_conn_go_on(struct mac_conn *conn);
bool mac_conn_wants_input(const struct mac_conn *conn);
/* No more to be said or done. */
bool mac_conn_is_over(const struct mac_conn *conn);
void mac_conn_say(struct mac_conn *conn,
		  json_t *message); /* a reference is taken over; NULL breaks */
/* The client broke the protocol. number 0: none. */
void mac_conn_refuse(struct mac_conn *conn, uint64_t number, const char *why);

/* --- mac_request.c --------------------------------------------------------------------------- */

/* An envelope {"op","payload"}: 1: *out; 0: an op that is not known here, *refusal its answer. */
int mac_request_envelope(const void *text, size_t len, struct mac_request *out, json_t **refusal,
			 struct error *err);
/* A frame that is no event. Takes its own reference to doc. */
int mac_request_frame(json_t *doc, struct mac_request *out, struct error *err);
void mac_request_free(struct mac_request *request);
/* The length of the first whole JSON value, with the white space before it; 0: more is needed. */
size_t mac_envelope_length(const uint8_t *bytes, size_t len);

/* --- mac_stream.c ---------------------------------------------------------------------------- */

/* A frame of the frame form. */
void mac_stream_frame(struct mac_conn *conn, const uint8_t *payload, size_t len);

/* --- mac_job.c ------------------------------------------------------------------------------- */

/* Starts it, or says why not: its answer comes in any case. */
void mac_job_start(struct mac_conn *conn, struct mac_request *request);
struct mac_job *mac_job_find(const struct mac_conn *conn, uint64_t number);
void mac_job_kill(struct mac_job *job);
void mac_job_input(struct mac_job *job);
void mac_job_output(struct mac_job *job, int stream);
/* Looks whether it has ended, was late, and has told all. True: it is over, and answered. */
bool mac_job_look(struct mac_job *job, uint64_t now_ns);
uint64_t mac_job_deadline(const struct mac_job *job);
void mac_job_free(struct mac_job *job); /* kills it */

/* --- mac_spawn.c ----------------------------------------------------------------------------- */

/* Sets pid, in and outs, or start_error and code. */
void mac_spawn(struct mac_job *job, const struct mac_request *request, const char *default_user);
/* Fails (125) for one that is not there, or that we have no right to become. */
int mac_user_find(const char *name, struct mac_user *out, struct error *err);
/* Close-on-exec and not blocking. */
int mac_set_flags(int fd);

/* --- mac_answer.c ---------------------------------------------------------------------------- */

json_t *mac_answer_end(const struct mac_job *job);
json_t *mac_answer_start(const struct mac_job *job);
json_t *mac_answer_ack(const struct mac_job *job);
json_t *mac_answer_error(uint64_t number, const char *text);
json_t *mac_answer_detached(uint64_t number, const char *code, const char *text);

/* --- mac_control.c --------------------------------------------------------------------------- */

/* On a connection to the host's control port, which it takes over. NULL without memory. */
struct mac_control *mac_control_new(int fd, const char *boot_id);
int mac_control_fd(const struct mac_control *control); /* -1: it has ended */
short mac_control_events(const struct mac_control *control);
void mac_control_turn(struct mac_control *control, short events);
void mac_control_free(struct mac_control *control);

#endif
