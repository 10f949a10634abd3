/* SPDX-License-Identifier: MIT */
/*
 * The agent of macOS guests. The agent supports the part of docs/agent-protocol.md that seed
 * systems and `microagent session exec` need: envelopes (exec, copyout), frames (buffered requests
 * and streaming mode), and the control stream. The agent refuses the other requests: write, list,
 * stat, pty, files, resumable execs, limits and workloads. The message of the refusal names the
 * kind of the request.
 *
 * The agent is one process that waits in poll(2). The agent does not share code with src/guest,
 * which uses functions of Linux everywhere (cgroups, pidfds, epoll). This code was written without
 * a Mac. So all of the agent's code except the functions of mac_system.h uses only POSIX, and is
 * compiled both for macOS and for Linux. tests/unit/test_guest_macos_*.c run this code on Linux.
 * The files in darwin/ were compiled for macOS, but have never run on a Mac.
 *
 * Each command runs in a new POSIX session. After a timeout, a cancel or the loss of the client,
 * the agent kills the command's process group. A process that has left the group is not killed.
 * (The agent of Linux guests kills such a process through its cgroup.)
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

#define MAC_STREAMS 2 /* the output streams: stdout and stderr */
#define MAC_CONNECTIONS 64
#define MAC_ID_BYTES 1024
#define MAC_NEVER UINT64_MAX

/* The user whose rights a command has. */
struct mac_user {
	uid_t uid;
	gid_t gid;
	char name[64], home[256], shell[256];
};

enum mac_answer { MAC_ENVELOPE, MAC_COPYOUT, MAC_BUFFERED, MAC_STREAMED };

/* A request. The strings belong to `doc`. */
struct mac_request {
	json_t *doc;
	enum mac_answer answer;
	/* The reason why the command cannot be started, for the answer. "" if the command can be
	 * started. */
	char problem[300];
	const char *id, *path, *cwd, *user;
	uint64_t number, timeout_ms;
	const char **argv; /* the command's words; ends with a NULL; freed with the request */
	/* A JSON object of the command's environment variables, whose values are strings. NULL:
	 * none. */
	json_t *env;
	struct buf stdin_bytes;
	bool stdin_open, window;
};

/* A command and its state. */
struct mac_job {
	struct mac_job *next;
	struct mac_conn *conn;
	enum mac_answer answer;
	char *id;
	uint64_t number;
	pid_t pid;
	bool exited, killed, timed_out;
	int status; /* the status of waitpid() */
	int code;   /* the exit code that is reported if the command was never started */
	/* The reason why the command was never started. "" if the command was started. */
	char start_error[300];
	int in, outs[MAC_STREAMS]; /* the agent's ends of the command's pipes; -1: closed */
	struct buf stdin_bytes;
	bool stdin_closing, window;
	/* taken: how many bytes of stdin the command has read. told: the value of `taken` that was
	 * last sent to the client. */
	uint64_t taken, told;
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
	uint64_t idle_ns; /* the time of the last use of the connection, by clock_mono_ns() */
	bool in_ended;	  /* true: the client has shut down its sending side */
	/* true: a streaming request has come, so the connection stays open until the client closes
	 * it */
	bool streaming;
	bool asked;   /* true: a buffered request has come, which is answered at its end */
	bool closing; /* true: the connection closes when all output is sent */
	bool broken;  /* true: the connection must be closed at once */
};

struct mac_agent {
	int listen_fd; /* the listening socket for AGENT_PORT; -1: none */
	int children;  /* a file descriptor that becomes readable when a child has exited */
	struct mac_conn *conns;
	size_t conn_count;
	const char *user;	     /* the user of commands that name no user */
	struct mac_control *control; /* the control stream to the host; NULL: none */
	/* Returns true if the client of a connection is the host. NULL: every client is
	 * accepted. */
	bool (*admits)(int fd);
};

/* --- mac_agent.c ----------------------------------------------------------------------------- */

int mac_agent_open(struct mac_agent *agent, struct error *err);
/* Adds a connection with the socket `fd`, and takes ownership of `fd`. Closes `fd` if there are too
 * many connections or no memory. */
void mac_agent_add(struct mac_agent *agent, int fd);
/* Waits once for events, at most until the next deadline, and handles them. Returns 0, or -1 with
 * err set. */
int mac_agent_turn(struct mac_agent *agent, struct error *err);
void mac_agent_close(struct mac_agent *agent);

/* --- mac_conn.c ------------------------------------------------------------------------------ */

