/* SPDX-License-Identifier: MIT */
/*
 * The agent's connections without its processes. The functions of job.h are replaced by commands
 * that do not exist: they produce output, take stdin in parts and end in a random order. The bytes
 * arrive over a real socket, so that all of framed, conn, call, request and answer is run.
 */
#ifndef FUZZ_AGENT_STANDIN_H
#define FUZZ_AGENT_STANDIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/frame.h"
#include "guest/agent/server.h"
#include "guest/job/spawn.h"

struct job {
	struct list_link link;
	struct job_table *table;
	const struct job_owner *owner;
	void *data;
	bool paused, stdin_open, stdin_full, killed;
	bool held;	/* that is still to be reported */
	unsigned turns; /* steps until the command ends */
	void (*gone)(void *data);
	void *gone_data;
};

static uint32_t chance_state;

static uint32_t chance(uint32_t below)
{
	chance_state = chance_state * 1664525 + 1013904223;
	return (chance_state >> 8) % below;
}

/* --- job.h ----------------------------------------------------------------------------------- */

int job_table_init(struct job_table *table, struct loop *loop, const char *cgroup_mount,
		   struct error *err)
{
	(void)cgroup_mount;
	(void)err;
	*table = (struct job_table){.loop = loop, .cgroups = CGROUP_TREE_NONE, .null_fd = -1};
	list_init(&table->live);
	list_init(&table->dead);
	return 0;
}

static void bury(struct job *job)
{
	list_remove(&job->link);
	list_add(&job->table->dead, &job->link);
	job->table->count--;
}

void job_table_sweep(struct job_table *table)
{
	struct job *job;

	list_each (job, &table->dead, link) {
		if (job->gone)
			job->gone(job->gone_data);
		free(job);
	}
	list_init(&table->dead);
}

void job_table_hang_up(struct job_table *table)
{
	(void)table;
}

void job_table_kill(struct job_table *table)
{
	struct job *job;

	list_each (job, &table->live, link)
		job->killed = true;
}

void job_table_free(struct job_table *table)
{
	struct job *job;

	list_each (job, &table->live, link)
		bury(job);
	job_table_sweep(table);
}

static void touch(const char *const *words)
{
	for (; *words; words++)
		if (strlen(*words) > FRAME_MAX)
			abort();
}

struct job *job_start(struct job_table *table, const struct job_spec *spec,
		      const struct job_owner *owner, void *data, struct error *err)
{
	struct job *job;

	touch(spec->argv);
	touch(spec->envp);
	if (!spec->argv[0] || (spec->terminal && (!spec->rows || !spec->columns)))
		abort();
	if (chance(8) == 0) {
		error_set(err, ERR_IO, "no process today");
		return NULL;
	}
	job = calloc(1, sizeof(*job));
	*job = (struct job){
		.table = table,
		.owner = owner,
		.data = data,
		.stdin_open = spec->stdin_open || spec->terminal,
		.turns = chance(6),
		.gone = spec->gone,
		.gone_data = spec->gone_data,
	};
	/* Not at once, as from the loop, since the caller must get the command first. */
	job->held = spec->inside && spec->inside->hold;
	list_add_first(&table->live, &job->link);
	table->count++;
	return job;
}

struct job_end job_end_unstarted(const char *why)
{
	struct job_end end = {.exit_code = 125};

	snprintf(end.start_error, sizeof(end.start_error), "%.500s", why);
	return end;
}

pid_t job_pid(const struct job *job)
{
	(void)job;
	return 77;
}

bool job_is_running(const struct job *job)
{
	return job->turns > 0;
}

void job_release(struct job *job)
{
	job->held = false;
}

void job_resume(struct job *job)
{
	job->paused = false;
}

size_t job_write_stdin(struct job *job, const void *bytes, size_t len)
{
	static uint8_t copy[FRAME_MAX];
	size_t taken = !job->stdin_open || chance(2) ? len : chance((uint32_t)len + 1);

	memcpy(copy, bytes, len);
	job->stdin_full = taken < len;
	return taken;
}

void job_close_stdin(struct job *job)
{
	job->stdin_open = false;
}

void job_signal(struct job *job, int signal)
{
	if (signal < 1 || signal > 64)
		abort();
	(void)job;
}

void job_resize(struct job *job, uint16_t rows, uint16_t columns)
{
	if (!rows || !columns)
		abort();
	(void)job;
}

void job_kill(struct job *job)
{
	job->killed = true;
}

