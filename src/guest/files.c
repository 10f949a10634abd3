/* SPDX-License-Identifier: MIT */
/*
 * Files for the host, as the user that asks: "send ROOT PATH" writes what PATH names to stdout,
 * "receive ROOT PATH NAME" puts at PATH what comes on stdin, both as base/tree_stream.h, and says on
 * stdout what it left out, a line each. No link leads out of ROOT. A failure is on stderr: the code
 * of the error, and its text in the next line.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/tree_stream.h"
#include "guest/freeze.h"
#include "guest/roles.h"

static int open_root(const char *path, struct error *err)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? error_errno(err, errno, "%s", path) : fd;
}

static int send_tree(char **words, struct error *err)
{
	autoclose int root = open_root(words[0], err);

	return root < 0 ? -1 : tree_send(root, words[1], true, STDOUT_FILENO, err);
}

static void say_skipped(void *data, const char *path, const char *why)
{
	(void)data;
	dprintf(STDOUT_FILENO, "%s: %s\n", path, why);
}

static int receive_tree(char **words, struct error *err)
{
	const struct tree_receiver receiver = {.skipped = say_skipped};
	autoclose int root = open_root(words[0], err);
	struct tree_target target = {.dir = -1};
	int status;

	if (root < 0 || tree_target_open(root, words[1], true, words[2], &target, err) < 0)
		return -1;
	umask(022);
	status = tree_receive(STDIN_FILENO, &target, &receiver, err);
	/* The machine of a reader is ended as soon as we have: what was written is on the disk. */
	if (status == 0 && syncfs(target.dir) < 0)
		status = error_errno(err, errno, "%s", words[1]);
	tree_target_close(&target);
	return status;
}

static const struct verb {
	const char *name;
	int words;
	int (*run)(char **words, struct error *err);
} verbs[] = {
	{"send", 2, send_tree},
	{"receive", 3, receive_tree},
	{"freeze", 1, freeze_until_told},
};

int role_files(int argc, char **argv)
{
	struct error err = {0};

	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; argc > 1 && i < ARRAY_SIZE(verbs); i++) {
		if (strcmp(argv[1], verbs[i].name) != 0 || argc != 2 + verbs[i].words)
			continue;
		if (verbs[i].run(argv + 2, &err) == 0)
			return 0;
		dprintf(STDERR_FILENO, "%s\n%s", error_code_name(err.code), err.msg);
		return 1;
	}
	dprintf(STDERR_FILENO, "invalid\nunknown words for " ROLE_FILES);
	return 125;
}
