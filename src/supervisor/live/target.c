/* SPDX-License-Identifier: MIT */
#include "supervisor/live/target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/proc.h"

/* The greatest length of getent's output, in bytes, which is enough for the addresses of any
 * host. */
#define ANSWER_MAX 16384u
#define READ_CHUNK 4096u

struct target {
	struct loop *loop;
	char *text, *host;
	uint16_t port;
	bool literal;
	struct addresses list;
	/* The time (monotonic, ns) of the last successful look-up of the name; 0: there was no
	 * successful look-up. */
	uint64_t resolved_ns;
	struct proc lookup; /* the process of the look-up that is in progress */
	struct loop_watch *answer, *late;
	int answer_fd;
	struct buf bytes;
	struct list waiting; /* the attempts that wait for the look-up */
};

struct target_attempt {
	struct target *target;
	struct list_link waiting; /* the entry in the target's list `waiting` */
	struct connecting *connecting;
	uint64_t deadline_ns;
	reached_fn *done;
	void *data;
};

/* --- attempts -------------------------------------------------------------------------------- */

static void finish_attempt(struct target_attempt *attempt, int fd, const struct error *why)
{
	reached_fn *done = attempt->done;
	void *data = attempt->data;
	struct error named = {0};

	if (fd < 0) {
		named = *why;
		error_prefix(&named, "%s", attempt->target->text);
	}
	free(attempt);
	done(data, fd, fd < 0 ? &named : NULL);
}

static void on_target_connected(void *data, int fd, const struct error *why)
{
	finish_attempt(data, fd, why);
}

static int begin_connecting(struct target_attempt *attempt, struct error *err)
{
	struct target *target = attempt->target;

	attempt->connecting = connecting_new(target->loop, &target->list, attempt->deadline_ns,
					     on_target_connected, attempt, err);
	return attempt->connecting ? 0 : -1;
}

void target_give_up(struct target_attempt *attempt)
{
	if (!attempt)
		return;
	list_remove(&attempt->waiting);
	connecting_free(attempt->connecting);
	free(attempt);
}

/* --- the look-up ----------------------------------------------------------------------------- */

static void end_lookup(struct target *target)
{
	loop_remove(steal_ptr(&target->answer));
	loop_remove(steal_ptr(&target->late));
	if (target->answer_fd >= 0)
		close(steal_fd(&target->answer_fd));
	proc_end(&target->lookup);
	buf_free(&target->bytes);
}

/* Reads the addresses in getent's lines "ADDRESS STREAM NAME". Ignores the lines for other kinds of
 * sockets, which repeat the addresses. */
static void read_getent(struct target *target)
{
	autofree char *text = strdup(buf_string(&target->bytes));
	char *lines = NULL;

	target->list.count = 0;
	for (char *line = text ? strtok_r(text, "\n", &lines) : NULL; line;
	     line = strtok_r(NULL, "\n", &lines)) {
		line[strcspn(line, " \t")] = '\0';
		addresses_add_text(&target->list, line, target->port);
	}
}

static void resolved(struct target *target, const struct error *why)
{
	struct target_attempt *attempt;

	end_lookup(target);
	target->resolved_ns = why ? 0 : clock_mono_ns();
	while ((attempt = list_first(&target->waiting, struct target_attempt, waiting))) {
		struct error err = {0};

		list_remove(&attempt->waiting);
		if (why || begin_connecting(attempt, &err) < 0)
			finish_attempt(attempt, -1, why ? why : &err);
	}
}

static void on_lookup_late(struct loop *loop, void *data)
{
	struct target *target = data;
	struct error err;

	(void)loop;
	target->late = NULL;
	error_set(&err, ERR_TIMEOUT,
		  "the name was not looked up in time: look at the name servers of this host");
	resolved(target, &err);
}

static void on_getent_output(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct target *target = data;
	struct error err = {0};
	uint8_t *room = buf_reserve(&target->bytes, READ_CHUNK, &err);
	ssize_t n = room ? read(fd, room, READ_CHUNK) : 0;

	(void)loop;
	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0) {
		buf_commit(&target->bytes, (size_t)n);
		return;
	}
	read_getent(target);
	if (target->list.count == 0)
		error_set(
			&err, ERR_NOT_FOUND,
			"the name has no address: correct the name, or look at the name servers of this host");
	resolved(target, target->list.count == 0 ? &err : NULL);
}

/* Starts getent. Sets *answer to a descriptor from which the output of getent can be read. */
static int start_getent(const char *host, bool for_parent, struct proc *lookup, int *answer,
			struct error *err)
{
	const char *const argv[] = {"getent", "ahosts", "--", host, NULL};
	int ends[2];

	if (fd_pipe(ends, err) < 0)
		return -1;
	autoclose int ours = ends[0];
	autoclose int theirs = ends[1];
	const struct proc_fd fds[] = {{theirs, STDOUT_FILENO}};
	const struct proc_spec spec = {.argv = argv,
				       .fds = fds,
				       .nfds = ARRAY_SIZE(fds),
				       .die_with_parent = true,
				       .for_parent = for_parent,
				       .cwd = "/"};

