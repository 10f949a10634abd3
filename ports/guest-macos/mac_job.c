/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/agent_wire.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/limits.h"
#include "guest-macos/mac_agent.h"

#define OUTPUT_CHUNK ((size_t)65536) /* the most bytes in a binary frame of output */

static struct mac_job *new_job(struct mac_conn *conn, struct mac_request *request)
{
	struct mac_job *job = calloc(1, sizeof(*job));
	size_t most = request->answer == MAC_COPYOUT ? limit_get(LIMIT_COPYOUT_BYTES)
						     : limit_get(LIMIT_EXEC_OUTPUT_BYTES);

	if (!job)
		return NULL;
	*job = (struct mac_job){.conn = conn,
				.answer = request->answer,
				.id = strdup(request->id ? request->id : ""),
				.number = request->number,
				.window = request->window,
				.in = -1,
				.outs = {-1, -1},
				.stdin_bytes = request->stdin_bytes,
				.stdin_closing = request->answer != MAC_STREAMED,
				.captured = {BUF_INIT(most), BUF_INIT(most)},
				.began_ns = clock_mono_ns(),
				.deadline_ns = MAC_NEVER,
				.drain_ns = MAC_NEVER};
	request->stdin_bytes = (struct buf){0};
	job->stdin_bytes.limit = 0;
	if (request->timeout_ms && request->timeout_ms < UINT64_MAX / NS_PER_MS / 2)
		job->deadline_ns = job->began_ns + request->timeout_ms * NS_PER_MS;
	if (!job->id) {
		buf_free(&job->stdin_bytes);
		free(job);
		return NULL;
	}
	job->next = conn->jobs;
	conn->jobs = job;
	return job;
}

static void close_end(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void mac_job_start(struct mac_conn *conn, struct mac_request *request)
{
	struct mac_job *job = new_job(conn, request);

	if (!job) {
		conn->broken = true;
		return;
	}
	if (request->problem[0]) {
		job->code = 125;
		snprintf(job->start_error, sizeof(job->start_error), "%s", request->problem);
	} else {
		mac_spawn(job, request, conn->agent->user);
	}
	if (job->start_error[0]) {
		close_end(&job->in);
		close_end(&job->outs[0]);
		close_end(&job->outs[1]);
		if (job->answer != MAC_STREAMED)
			buf_append(&job->captured[1], job->start_error, strlen(job->start_error),
				   NULL);
		job->exited = job->pid <= 0;
		job->ended_ns = clock_mono_ns();
	} else if (job->answer == MAC_STREAMED) {
		mac_conn_say(conn, mac_answer_start(job));
	}
}

struct mac_job *mac_job_find(const struct mac_conn *conn, uint64_t number)
{
	for (struct mac_job *job = conn->jobs; job; job = job->next)
		if (job->answer == MAC_STREAMED && job->number == number)
			return job;
	return NULL;
}

/* Kills the process group of a command. A process that has moved to another group is not killed,
 * since POSIX cannot find it. Before the child has called setsid(), the group does not exist, and
 * only the process is killed. */
static bool kill_whole_group(pid_t pid)
{
	return kill(-pid, SIGKILL) == 0 || kill(pid, SIGKILL) == 0;
}

void mac_job_kill(struct mac_job *job)
{
	if (job->pid > 0 && !job->exited && kill_whole_group(job->pid))
		job->killed = true;
}

void mac_job_free(struct mac_job *job)
{
	if (job->pid > 0 && !job->exited) {
		kill_whole_group(job->pid);
		waitpid(job->pid, NULL, 0);
	}
	close_end(&job->in);
	close_end(&job->outs[0]);
	close_end(&job->outs[1]);
	buf_free(&job->stdin_bytes);
	buf_free(&job->captured[0]);
	buf_free(&job->captured[1]);
	free(job->id);
	free(job);
}

/* --- streams --------------------------------------------------------------------------------- */

static void tell_taken(struct mac_job *job)
{
	if (!job->window || job->taken - job->told < limit_get(LIMIT_STDIN_ACK_BYTES))
		return;
	job->told = job->taken;
	mac_conn_say(job->conn, mac_answer_ack(job));
}

/* Writes stdin to the command. If the command has closed its stdin, the remaining bytes are dropped
 * and count as read. Otherwise the client would wait for ever. */
void mac_job_input(struct mac_job *job)
{
	while (job->in >= 0 && job->stdin_bytes.len > 0) {
		ssize_t n = write(job->in, buf_bytes(&job->stdin_bytes), job->stdin_bytes.len);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		if (n < 0) {
			close_end(&job->in);
			break;
		}
		job->taken += (size_t)n;
		buf_consume(&job->stdin_bytes, (size_t)n);
	}
	if (job->in < 0) {
		job->taken += job->stdin_bytes.len;
		buf_consume(&job->stdin_bytes, job->stdin_bytes.len);
	}
	if (job->stdin_closing && job->stdin_bytes.len == 0)
		close_end(&job->in);
	tell_taken(job);
}

static void keep_output(struct mac_job *job, int stream, const uint8_t *bytes, size_t len)
{
	struct buf *to = &job->captured[stream];
	size_t room = to->limit - to->len;

	if (len > room) {
		job->truncated[stream] = true;
		len = room;
	}
	if (len > 0 && buf_append(to, bytes, len, NULL) < 0)
		job->truncated[stream] = true;
}

static void send_output(struct mac_job *job, int stream, const uint8_t *bytes, size_t len)
{
	uint8_t front[AGENT_DATA_FRONT];
	struct buf *out = &job->conn->out;

	agent_data_front(front, stream == 0 ? AGENT_FRAME_STDOUT : AGENT_FRAME_STDERR, job->number,
			 len);
	if (buf_append(out, front, sizeof(front), NULL) < 0 ||
	    buf_append(out, bytes, len, NULL) < 0)
		job->conn->broken = true;
}

void mac_job_output(struct mac_job *job, int stream)
{
	static uint8_t chunk[OUTPUT_CHUNK];
	ssize_t n = read(job->outs[stream], chunk, sizeof(chunk));

	if (n > 0 && job->answer == MAC_STREAMED)
		send_output(job, stream, chunk, (size_t)n);
	else if (n > 0)
		keep_output(job, stream, chunk, (size_t)n);
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		close_end(&job->outs[stream]);
}

/* --- the end --------------------------------------------------------------------------------- */

static void reap(struct mac_job *job, uint64_t now_ns)
{
	if (job->pid <= 0 || job->exited || waitpid(job->pid, &job->status, WNOHANG) != job->pid)
		return;
	job->exited = true;
	if (job->start_error[0])
		return;
	job->ended_ns = now_ns;
	close_end(&job->in);
	mac_job_input(job);
	/* Reads the pipes only for some more time. The pipes may still contain output of the
	 * command, but a child in the background may keep them open for ever. */
	job->drain_ns = now_ns + limit_get(LIMIT_EXEC_DRAIN_MS) * NS_PER_MS;
}

bool mac_job_look(struct mac_job *job, uint64_t now_ns)
{
	if (!job->exited && now_ns >= job->deadline_ns) {
		mac_job_kill(job);
		job->timed_out = job->killed;
		job->deadline_ns = MAC_NEVER;
	}
	reap(job, now_ns);
	if (!job->exited)
		return false;
	if ((job->outs[0] >= 0 || job->outs[1] >= 0) && now_ns < job->drain_ns)
		return false;
	mac_conn_say(job->conn, mac_answer_end(job));
	return true;
}

uint64_t mac_job_deadline(const struct mac_job *job)
{
	return job->exited ? job->drain_ns : job->deadline_ns;
}
