/* SPDX-License-Identifier: MIT */
#include "guest-macos/mac_agent.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/limits.h"

/* What an entry in the list for poll() belongs to. */
struct waited {
	struct mac_conn *conn; /* the connection; NULL: the entry is the agent's own */
	struct mac_job *job;   /* the command; NULL: the entry is the connection's own */
	int stream;	       /* the index of the command's output stream; -1: the stdin */
};

struct round {
	struct pollfd *fds;
	struct waited *of;
	size_t count, room;
};

static int children_pipe = -1;

static void on_child(int number)
{
	int saved = errno;

	(void)number;
	(void)!write(children_pipe, "", 1);
	errno = saved;
}

int mac_agent_open(struct mac_agent *agent, struct error *err)
{
	struct sigaction child = {.sa_handler = on_child, .sa_flags = SA_RESTART | SA_NOCLDSTOP};
	int ends[2];

	if (pipe(ends) < 0)
		return error_errno(err, errno, "pipe");
	agent->children = ends[0];
	children_pipe = ends[1];
	if (mac_set_flags(ends[0]) < 0 || mac_set_flags(ends[1]) < 0 ||
	    sigaction(SIGCHLD, &child, NULL) < 0 || signal(SIGPIPE, SIG_IGN) == SIG_ERR)
		return error_errno(err, errno, "signals");
	return 0;
}

void mac_agent_add(struct mac_agent *agent, int fd)
{
	struct mac_conn *conn;

	if (agent->conn_count >= MAC_CONNECTIONS || mac_set_flags(fd) < 0 ||
	    (agent->admits && !agent->admits(fd)) || !(conn = mac_conn_new(agent, fd))) {
		close(fd);
		return;
	}
	conn->next = agent->conns;
	agent->conns = conn;
	agent->conn_count++;
}

void mac_agent_close(struct mac_agent *agent)
{
	while (agent->conns) {
		struct mac_conn *conn = agent->conns;

		agent->conns = conn->next;
		mac_conn_free(conn);
	}
	mac_control_free(agent->control);
	signal(SIGCHLD, SIG_DFL);
	close(agent->children);
	close(children_pipe);
	if (agent->listen_fd >= 0)
		close(agent->listen_fd);
}

/* --- what is waited for ---------------------------------------------------------------------- */

/* Adds a file descriptor to the list for poll(). If there is no memory, the file descriptor is not
 * watched in this round of the loop. */
static void wait_for(struct round *r, int fd, short events, struct waited of)
{
	if (r->count == r->room) {
		size_t room = r->room ? 2 * r->room : 32;
		struct pollfd *fds = realloc(r->fds, room * sizeof(*fds));
		struct waited *ofs = fds ? realloc(r->of, room * sizeof(*ofs)) : NULL;

		r->fds = fds ? fds : r->fds;
		r->of = ofs ? ofs : r->of;
		if (!ofs)
			return;
		r->room = room;
	}
	r->fds[r->count] = (struct pollfd){.fd = fd, .events = events};
	r->of[r->count++] = of;
}

/* Adds the file descriptors of a command to the list for poll(). The output of the command is not
 * read while too many bytes wait to be sent to the client. */
static void wait_for_job(struct round *r, struct mac_job *job)
{
	bool may_say = job->answer != MAC_STREAMED ||
		       job->conn->out.len < limit_get(LIMIT_AGENT_QUEUE_BYTES);

	for (int i = 0; i < MAC_STREAMS; i++)
		if (job->outs[i] >= 0 && may_say)
			wait_for(r, job->outs[i], POLLIN, (struct waited){job->conn, job, i});
	if (job->in >= 0 && job->stdin_bytes.len > 0)
		wait_for(r, job->in, POLLOUT, (struct waited){job->conn, job, -1});
}

static void wait_for_conn(struct round *r, struct mac_conn *conn)
{
	short events =
		(short)((mac_conn_wants_input(conn) ? POLLIN : 0) | (conn->out.len ? POLLOUT : 0));

	/* If the client has shut down its sending side, adds the file descriptor without events. On
	 * Linux poll() then still reports that the client has closed the connection. On macOS
	 * poll() does not report this, so the command of a buffered request runs until its timeout
	 * even if the client has gone. */
	if (events || conn->in_ended)
		wait_for(r, conn->fd, events, (struct waited){.conn = conn});
	for (struct mac_job *job = conn->jobs; job; job = job->next)
		wait_for_job(r, job);
}

