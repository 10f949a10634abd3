/* SPDX-License-Identifier: MIT */
/* The main function of a stand-in (standin.h), which an engine treats as a container's first
 * process or as a further command. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/agent_wire.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"
#include "base/platform/descriptor.h"
#include "base/platform/process.h"
#include "channel/dial.h"
#include "channel/pump.h"
#include "oci/standin.h"
#include "oci/standin_impl.h"

/* The exit code (128 + SIGKILL) if the connection to the guest's process is lost. */
#define LOST 137

struct self {
	struct handed handed;
	int machine; /* a descriptor of the machine's workspace */
	struct connection connection;
	struct agent_call call;
	struct microagent_exec exec;
	struct microagent_terminal terminal;
	struct microagent_streams streams;
	struct microagent_signals signals;
	const char **args;
	/* descriptors of two records (standin_impl.h); -1: this process is for a further command */
	int record, holder;
	int listener; /* the listening socket control.sock; -1: none */
	/* wake: an epoll that is readable if next_signal() has something to read */
	int signal_fd, winch_fd, wake;
	/* the connection of the client that waits for the answer to START; -1: none */
	int starter;
	bool began; /* true: the container's program was allowed to run */
};

/* Sets `err` to the reason why the program did not start, in a text that engines recognise. Returns
 * -1. */
static int explain_unstarted(const struct self *self, struct error *err)
{
	const struct microagent_outcome *exit = &self->call.exit;
	const char *program = self->args[0];

	if (exit->exit_code == 127 && strchr(program, '/'))
		return error_set(err, ERR_NOT_FOUND,
				 "exec: \"%.200s\": stat %.200s: no such file or directory",
				 program, program);
	if (exit->exit_code == 127)
		return error_set(err, ERR_NOT_FOUND,
				 "exec: \"%.200s\": executable file not found in $PATH", program);
	if (exit->exit_code == 126)
		return error_set(err, ERR_DENIED, "exec: \"%.200s\": permission denied", program);
	if (strstr(exit->start_error, "No such process") ||
	    strstr(exit->start_error, "no container"))
		return error_set(err, ERR_CONFLICT, "container not running: %s", exit->start_error);
	return error_set(err, ERR_IO, "%s",
			 *exit->start_error
				 ? exit->start_error
				 : "the process ended before the container was made: try again");
}

/* --- the request ----------------------------------------------------------------------------- */

static void terminal_size(void *data, uint16_t *rows, uint16_t *columns)
{
	struct self *self = data;
	struct signalfd_siginfo info;
	struct winsize size = {0};

	while (read(self->winch_fd, &info, sizeof(info)) > 0)
		;
	(void)ioctl(0, TIOCGWINSZ, &size);
	*rows = size.ws_row ? size.ws_row : 24;
	*columns = size.ws_col ? size.ws_col : 80;
}

static int begin_contained(struct self *self, struct error *err)
{
	struct calls *calls = &self->connection.calls;

	self->exec = (struct microagent_exec){
		.command = self->args,
		.cwd = json_text(self->handed.ticket, "cwd", "/"),
		.rlimits = json_object_get(self->handed.ticket, "rlimits"),
	};
	if (json_is_true(json_object_get(self->handed.ticket, "terminal"))) {
		self->terminal = (struct microagent_terminal){.resized = self->winch_fd,
							      .size = terminal_size,
							      .data = self,
							      .escape = -1};
		self->exec.terminal = &self->terminal;
	}
	self->call.contained = json_object_get(self->handed.ticket, "contained");
	if (calls_begin(calls, &self->call, &self->exec, AGENT_INPUT_STDIN, err) < 0)
		return -1;
	self->connection.fd = dial_blocking(self->machine, AGENT_PORT, &calls->out,
					    limit_deadline(LIMIT_DIAL_MS), err);
	return self->connection.fd < 0 ? -1 : 0;
}

/* Reads the next item from the connection to the guest. Returns 1 if there is an item; 0 if no item
 * has come yet; -1 if the connection has failed or has ended. */
static int next_item(struct self *self, struct call_item *item, struct error *err)
{
	struct connection *c = &self->connection;
	int got = calls_next(&c->calls, item, err);

	if (got != 0)
		return got;
	if (c->ended)
		return error_set(
			err, ERR_UNAVAILABLE,
			"the machine of the container has ended: delete the container, and create it again");
	return connection_receive(c, err) < 0 ? -1 : calls_next(&c->calls, item, err);
}

/* Waits for an item from the guest. Returns 1, or -1 with an error. With also_wake there is no time
 * limit, and the function also returns 1, without an item, if `wake` becomes readable. Without
 * also_wake, the guest must answer within LIMIT_AGENT_ANSWER_MS. Without this limit, a create could
 * wait for ever and hold the lock that delete needs. */
