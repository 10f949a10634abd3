/* SPDX-License-Identifier: MIT */
#include "channel/artifact_run.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/proc.h"
#include "channel/hasher.h"

#define ANSWER_BYTES (1u << 20)
#define TICK_MS 200

/* Reads the answer of microagent-artifact until microagent-artifact has closed its stdout.
 * ERR_UNAVAILABLE if `cancel` became readable. */
static int hear_artifact(const struct artifact_wait *wait, const struct proc *child, int from,
			 struct buf *answer, struct error *err)
{
	struct pollfd slots[2] = {{.fd = from, .events = POLLIN},
				  {.fd = wait->cancel > 0 ? wait->cancel : -1, .events = POLLIN}};
	bool ended = false;

	while (!ended) {
		int got = poll(slots, ARRAY_SIZE(slots), wait->tick ? TICK_MS : -1);

		if (got < 0 && errno != EINTR)
			return error_errno(err, errno, "poll");
		if (got == 0 && wait->tick)
			wait->tick(wait->data);
		if (got > 0 && slots[1].revents) {
			slots[1].fd = -1; /* the program is told to end only once; the loop then
					   * waits until the program has removed its files and
					   * ended */
			(void)proc_signal(child, SIGTERM, NULL);
		}
		if (got > 0 && slots[0].revents) {
			uint8_t *room = buf_reserve(answer, 4096, err);
			ssize_t n = room ? read(from, room, 4096) : -1;

			if (n < 0)
				return room ? error_errno(err, errno, "microagent-artifact") : -1;
			buf_commit(answer, (size_t)n);
			ended = n == 0;
		}
	}
	if (wait->cancel > 0 && slots[1].fd < 0)
		return error_set(err, ERR_UNAVAILABLE, "cancelled");
	return 0;
}

static int judge_artifact(const struct buf *bytes, int code, json_t **answer, struct error *err)
{
	static const char nothing[] = "microagent-artifact could not do it";
	json_auto_t *document = json_load_strict(buf_bytes(bytes), bytes->len, NULL);

	if (code != 0 || (answer && !document))
		return json_text(document, "errorCode", NULL)
			       ? json_get_error(document, nothing, err)
			       : error_set(err, ERR_IO, "%s", nothing);
	if (answer)
		*answer = steal_ptr(&document);
	return 0;
}

int artifact_run(const char *const *words, const struct artifact_wait *wait, json_t **answer,
		 struct error *err)
{
	autofree char *program = hasher_program(err);
	const char *argv[ARTIFACT_RUN_WORDS + 3] = {program, words[0], "--json"};
	autobuf struct buf bytes = BUF_INIT(ANSWER_BYTES);
	struct proc child = PROC_NONE;
	int ends[2], code = 0, status;

	if (!program)
		return -1;
	for (size_t i = 1; i < ARTIFACT_RUN_WORDS && words[i]; i++)
		argv[2 + i] = words[i];
	if (fd_pipe(ends, err) < 0)
		return -1;
	autoclose int from = ends[0], to = ends[1];
	const struct proc_fd fds[] = {{to, STDOUT_FILENO}};
	/* The program runs in a new session. So Ctrl-C at the terminal reaches only this process,
	 * and this process then ends the program. */
	const struct proc_spec spec = {.argv = argv,
				       .fds = fds,
				       .nfds = ARRAY_SIZE(fds),
				       .new_session = true,
				       .die_with_parent = true};

	if (proc_spawn(&spec, &child, err) < 0)
		return error_prefix(err, "microagent-artifact");
	close(steal_fd(&to));
	status = hear_artifact(wait, &child, from, &bytes, err);
	if (status == 0)
		status = proc_wait(&child, UINT64_MAX, &code, err);
	proc_end(&child);
	return status == 0 ? judge_artifact(&bytes, code, answer, err) : -1;
}