static uint64_t earliest(const struct mac_agent *agent)
{
	uint64_t next = MAC_NEVER;

	for (const struct mac_conn *conn = agent->conns; conn; conn = conn->next) {
		uint64_t idle = conn->idle_ns + limit_get(LIMIT_AGENT_IDLE_MS) * NS_PER_MS;

		if (!conn->jobs && !conn->streaming && idle < next)
			next = idle;
		for (const struct mac_job *job = conn->jobs; job; job = job->next)
			if (mac_job_deadline(job) < next)
				next = mac_job_deadline(job);
	}
	return next;
}

/* Returns the time until the next deadline in milliseconds. Rounds up, so that the deadline has
 * passed when poll() returns. */
static int mac_wait_ms(const struct mac_agent *agent)
{
	uint64_t next = earliest(agent), now = clock_mono_ns();

	if (next == MAC_NEVER)
		return -1;
	if (next <= now)
		return 0;
	return (int)((next - now) / NS_PER_MS < 60000 ? (next - now) / NS_PER_MS + 1 : 60000);
}

/* --- what is done ---------------------------------------------------------------------------- */

static void empty_pipe(int fd)
{
	char bytes[64];

	while (read(fd, bytes, sizeof(bytes)) > 0)
		;
}

static void accept_all(struct mac_agent *agent)
{
	int fd;

	while ((fd = accept(agent->listen_fd, NULL, NULL)) >= 0)
		mac_agent_add(agent, fd);
}

static void serve(struct mac_agent *agent, const struct pollfd *fd, const struct waited *of)
{
	if (!of->conn && fd->fd == agent->children)
		empty_pipe(fd->fd);
	else if (!of->conn && fd->fd == agent->listen_fd)
		accept_all(agent);
	else if (!of->conn)
		mac_control_turn(agent->control, fd->revents);
	else if (of->job && of->stream >= 0)
		mac_job_output(of->job, of->stream);
	else if (of->job)
		mac_job_input(of->job);
	else if (fd->revents & (POLLERR | POLLNVAL) ||
		 (of->conn->in_ended && fd->revents & POLLHUP))
		of->conn->broken = true;
	else if (fd->revents & (POLLIN | POLLHUP) && mac_conn_wants_input(of->conn))
		mac_conn_read(of->conn);
}

static void look_at_jobs(struct mac_conn *conn)
{
	uint64_t now = clock_mono_ns();

	for (struct mac_job **at = &conn->jobs; *at && !conn->broken;) {
		struct mac_job *job = *at;

		if (!mac_job_look(job, now)) {
			at = &job->next;
			continue;
		}
		*at = job->next;
		mac_job_free(job);
	}
}

/* Handles the input of a connection again and again, until nothing changes any more. After one
 * answer, the next request of the input may be handled, and may be answered at once. */
static void settle_conn(struct mac_conn *conn)
{
	do {
		mac_conn_go_on(conn);
		look_at_jobs(conn);
	} while (!conn->broken && !conn->closing && !conn->jobs &&
		 conn->form == MAC_FORM_ENVELOPE &&
		 mac_envelope_length(buf_bytes(&conn->in), conn->in.len) > 0);
	mac_conn_write(conn);
}

static void settle_all(struct mac_agent *agent)
{
	for (struct mac_conn **at = &agent->conns; *at;) {
		struct mac_conn *conn = *at;

		settle_conn(conn);
		if (!mac_conn_is_over(conn)) {
			at = &conn->next;
			continue;
		}
		*at = conn->next;
		mac_conn_free(conn);
		agent->conn_count--;
	}
}

int mac_agent_turn(struct mac_agent *agent, struct error *err)
{
	struct round r = {0};
	int control = agent->control ? mac_control_fd(agent->control) : -1, ready;

	wait_for(&r, agent->children, POLLIN, (struct waited){0});
	if (agent->listen_fd >= 0)
		wait_for(&r, agent->listen_fd, POLLIN, (struct waited){0});
	if (control >= 0)
		wait_for(&r, control, mac_control_events(agent->control), (struct waited){0});
	for (struct mac_conn *conn = agent->conns; conn; conn = conn->next)
		wait_for_conn(&r, conn);
	ready = poll(r.fds, (nfds_t)r.count, mac_wait_ms(agent));
	bool failed = ready < 0 && errno != EINTR;
	if (failed)
		error_errno(err, errno, "poll");
	for (size_t i = 0; ready > 0 && i < r.count; i++)
		if (r.fds[i].revents)
			serve(agent, &r.fds[i], &r.of[i]);
	settle_all(agent);
	free(r.fds);
	free(r.of);
	return failed ? -1 : 0;
}