static int await_item(struct self *self, bool also_wake, struct call_item *item, struct error *err)
{
	uint64_t deadline = also_wake ? UINT64_MAX : limit_deadline(LIMIT_AGENT_ANSWER_MS);
	struct connection *c = &self->connection;

	*item = (struct call_item){0};
	for (;;) {
		int got = next_item(self, item, err);
		struct pollfd slots[2] = {
			{.fd = c->fd, .events = (short)(POLLIN | (c->calls.out.len ? POLLOUT : 0))},
			{.fd = also_wake ? self->wake : -1, .events = POLLIN}};

		if (got != 0)
			return got;
		if (connection_send(c, err) < 0)
			return -1;
		slots[0].events = (short)(POLLIN | (c->calls.out.len ? POLLOUT : 0));
		int ready = descriptor_poll(slots, ARRAY_SIZE(slots), deadline);
		if (ready < 0 && errno != EINTR)
			return error_errno(err, errno, "poll");
		if (ready == 0)
			return error_set(
				err, ERR_TIMEOUT,
				"the guest agent has not answered within %llu ms: try again, or end the container by delete --force",
				(unsigned long long)limit_get(LIMIT_AGENT_ANSWER_MS));
		if (slots[1].revents)
			return 1;
	}
}

/* --- control.sock and signals ---------------------------------------------------------------- */

/* Reads the request (one byte) of a new client of control.sock. Returns the number of a signal for
 * the container; MICROAGENT_SIGNAL_END for KILL; 0 for other requests. */
static int take_word(struct self *self)
{
	int client = sock_accept(self->listener, NULL);
	unsigned char word = 0;

	if (client < 0)
		return 0;
	/* Waits for the byte without a time limit. The client is root like this process, and sends
	 * the byte at once. */
	if (recv(client, &word, 1, 0) != 1)
		word = 0;
	if (word == STANDIN_START && self->starter < 0 && !self->began)
		self->starter = client;
	else
		close(client);
	if (word == STANDIN_KILL)
		return MICROAGENT_SIGNAL_END;
	return word > STANDIN_SIGNAL ? word - STANDIN_SIGNAL : 0;
}

/* Returns the next signal for the container; 0 if there is none. A signal comes from control.sock,
 * or was sent to this process. */
static int next_signal(void *data)
{
	struct self *self = data;
	struct signalfd_siginfo info;
	struct pollfd slots[2] = {{.fd = self->signal_fd, .events = POLLIN},
				  {.fd = self->listener, .events = POLLIN}};
	int asked;

	(void)poll(slots, ARRAY_SIZE(slots), 0);
	asked = slots[1].revents ? take_word(self) : 0;
	if (asked)
		return asked;
	if (!slots[0].revents || read(self->signal_fd, &info, sizeof(info)) != sizeof(info))
		return 0;
	return (int)info.ssi_signo;
}

static int wake_by(int wake, int fd, struct error *err)
{
	struct epoll_event event = {.events = EPOLLIN};

	return epoll_ctl(wake, EPOLL_CTL_ADD, fd, &event) < 0 ? error_errno(err, errno, "epoll")
							      : 0;
}

/* Opens the descriptors that receive signals. All signals that standin_hands_on() accepts are
 * blocked here and go to the container. */
static int open_signals(struct self *self, struct error *err)
{
	sigset_t all, winch;

	sigfillset(&all);
	for (int number = 1; number < SIGRTMIN; number++)
		if (!standin_hands_on(number))
			sigdelset(&all, number);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGTTOU, SIG_IGN);
	signal(SIGTTIN, SIG_IGN);
	sigprocmask(SIG_SETMASK, &all, NULL);
	sigemptyset(&winch);
	sigaddset(&winch, SIGWINCH);
	sigdelset(&all, SIGWINCH);
	self->signal_fd = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
	self->winch_fd = signalfd(-1, &winch, SFD_CLOEXEC | SFD_NONBLOCK);
	self->wake = epoll_create1(EPOLL_CLOEXEC);
	if (self->signal_fd < 0 || self->winch_fd < 0 || self->wake < 0)
		return error_errno(err, errno, "signals");
	return wake_by(self->wake, self->signal_fd, err);
}