	if (proc_spawn(&spec, lookup, err) < 0)
		return -1;
	*answer = steal_fd(&ours);
	return 0;
}

int target_serve(const struct target *target, struct broker_message *out, struct error *err)
{
	struct proc lookup = PROC_NONE;

	if (broker_check_ways(err) < 0 ||
	    start_getent(target->host, true, &lookup, &out->fds[1], err) < 0)
		return -1;
	out->fds[0] = lookup.pidfd;
	out->nfds = 2;
	memcpy(out->bytes, &lookup.pid, sizeof(lookup.pid));
	out->len = sizeof(lookup.pid);
	return 0;
}

static int ask_getent(const struct target *target, struct proc *lookup, int *answer,
		      struct error *err)
{
	struct broker_message in = {.len = strlen(target->text)}, out;

	if (in.len > BROKER_BYTES)
		return error_set(
			err, ERR_INVALID,
			"the name is too long to be looked up: give a shorter name, or an address");
	memcpy(in.bytes, target->text, in.len);
	if (broker_ask(&target_duty, &in, &out, err) < 0)
		return -1;
	lookup->pidfd = out.fds[0];
	memcpy(&lookup->pid, out.bytes, sizeof(lookup->pid));
	*answer = out.fds[1];
	return 0;
}

static int begin_lookup(struct target *target, struct error *err)
{
	uint64_t late = limit_deadline(LIMIT_RESOLVE_MS);
	int status = broker_is_asked()
			     ? ask_getent(target, &target->lookup, &target->answer_fd, err)
			     : start_getent(target->host, false, &target->lookup,
					    &target->answer_fd, err);

	if (status == 0)
		target->answer = loop_add_fd(target->loop, target->answer_fd, LOOP_IN,
					     on_getent_output, target, err);
	if (target->answer)
		target->late = loop_add_timer(target->loop, late, on_lookup_late, target, err);
	if (target->late)
		return 0;
	end_lookup(target);
	return error_prefix(err, "cannot look up %s", target->host);
}

static bool is_resolved(const struct target *target)
{
	uint64_t kept = limit_get(LIMIT_RESOLVED_MS) * NS_PER_MS;

	return target->literal ||
	       (target->resolved_ns && clock_mono_ns() - target->resolved_ns < kept);
}

static int await_lookup(struct target_attempt *attempt, struct error *err)
{
	struct target *target = attempt->target;

	if (target->answer_fd < 0 && begin_lookup(target, err) < 0)
		return -1;
	list_add_first(&target->waiting, &attempt->waiting);
	return 0;
}

struct target_attempt *target_reach(struct target *target, uint64_t deadline_ns, reached_fn *done,
				    void *data, struct error *err)
{
	struct target_attempt *attempt = calloc(1, sizeof(*attempt));
	int status;

	if (!attempt) {
		error_errno(err, ENOMEM, "memory");
		return NULL;
	}
	*attempt = (struct target_attempt){
		.target = target, .deadline_ns = deadline_ns, .done = done, .data = data};
	status = is_resolved(target) ? begin_connecting(attempt, err) : await_lookup(attempt, err);
	if (status == 0)
		return attempt;
	free(attempt);
	return NULL;
}

/* --- making and freeing a target -------------------------------------------------------------- */

static int split_target(struct target *target, const char *text, struct error *err)
{
	const char *colon = strrchr(text, ':');
	bool bracketed = colon && text[0] == '[' && colon - text > 2;
	size_t len = colon ? (size_t)(colon - text) - (bracketed ? 2 : 0) : 0;
	unsigned long port = colon ? strtoul(colon + 1, NULL, 10) : 0;

	if (len == 0 || port == 0 || port > UINT16_MAX)
		return error_set(err, ERR_INVALID,
				 "%.200s is not of the form HOST:PORT, like 127.0.0.1:8080", text);
	target->port = (uint16_t)port;
	target->text = strdup(text);
	target->host = strndup(text + (bracketed ? 1 : 0), len);
	if (!target->text || !target->host)
		return error_errno(err, ENOMEM, "memory");
	target->literal = addresses_add_text(&target->list, target->host, target->port);
	return 0;
}

struct target *target_new(struct loop *loop, const char *text, struct error *err)
{
	struct target *target = calloc(1, sizeof(*target));

	if (!target) {
		error_errno(err, ENOMEM, "memory");
		return NULL;
	}
	*target = (struct target){
		.loop = loop, .lookup = PROC_NONE, .answer_fd = -1, .bytes = BUF_INIT(ANSWER_MAX)};
	list_init(&target->waiting);
	if (split_target(target, text, err) < 0) {
		target_free(target);
		return NULL;
	}
	return target;
}

const char *target_text(const struct target *target)
{
	return target->text;
}

uint16_t target_port(const struct target *target)
{
	return target->port;
}

void target_free(struct target *target)
{
	if (!target)
		return;
	end_lookup(target);
	free(target->text);
	free(target->host);
	free(target);
}