struct mac_conn *mac_conn_new(struct mac_agent *agent, int fd);
void mac_conn_free(struct mac_conn *conn); /* frees the connection and kills its commands */
void mac_conn_read(struct mac_conn *conn);
void mac_conn_write(struct mac_conn *conn);
/* Handles the input that has come. Returns when the connection must wait for more input or for a
 * command. */
void mac_conn_go_on(struct mac_conn *conn);
bool mac_conn_wants_input(const struct mac_conn *conn);
/* Returns true if the connection must be closed. A connection must be closed if it is broken, if
 * all its requests are answered, or if it was idle for LIMIT_AGENT_IDLE_MS milliseconds. */
bool mac_conn_is_over(const struct mac_conn *conn);
/* Sends a message. Takes ownership of the reference `message`. NULL means that there was no memory
 * for the message, and the connection is then closed at once. */
void mac_conn_say(struct mac_conn *conn, json_t *message);
/* Sends the client an error, because it has broken the protocol, and then closes the connection.
 * `number` is the number of the wrong request, or 0 if the error is about no request. */
void mac_conn_refuse(struct mac_conn *conn, uint64_t number, const char *why);

/* --- mac_request.c --------------------------------------------------------------------------- */

/* Decodes an envelope {"op","payload"}. Returns 1 with *out set. Returns 0 for an unknown op, with
 * *refusal set to the answer, which the caller releases. Returns -1 with err set if the envelope
 * breaks the protocol. */
int mac_request_envelope(const void *text, size_t len, struct mac_request *out, json_t **refusal,
			 struct error *err);
/* Decodes a frame that is a request and not an event. *out gets its own reference to `doc`. */
int mac_request_frame(json_t *doc, struct mac_request *out, struct error *err);
void mac_request_free(struct mac_request *request);
/* Returns the length in bytes of the first complete JSON value with the white space before it.
 * Returns 0 if more bytes are needed. */
size_t mac_envelope_length(const uint8_t *bytes, size_t len);

/* --- mac_stream.c ---------------------------------------------------------------------------- */

/* Handles the payload of one frame. */
void mac_stream_frame(struct mac_conn *conn, const uint8_t *payload, size_t len);

/* --- mac_job.c ------------------------------------------------------------------------------- */

/* Starts a command. If the command cannot be started, the client gets an answer with the reason. */
void mac_job_start(struct mac_conn *conn, struct mac_request *request);
struct mac_job *mac_job_find(const struct mac_conn *conn, uint64_t number);
void mac_job_kill(struct mac_job *job);
void mac_job_input(struct mac_job *job);
void mac_job_output(struct mac_job *job, int stream);
/* Kills the command if its deadline has passed. If the command has exited and all its output was
 * read, sends the answer and returns true. */
bool mac_job_look(struct mac_job *job, uint64_t now_ns);
uint64_t mac_job_deadline(const struct mac_job *job);
void mac_job_free(struct mac_job *job); /* frees the command, and kills it if it still runs */

/* --- mac_spawn.c ----------------------------------------------------------------------------- */

/* Starts the command's process. Sets job->pid, job->in and job->outs. On failure sets
 * job->start_error and job->code. */
void mac_spawn(struct mac_job *job, const struct mac_request *request, const char *default_user);
/* Finds a user. Fails if the user does not exist, or if this process may not change to this user.
 * The command is then answered with the exit code 125. */
int mac_user_find(const char *name, struct mac_user *out, struct error *err);
/* Makes the file descriptor close-on-exec and non-blocking. */
int mac_set_flags(int fd);

/* --- mac_answer.c ---------------------------------------------------------------------------- */

json_t *mac_answer_end(const struct mac_job *job);
json_t *mac_answer_start(const struct mac_job *job);
json_t *mac_answer_ack(const struct mac_job *job);
json_t *mac_answer_error(uint64_t number, const char *text);
json_t *mac_answer_detached(uint64_t number, const char *code, const char *text);

/* --- mac_control.c --------------------------------------------------------------------------- */

/* Starts the control stream on `fd`, which is connected to the host's control port. Takes ownership
 * of `fd`. Returns NULL if there is no memory. */
struct mac_control *mac_control_new(int fd, const char *boot_id);
/* Returns the file descriptor of the stream, or -1 if the stream has ended. */
int mac_control_fd(const struct mac_control *control);
short mac_control_events(const struct mac_control *control);
void mac_control_turn(struct mac_control *control, short events);
void mac_control_free(struct mac_control *control);

#endif