static int open_control_socket(struct self *self, struct error *err)
{
	const char *path = json_text(self->handed.ticket, "record", "");

	if (!*path)
		return 0;
	self->record = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (self->record < 0)
		return error_errno(err, errno, "%s", path);
	self->holder = open(json_text(self->handed.ticket, "holder", ""),
			    O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	self->listener = sock_listen_at(self->record, STANDIN_SOCKET, err);
	return self->listener < 0 ? -1 : wake_by(self->wake, self->listener, err);
}

/* --- from the request to the exit ------------------------------------------------------------ */

/* Sends the request to the guest. Returns 0 when the container is made and waits, or when the
 * command runs. */
static int make(struct self *self, struct error *err)
{
	enum call_item_kind wanted = json_is_true(json_object_get(self->handed.ticket, "first"))
					     ? CALL_CREATED
					     : CALL_STARTED;
	const json_t *ticket = self->handed.ticket;
	struct call_item item;

	/* Opens the machine's directory without the checks of the library. The process that has
	 * made the machine has done these checks. */
	autofree char *path =
		path_join(json_text(ticket, "machines", ""), json_text(ticket, "machine", ""), err);
	if (!path)
		return -1;
	self->machine = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (self->machine < 0)
		return error_errno(err, errno, "%s", path);
	if (begin_contained(self, err) < 0 || await_item(self, false, &item, err) < 0)
		return -1;
	if (item.kind != wanted)
		return explain_unstarted(self, err);
	self->began = wanted == CALL_STARTED;
	return 0;
}

static int let_go(struct self *self, struct error *err)
{
	struct call_item item;
	int started = openat(self->record, "started", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (started < 0)
		return error_errno(err, errno, "started");
	close(started);
	self->began = true;
	if (calls_start(&self->connection.calls, &self->call, err) < 0 ||
	    await_item(self, false, &item, err) < 0)
		return -1;
	return item.kind == CALL_STARTED ? 0 : explain_unstarted(self, err);
}

/* Waits until the container's program is started. Returns 0 if the program runs; 1 if the container
 * has ended before its program was started. */
static int hold(struct self *self, struct error *err)
{
	while (!self->began) {
		struct call_item item;
		struct error why = {0};
		int signal;

		if (await_item(self, true, &item, err) < 0)
			return -1;
		if (item.call)
			return 1;
		signal = next_signal(self);
		if (signal == MICROAGENT_SIGNAL_END &&
		    calls_cancel(&self->connection.calls, &self->call, err) < 0)
			return -1;
		if (signal > 0 &&
		    calls_signal(&self->connection.calls, &self->call, signal, err) < 0)
			return -1;
		if (self->starter < 0)
			continue;
		int got = let_go(self, &why);
		handed_answer(self->starter, got < 0 ? &why : NULL);
		close(steal_fd(&self->starter));
		if (got < 0)
			return self->call.ended ? 1 : error_copy(err, &why);
	}
	return 0;
}

/* Returns true if the machine is in quarantine. Then the machine and the container go on without a
 * connection to this process, until another process ends the container. The function waits for the
 * keeper's answer, which comes when the result of the quarantine is known. */
static bool is_quarantined(const struct self *self)
{
	bool is = self->holder >= 0 && fchdir(self->holder) == 0 &&
		  standin_ask_here(STANDIN_ASK, NULL) == 0;

	(void)!chdir("/");
	return is;
}

static int attend_container(struct self *self, struct error *err)
{
	static const struct pump_guest guest = {.has_readers_of_its_own = true};
	struct pollfd wake = {.fd = self->wake, .events = POLLIN};
	struct microagent_outcome outcome = {0};
	int got = hold(self, err);

	if (got > 0)
		return self->call.exit.exit_code;
	self->signals =
		(struct microagent_signals){.fd = self->wake, .next = next_signal, .data = self};
	self->streams = (struct microagent_streams){
		.in = 0, .out = 1, .err = 2, .cancel = -1, .signals = &self->signals};
	if (got == 0)
		got = pump_run(&self->connection, &self->call, &self->streams, &guest, &outcome,
			       err);
	if (got >= 0)
		return self->call.ended ? outcome.exit_code : LOST;
	if (!is_quarantined(self))
		return -1;
	/* take_word() then closes the connection of a client that sends START */
	self->began = true;
	while (next_signal(self) != MICROAGENT_SIGNAL_END)
		(void)poll(&wake, 1, -1);
	return LOST;
}

static int read_words(struct self *self, struct error *err)
{
	const json_t *list = json_object_get(self->handed.ticket, "args"), *word;
	size_t i;

	self->args = calloc(json_array_size(list) + 1, sizeof(*self->args));
	if (!self->args)
		return error_errno(err, ENOMEM, "args");
	json_array_foreach(list, i, word)
	{
		self->args[i] = json_string_value(word);
	}
	return 0;
}

/* Makes the container's root the root of this process, so that the process sees only the
 * container's files. Unmounts all other mounts of the host in this namespace, so that none of them
 * stays in use. */
static int enter_rootfs(const struct self *self, struct error *err)
{
	const char *rootfs = json_text(self->handed.ticket, "rootfs", "");

	if (mount(rootfs, rootfs, NULL, MS_BIND | MS_REC, NULL) < 0 || chdir(rootfs) < 0 ||
	    syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		return error_errno(err, errno, "root of the container's process");
	/* Mounts /proc for programs that join this process's namespaces. Ignores a failure: an
	 * image may have no directory /proc. */
	(void)mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
	return 0;
}

int standin_main(void)
{
	struct self self = {.record = -1, .holder = -1, .listener = -1, .starter = -1};
	struct error err = {0};
	int code;

	process_set_name("microagent-oci");
	connection_init(&self.connection);
	if (handed_read(&self.handed, &err) < 0)
		return 1;
	oci_log_keep(&self.handed.oci);
	handed_await(&self.handed);
	if (read_words(&self, &err) < 0 || open_signals(&self, &err) < 0 ||
	    open_control_socket(&self, &err) < 0 || make(&self, &err) < 0 ||
	    enter_rootfs(&self, &err) < 0) {
		handed_report(&err);
		return 1;
	}
	handed_report(NULL);
	code = attend_container(&self, &err);
	if (code < 0)
		oci_log(&self.handed.oci, "warning", "container %s: %s",
			json_text(self.handed.ticket, "id", ""), err.msg);
	return code < 0 ? LOST : code;
}
