/* SPDX-License-Identifier: MIT */
#include "channel/hasher.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/platform/descriptor.h"
#include "base/platform/file.h"
#include "base/proc.h"
#include "channel/program.h"

#define CHILD_FILE_FD 3

char *hasher_program(struct error *err)
{
	struct error why = {0};
	char *path = program_find("microagent-artifact", &why);

	if (!path && why.code == ERR_NOT_FOUND)
		return strdup("microagent-artifact");
	if (!path && err)
		error_copy(err, &why);
	return path;
}

/* The descriptors that cancel the work of this thread; -1: no descriptor. They are not parameters,
 * because many functions lie between the calls that can be cancelled and the code that hashes. */
static _Thread_local int cancel_fds[2] = {-1, -1};

int digest_cancel_by(int fd)
{
	int before = cancel_fds[0];

	cancel_fds[0] = fd;
	return before;
}

void digest_cancel_also_by(int fd)
{
	cancel_fds[1] = fd;
}

/* Reads the answer of `child` to its end, and reaps `child`. */
static int hasher_collect(struct proc *child, int from, struct buf *answer, struct error *err)
{
	/* The limit is long, because large files take minutes. Without a limit, a file on a file
	 * system that hangs would block this process for ever. */
	uint64_t deadline = limit_deadline(LIMIT_DIGEST_MS);
	struct pollfd slots[] = {{.fd = from, .events = POLLIN},
				 {.fd = cancel_fds[0], .events = POLLIN},
				 {.fd = cancel_fds[1], .events = POLLIN}};
	int code = 0, got;

	do
		got = descriptor_poll(slots, ARRAY_SIZE(slots), deadline);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return error_errno(err, errno, "poll");
	if (got == 0)
		return error_set(
			err, ERR_TIMEOUT,
			"the digest of the file was not made within %llu ms: the file is large, or its disk is slow",
			(unsigned long long)limit_get(LIMIT_DIGEST_MS));
	if (!slots[0].revents)
		return error_set(err, ERR_UNAVAILABLE, "cancelled");
	if (fd_read_to_end(from, answer, err) < 0 || proc_wait(child, deadline, &code, err) < 0)
		return -1;
	if (code != 0)
		return error_set(
			err, ERR_IO,
			"the digest of the file could not be made, because microagent-artifact ended with exit code %d: its message is on stderr",
			code);
	return 0;
}

static int run_hasher(int fd, enum digest_part part, struct buf *answer, struct error *err)
{
	autofree char *program = hasher_program(err);
	const char *command = part == DIGEST_INIT ? "init-sha256" : "sha256";
	const char *const argv[] = {program, command, "--fd", "3", NULL};
	int ends[2];
	struct proc child = PROC_NONE;
	int status;

	if (!program || fd_pipe(ends, err) < 0)
		return -1;
	const struct proc_fd fds[] = {
		{ends[1], STDOUT_FILENO}, {STDERR_FILENO, STDERR_FILENO}, {fd, CHILD_FILE_FD}};
	const struct proc_spec spec = {
		.argv = argv, .fds = fds, .nfds = ARRAY_SIZE(fds), .die_with_parent = true};

	status = proc_spawn(&spec, &child, err);
	close(ends[1]);
	if (status == 0)
		status = hasher_collect(&child, ends[0], answer, err);
	else
		error_prefix(err, "microagent-artifact");
	close(ends[0]);
	proc_end(&child);
	return status;
}

/* Computes a digest. Opens the file of `fd` once more and hashes this new descriptor, so that the
 * offset of `fd` does not move: the machine gets `fd` afterwards. */
static int compute(int fd, enum digest_part part, char out[DIGEST_TEXT], struct error *err)
{
	autobuf struct buf answer = BUF_INIT(4096);
	char digest[DIGEST_TEXT] = "";
	autoclose int own = -1;

	own = file_reopen(fd, O_RDONLY | O_CLOEXEC);
	if (own < 0)
		return error_errno(err, errno, "cannot be read");
	if (run_hasher(own, part, &answer, err) < 0)
		return -1;
	/* The answer is the digest, followed by a newline or by the name of the file. */
	memcpy(digest, buf_bytes(&answer), answer.len < 64 ? answer.len : 64);
	if (part == DIGEST_INIT && strcmp(digest, "!\n") == 0) {
		error_set(err, ERR_IO,
			  "the initrd is damaged, because a part is missing at its end");
		return error_reason(err, REASON_INITRD_DAMAGED, "");
	}
	if (part == DIGEST_INIT && strcmp(digest, "-\n") == 0)
		digest[0] = '\0';
	else if (!digest_is_valid(digest))
		return error_set(
			err, ERR_IO,
			"the digest of the file could not be made, because microagent-artifact answered with something else: this is a bug of microagent");
	memcpy(out, digest, DIGEST_TEXT);
	return 0;
}

int digest_of(int fd, enum digest_part part, char out[DIGEST_TEXT], struct error *err)
{
	struct digest_key before, after;
	char digest[DIGEST_TEXT];

	if (digest_key(fd, part, &before, err) < 0)
		return -1;
	if (digest_recall(&before, out))
		return 0;
	if (compute(fd, part, digest, err) < 0)
		return -1;
	/* The digest is remembered only if the file did not change while it was read. */
	if (before.settled && *digest && digest_key(fd, part, &after, NULL) == 0 &&
	    digest_key_equal(&before, &after))
		digest_remember(&before, digest);
	memcpy(out, digest, DIGEST_TEXT);
	return 0;
}
