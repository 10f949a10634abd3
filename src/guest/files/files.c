/* SPDX-License-Identifier: MIT */
/*
 * The program that reads, writes and lists files for the host, with the rights of the request's
 * user. The program's stdin and stdout are a connection to the host, which the agent has handed
 * over. The program first writes one byte, which tells the host that the program runs. The commands
 * of the program:
 *   send ROOT PATH           sends the file or directory PATH as a stream (base/tree/tree_stream.h)
 *   output ROOT PATH         sends a declared output as a stream (guest/files/output.h)
 *   changes ROOT ID          sends the upper layer ID of a review share as a stream; only root sees
 *                            all of it
 *   receive ROOT PATH NAME   receives a stream, stores its files at PATH, and answers
 *   list ROOT PATH, stat ROOT PATH   prints lines of JSON (guest/files/listing.h)
 * PATH is resolved so that no link leads out of the directory ROOT.
 *
 * Four other commands use no connection to the host: "freeze PATH", "grow PATH", "account ROOT" and
 * "confine ROOT". The host uses the last three to make a base of an image. If a command fails, the
 * program writes the code of the error to stderr, and the error's text in the next line.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/tree/tree_stream.h"
#include "guest/agent/config.h"
#include "guest/files/account.h"
#include "guest/files/freeze.h"
#include "guest/files/grow.h"
#include "guest/files/listing.h"
#include "guest/files/output.h"
#include "guest/machine/review.h"
#include "guest/roles.h"

static int open_files_root(const char *path, struct error *err)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? error_errno(err, errno, "%s", path) : fd;
}

static void greet(void)
{
	(void)fd_write_all(STDOUT_FILENO, FILES_GREETING, 1, NULL);
}

static int send_tree(char **words, struct error *err)
{
	const struct tree_line line = {.fd = STDOUT_FILENO, .cancel = -1};
	autoclose int root = open_files_root(words[0], err);

	greet();
	if (root >= 0)
		return tree_send(root, words[1], true, &line, err);
	tree_answer(STDOUT_FILENO, err);
	return -1;
}

static int send_output(char **words, struct error *err)
{
	greet();
	return output_send(words[0], words[1], err);
}

static int send_changes(char **words, struct error *err)
{
	const struct tree_line line = {.fd = STDOUT_FILENO, .cancel = -1, .overlay = true};
	char path[sizeof(REVIEW_UPPERS "//upper") + 64];
	autoclose int root = open_files_root(words[0], err);

	greet();
	if (root >= 0 && config_is_upper(words[1])) {
		snprintf(path, sizeof(path), REVIEW_UPPERS "/%s/upper", words[1]);
		return tree_send(root, path, true, &line, err);
	}
	if (root >= 0)
		error_set(
			err, ERR_INVALID,
			"\"%.64s\" is not the id of a review share's upper layer: this is a bug of microagent on the host",
			words[1]);
	tree_answer(STDOUT_FILENO, err);
	return -1;
}

static int receive_into(char **words, struct error *err)
{
	const struct tree_line line = {.fd = STDIN_FILENO, .cancel = -1};
	autoclose int root = open_files_root(words[0], err);
	struct tree_target target = {.dir = -1};
	int status;

	if (root < 0 || tree_target_open(root, words[1], true, words[2], &target, err) < 0)
		return -1;
	status = tree_receive(&line, &target, NULL, err);
	/* In a machine that is a reader, the host ends the machine as soon as this process has
	 * exited. So the files must be written to the disk before that. */
	if (status == 0 && strcmp(words[0], READER_ROOT) == 0 && syncfs(target.dir) < 0)
		status = error_errno(err, errno, "%s", words[1]);
	tree_target_close(&target);
	return status;
}

static int receive_tree(char **words, struct error *err)
{
	int status;

	greet();
	status = receive_into(words, err);
	tree_answer(STDOUT_FILENO, err);
	return status;
}

static int answer_listing(char **words, int (*list)(int root, const char *path, struct error *err),
			  struct error *err)
{
	autoclose int root = open_files_root(words[0], err);
	int status;

	greet();
	status = root < 0 ? -1 : list(root, words[1], err);
	listing_end(err);
	return status;
}

static int list_words(char **words, struct error *err)
{
	return answer_listing(words, list_path, err);
}

static int stat_words(char **words, struct error *err)
{
	return answer_listing(words, stat_path, err);
}

static const struct verb {
	const char *name;
	int words;
	int (*run)(char **words, struct error *err);
} verbs[] = {
	{"send", 2, send_tree},		  {"output", 2, send_output},  {"receive", 3, receive_tree},
	{"changes", 2, send_changes},	  {"list", 2, list_words},     {"stat", 2, stat_words},
	{"freeze", 1, freeze_until_told}, {"grow", 1, grow_to_device}, {"account", 1, account_make},
	{"confine", 1, account_confine},
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
