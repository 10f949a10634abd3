/* SPDX-License-Identifier: MIT */
/*
 * Requests to a stand-in (through control.sock) and to a keeper (through machine.sock). Each
 * connection carries one request, which is one byte (enum standin_word). KILL and SIGNAL get no
 * answer. Any other request gets an answer when its result is known: a line with {"ok":true} or an
 * error.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "oci/standin.h"

#define ANSWER_MAX 4096u

static bool is_for_keeper(enum standin_word word)
{
	return word == STANDIN_QUARANTINE || word == STANDIN_ASK;
}

static const char *socket_of(enum standin_word word)
{
	return is_for_keeper(word) ? KEEPER_SOCKET : STANDIN_SOCKET;
}

bool standin_hands_on(int number)
{
	static const int kept[] = {SIGKILL, SIGSTOP, SIGPIPE, SIGSEGV, SIGBUS,	SIGFPE,
				   SIGILL,  SIGABRT, SIGTRAP, SIGSYS,  SIGTTOU, SIGTTIN};

	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		if (kept[i] == number)
			return false;
	return true;
}

static int read_answer(int sock, enum standin_word word, struct buf *text, struct error *err)
{
	uint64_t deadline = limit_deadline(LIMIT_STANDIN_MS);
	int got = 1;

	while (got > 0 && fd_wait(sock, POLLIN, deadline, err) == 0)
		got = fd_read_some(sock, text, err);
	if (got > 0 && err->code == ERR_TIMEOUT)
		return error_set(
			err, ERR_TIMEOUT,
			"the host's process that %s has not answered within %llu ms: if a signal has stopped that process, the signal CONT lets it go on; delete --force ends the container",
			is_for_keeper(word) ? "keeps the container's machine"
					    : "stands for the container",
			(unsigned long long)limit_get(LIMIT_STANDIN_MS));
	return got == 0 ? 0 : -1;
}

static int ask_standin(int sock, enum standin_word word, struct error *err)
{
	autobuf struct buf text = BUF_INIT(ANSWER_MAX);
	char byte = (char)word;

	if (fd_write_all(sock, &byte, 1, err) < 0)
		return -1;
	if (word == STANDIN_KILL || word > STANDIN_SIGNAL)
		return 0;
	if (read_answer(sock, word, &text, err) < 0)
		return -1;
	if (text.len == 0)
		return error_set(err, ERR_CONFLICT, "container not running");
	json_auto_t *answer = json_load_strict(buf_bytes(&text), text.len, err);
	if (!answer)
		return -1;
	return json_is_true(json_object_get(answer, "ok"))
		       ? 0
		       : json_get_error(answer, "no reason given", err);
}

int standin_ask(int dir, enum standin_word word, struct error *err)
{
	autoclose int sock = sock_connect_at(dir, socket_of(word), err);

	return sock < 0 ? -1 : ask_standin(sock, word, err);
}

int standin_ask_signal(int dir, int number, struct error *err)
{
	return standin_ask(dir, (enum standin_word)(STANDIN_SIGNAL + number), err);
}

int standin_ask_here(enum standin_word word, struct error *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	autoclose int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", socket_of(word));
	if (sock < 0 || connect(sock, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return error_errno(err, errno, "%s", socket_of(word));
	return ask_standin(sock, word, err);
}