void job_abandon(struct job *job)
{
	job->owner = NULL;
	job->killed = true;
}

void job_hang_up(struct job *job)
{
	job_abandon(job);
}

/* --- their lives ----------------------------------------------------------------------------- */

static void write_output(struct job *job)
{
	enum job_stream stream = chance(2) ? JOB_STDOUT : JOB_STDERR;
	size_t room = 0, len;
	uint8_t *space;

	if (job->held && job->owner && job->owner->held) {
		job->held = false;
		job->owner->held(job->data);
		return;
	}
	if (job->paused || !job->owner)
		return;
	space = job->owner->space(job->data, stream, &room);
	job->paused = !space;
	if (!space)
		return;
	len = 1 + chance(room < 70000 ? (uint32_t)room : 70000);
	memset(space, 'o', len);
	/* Records come only if they are expected. */
	for (size_t i = 0; i < len && i < 64; i++)
		space[i] = (uint8_t)(chance(2) ? 0 : chance(256));
	job->owner->output(job->data, stream, len);
}

static void end_job(struct job *job)
{
	struct job_end end = {.exit_code = (int)chance(256), .killed = job->killed};

	if (job->owner)
		job->owner->ended(job->data, &end);
	bury(job);
}

/* Makes one event of one command. Returns true if there was one. */
static bool live_on(struct job_table *table)
{
	uint32_t at = table->count ? chance((uint32_t)table->count) : 0;
	struct job *job;

	if (list_is_empty(&table->live))
		return false;
	list_each (job, &table->live, link)
		if (at-- == 0)
			break;
	if (job->killed || (job->turns == 0 && !job->paused)) {
		end_job(job);
	} else if (job->stdin_full && chance(2)) {
		job->stdin_full = false;
		if (job->owner)
			job->owner->stdin_room(job->data);
	} else {
		job->turns -= job->turns > 0;
		write_output(job);
	}
	return true;
}

/* --- the connection -------------------------------------------------------------------------- */

struct standin {
	struct loop *loop;
	struct server server;
	int client;
};

static void ignore_result(void *data, char *text)
{
	(void)data;
	free(text);
}

static void standin_begin(struct standin *s)
{
	int ends[2];

	s->loop = loop_new(NULL);
	if (!s->loop || server_init(&s->server, s->loop, "/nonexistent", "", 0, NULL) < 0 ||
	    fd_socketpair(ends, NULL) < 0 || fd_nonblock(ends[0], true, NULL) < 0 ||
	    server_adopt(&s->server, ends[1], NULL) < 0)
		abort();
	s->client = ends[0];
	s->server.workload.result = ignore_result;
}

static void turn(struct standin *s)
{
	static uint8_t answers[1 << 18];

	if (loop_once(s->loop, 0, NULL) < 0)
		abort();
	live_on(&s->server.context.jobs);
	if (s->client >= 0 && chance(3) && recv(s->client, answers, sizeof(answers), 0) < 0)
		return;
	server_sweep(&s->server);
}

/* Returns false if the agent has closed. */
static bool standin_feed(struct standin *s, const uint8_t *bytes, size_t len)
{
	const struct conn *conn;

	while (len > 0) {
		ssize_t n = send(s->client, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n > 0) {
			bytes += n;
			len -= (size_t)n;
		}
		turn(s);
		if (s->server.conns.count == 0)
			return false;
		/* A command whose stdin is full and that takes no more, so the agent need not
		 * read. */
		conn = list_first(&s->server.conns.live, struct conn, link);
		if (n < 0 && s->server.context.jobs.count == 0 && !conn->closing &&
		    conn->wire.out.len == 0 && !conn->wire.reading)
			abort();
		if (n < 0 && chance(16) == 0)
			return true;
	}
	return true;
}

static void standin_end(struct standin *s)
{
	if (chance(2))
		shutdown(s->client, SHUT_WR);
	for (int i = 0; i < 16; i++)
		turn(s);
	close(steal_fd(&s->client));
	for (int i = 0; i < 16; i++)
		turn(s);
	/* The commands of a lost client end, and with them everything of the connection. Commands
	 * that wait for the client to come back are given up here. */
	resumables_free(&s->server.resumables);
	for (int i = 0; i < 4096 && (s->server.conns.count || s->server.context.jobs.count); i++)
		turn(s);
	if (s->server.conns.count || s->server.context.jobs.count)
		abort();
	server_free(&s->server);
	loop_free(s->loop);
}

#endif
