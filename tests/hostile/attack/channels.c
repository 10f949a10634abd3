/* SPDX-License-Identifier: MIT */
/* Attacks on channels of other processes, by descriptors that are taken from these processes. */
#include <sys/socket.h>

#include <linux/vm_sockets.h>

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "attack.h"

static bool is_vsock(int fd, bool listening, unsigned port)
{
	struct sockaddr_vm at = {0};
	socklen_t len = sizeof(at), int_len = sizeof(int);
	int accepts = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &accepts, &int_len) < 0 ||
	    (accepts != 0) != listening)
		return false;
	if ((listening ? getsockname(fd, (struct sockaddr *)&at, &len)
		       : getpeername(fd, (struct sockaddr *)&at, &len)) < 0)
		return false;
	return at.svm_family == AF_VSOCK && at.svm_port == port;
}

/* Takes a vsock socket of the port from any process that has one. *owner is then that process.
 * Returns -1 if no process has one. */
static int steal(bool listening, unsigned port, pid_t *owner)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;

	while (proc && (entry = readdir(proc))) {
		/* Init keeps the listener too, for the next agent. The agent is the process that
		 * serves it. */
		int pid = atoi(entry->d_name);
		int pidfd = pid > listening ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;

		for (int fd = 0; pidfd >= 0 && pid != getpid() && fd < 256; fd++) {
			int own = (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);

			if (own >= 0 && is_vsock(own, listening, port)) {
				*owner = pid;
				return own;
			}
			if (own >= 0)
				close(own);
		}
		if (pidfd >= 0)
			close(pidfd);
	}
	errno = ENOENT;
	return -1;
}

static void wait_a_moment(void)
{
	struct timespec moment = {0, 1000000};

	nanosleep(&moment, NULL);
}

/* The descriptor shares its flags with its owner, which waits in an event loop. So this process
 * waits too. */
static bool send_all(int fd, const void *data, size_t len)
{
	const char *at = data;

	while (len > 0) {
		ssize_t n = send(fd, at, len, MSG_NOSIGNAL);

		if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
			wait_a_moment();
			continue;
		}
		if (n <= 0)
			return false;
		at += n;
		len -= (size_t)n;
	}
	return true;
}

/* --- the control stream ---------------------------------------------------------------------- */

static char message[256 << 10];

static bool send_frame(int fd, const char *text, size_t len)
{
	uint32_t head = htonl((uint32_t)len);

	return send_all(fd, &head, sizeof(head)) && send_all(fd, text, len);
}

/* Characters that a terminal would obey, and a name that is longer than any other. */
#define BAD_WORDS "\\u001b]0;owned\\u0007\\u009b31m\\u202e\\r"

static size_t telemetry(unsigned long i, unsigned long *records)
{
	size_t len = (size_t)sprintf(message, "{\"type\":\"telemetry\",\"format\":1,\"records\":[");

	for (*records = 0; *records < 128; ++*records)
		len += (size_t)sprintf(message + len,
				       "%s{\"kind\":\"" BAD_WORDS
				       "\",\"at\":\"never\",\"pid\":%lu}",
				       *records ? "," : "", i + *records);
	return len + (size_t)sprintf(message + len, "]}");
}

static size_t command(unsigned long i, unsigned longest)
{
	size_t len = (size_t)sprintf(message,
				     "{\"type\":\"exec-started\",\"format\":1,\"exec\":%lu,"
				     "\"argv\":[\"" BAD_WORDS,
				     i + 1);

	memset(message + len, 'x', longest);
	len += longest;
	return len + (size_t)sprintf(message + len, "\"]}");
}

static void control_garbage(int fd, unsigned long count)
{
	unsigned char bytes[4096];
	unsigned long sent = 0;

	for (; sent < count; sent++) {
		noise_fill(bytes, sizeof(bytes));
		if (!send_all(fd, bytes, sizeof(bytes)))
			break;
	}
	said("pages of noise", sent);
}

void control(const char *kind, unsigned long count)
{
	pid_t owner;
	int fd = steal(false, CONTROL_PORT, &owner);
	unsigned long sent = 0, records = 1;
	size_t len;

	if (fd < 0)
		give_up("the control stream");
	kill(owner, SIGSTOP); /* whose frames would lie between the halves of ours */
	if (strcmp(kind, "garbage") == 0) {
		control_garbage(fd, count);
		return;
	}
	for (; sent < count; sent += records) {
		if (strcmp(kind, "telemetry") == 0)
			len = telemetry(sent, &records);
		else if (strcmp(kind, "commands") == 0)
			len = command(sent, 0);
		else if (strcmp(kind, "long") == 0)
			len = command(sent, 2000);
		else if (strcmp(kind, "unknown") == 0)
			len = (size_t)sprintf(message, "{\"type\":\"" BAD_WORDS "\",\"format\":1}");
		else if (strcmp(kind, "listening") == 0)
			len = (size_t)sprintf(
				message, "{\"type\":\"listening\",\"format\":1,\"ports\":[%s]}",
				sent % 2 ? "1,22" : "80");
		else if (strcmp(kind, "none") == 0)
			len = (size_t)sprintf(message,
					      "{\"type\":\"listening\",\"format\":1,\"ports\":[]}");
		else if (strcmp(kind, "untold") == 0)
			len = (size_t)sprintf(message, "{\"type\":\"listening\",\"format\":1}");
		else if (strcmp(kind, "port") == 0)
			len = (size_t)sprintf(
				message, "{\"type\":\"listening\",\"format\":1,\"ports\":[65536]}");
		else if (strcmp(kind, "turn") == 0)
			len = (size_t)sprintf(message, "{\"type\":\"ready\",\"format\":1}");
		else if (strcmp(kind, "huge") == 0)
			break;
		else
			exit(2);
		if (!send_frame(fd, message, len))
			break;
	}
	if (strcmp(kind, "huge") == 0)
		sent = send_all(fd, "\377\377\377\377{", 5);
	kill(owner, SIGCONT);
	said(kind, sent);
}

/* --- the agent's place ----------------------------------------------------------------------- */

static void answer(int peer, const char *kind)
{
	static unsigned char bytes[1 << 16];

	if (strcmp(kind, "garbage") == 0) {
		noise_fill(bytes, sizeof(bytes));
		send_all(peer, bytes, sizeof(bytes));
	} else if (strcmp(kind, "huge") == 0) {
		send_all(peer, "\377\377\377\377{", 5);
	} else if (strcmp(kind, "silence") == 0) {
		/* until the host gives up */
		while (recv(peer, bytes, sizeof(bytes), 0) > 0)
			;
	}
}

/* The agent is stopped meanwhile, since it would answer first. The command that this process
 * belongs to is stopped with it. */
void agent(const char *kind, unsigned long count)
{
	pid_t owner;
	int fd = steal(true, AGENT_PORT, &owner);
	unsigned long answered = 0;

	if (fd < 0)
		give_up("the agent's listener");
	kill(owner, SIGSTOP);
	while (answered < count) {
		int peer = accept4(fd, NULL, NULL, 0);

		if (peer < 0) {
			wait_a_moment();
			continue;
		}
		answer(peer, kind);
		close(peer);
		answered++;
	}
	kill(owner, SIGCONT);
	said("calls answered", answered);
}
