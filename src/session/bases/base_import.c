/* SPDX-License-Identifier: MIT */
/* An image of the OCI or of Docker for a base: microagent-artifact puts it into the cache, where
 * the next base of the same one finds it. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/proc.h"
#include "channel/hasher.h"
#include "session/bases/base_making.h"

#define ANSWER_BYTES (1u << 20)
#define TICK_MS 200

/* Names of images have small letters alone, and end as their architecture says, which a base's does
 * not: so it is no end of one. */
static void image_name(const struct making *m, char *out, size_t size)
{
	snprintf(out, size, "%s-base", m->base.name);
	for (char *c = out; *c; c++)
		*c = (char)tolower((unsigned char)*c);
}

/* 1: something of the answer, 0: its end. */
static int take_import_answer(int from, struct buf *answer, struct error *err)
{
	uint8_t *room = buf_reserve(answer, 4096, err);
	ssize_t n = room ? read(from, room, 4096) : -1;

	if (!room)
		return -1;
	if (n < 0)
		return error_errno(err, errno, "microagent-artifact");
	buf_commit(answer, (size_t)n);
	return n > 0;
}

/* Its answer, until it has closed stdout. */
static int hear_import(const struct making *m, const struct proc *child, int from,
		       struct buf *answer, struct error *err)
{
	const struct microagent *agent = m->agent;
	struct pollfd slots[2] = {
		{.fd = from, .events = POLLIN},
		{.fd = m->spec->cancel > 0 ? m->spec->cancel : -1, .events = POLLIN}};
	int more = 1;

	while (more > 0) {
		int got = poll(slots, ARRAY_SIZE(slots), agent->wait_fn ? TICK_MS : -1);

		if (got < 0 && errno != EINTR)
			return error_errno(err, errno, "poll");
		if (got == 0 && agent->wait_fn)
			agent->wait_fn(agent->wait_data);
		if (got > 0 && slots[1].revents) {
			slots[1].fd = -1; /* it leaves nothing, and says so by ending */
			(void)proc_signal(child, SIGTERM, NULL);
		}
		if (got > 0 && slots[0].revents)
			more = take_import_answer(from, answer, err);
	}
	if (more == 0 && m->spec->cancel > 0 && slots[1].fd < 0)
		return error_set(err, ERR_UNAVAILABLE, "cancelled");
	return more;
}

static int judge_import(const struct buf *answer, int code, struct error *err)
{
	json_auto_t *document = json_load_strict(buf_bytes(answer), answer->len, NULL);

	if (code == 0)
		return 0;
	if (!json_text(document, "errorCode", NULL))
		return error_set(err, ERR_IO, "microagent-artifact could not import it");
	return json_get_error(document, "microagent-artifact could not import it", err);
}

static int run_importer(const struct making *m, const char *const *argv, struct error *err)
{
	autobuf struct buf answer = BUF_INIT(ANSWER_BYTES);
	struct proc child = PROC_NONE;
	int ends[2], code = 0, status;

	if (fd_pipe(ends, err) < 0)
		return -1;
	autoclose int from = ends[0], to = ends[1];
	const struct proc_fd fds[] = {{to, STDOUT_FILENO}};
	/* Its own session: Ctrl-C is for us, who then tell it. */
	const struct proc_spec spec = {.argv = argv,
				       .fds = fds,
				       .nfds = ARRAY_SIZE(fds),
				       .new_session = true,
				       .die_with_parent = true};

	if (proc_spawn(&spec, &child, err) < 0)
		return error_prefix(err, "microagent-artifact");
	close(steal_fd(&to));
	status = hear_import(m, &child, from, &answer, err);
	if (status == 0)
		status = proc_wait(&child, UINT64_MAX, &code, err);
	proc_end(&child);
	return status == 0 ? judge_import(&answer, code, err) : -1;
}

static void tell_import(const struct microagent_base_spec *spec)
{
	char text[512];

	snprintf(text, sizeof(text), "importing %s", spec->oci);
	if (spec->said)
		spec->said(spec->data, MICROAGENT_BASE_DOING, text);
}

int base_import(struct making *m, struct error *err)
{
	autofree char *program = hasher_program(err);
	const char *argv[11] = {program, "image-import", "--json", "--arch",
				architecture_name(m->architecture)};
	char name[BASE_NAME_MAX + 8], size[24];
	size_t n = 5;

	if (!program)
		return -1;
	image_name(m, name, sizeof(name));
	if (m->spec->size_mib) {
		snprintf(size, sizeof(size), "%" PRId64, m->spec->size_mib);
		argv[n++] = "--size";
		argv[n++] = size;
	}
	argv[n++] = "--";
	argv[n++] = name;
	argv[n] = m->spec->oci;
	tell_import(m->spec);
	if (run_importer(m, argv, err) < 0)
		return error_prefix(err, "%s", m->spec->oci);
	return cache_image_find(name, m->architecture, &m->image, err);
}
