/* SPDX-License-Identifier: MIT */
#include "base/broker.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/platform/descriptor.h"
#include "base/platform/passing.h"
#include "base/platform/process.h"

/* The greatest number of ancestors of a process that are examined to find out if the process
 * descends from the client of the broker. */
#define DEPTH_MAX 64

struct question {
	uint32_t row;
	char bytes[BROKER_BYTES];
};

struct answer {
	int32_t status;
	struct error error;
	bool is_ending; /* the broker announces that it will kill its client at a deadline */
	char bytes[BROKER_BYTES];
};

/* The state of this process. A process has at most one broker, or is a broker itself. The client
 * ("asker" in names) is the process that has a broker and asks it. */
static struct {
	int sock;    /* in the client: the socket to the broker; -1: there is no broker */
	pid_t asker; /* in the broker: the pid of its client; 0 in any other process */
	int asker_fd;
	bool ways_are_cut, takes_no_more;
	uint64_t deadline_ns; /* the monotonic time, in ns, at which the client is killed; 0: the
			       * client is not killed */
	bool is_ending;	      /* in the client: the broker has announced that it will kill the
			       * client at a deadline */
	const struct broker_row *rows;
	size_t count;
} own = {.sock = -1, .asker_fd = -1};

bool broker_is_asked(void)
{
	return own.sock >= 0;
}

pid_t broker_asker(void)
{
	return own.asker;
}

void broker_cut_ways(void)
{
	own.ways_are_cut = true;
}

int broker_check_ways(struct error *err)
{
	return own.ways_are_cut
		       ? error_set(err, ERR_CONFLICT,
				   "the machine is cut off, so nothing may reach it any more")
		       : 0;
}

/* Handles SIGALRM, which the timer sends at the deadline even if the broker is busy. */
static void kill_asker(int signal)
{
	int saved = errno;

	(void)signal;
	(void)process_signal(own.asker, own.asker_fd, SIGKILL);
	errno = saved;
}

void broker_end_asker(uint64_t deadline_ns)
{
	const struct sigaction action = {.sa_handler = kill_asker, .sa_flags = SA_RESTART};
	uint64_t now = clock_mono_ns(), left_ms;
	struct itimerval once;
	sigset_t alarm;

	if (own.deadline_ns && own.deadline_ns <= deadline_ns)
		return;
	own.deadline_ns = deadline_ns;
	left_ms = deadline_ns > now ? (deadline_ns - now) / NS_PER_MS : 0;
	/* The microsecond is added because a time of zero would disarm the timer. */
	once = (struct itimerval){
		.it_value = {.tv_sec = (time_t)(left_ms / 1000),
			     .tv_usec = (suseconds_t)(left_ms % 1000 * 1000 + 1)}};
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	if (sigaction(SIGALRM, &action, NULL) < 0 || sigprocmask(SIG_UNBLOCK, &alarm, NULL) < 0 ||
	    setitimer(ITIMER_REAL, &once, NULL) < 0)
		kill_asker(SIGALRM);
}

void broker_take_no_more(void)
{
	own.takes_no_more = true;
}

bool broker_knows(pid_t pid)
{
	for (int depth = 0; pid > 1 && pid != getpid() && depth < DEPTH_MAX; depth++) {
		pid = process_parent(pid);
		if (pid == own.asker)
			return true;
	}
	return false;
}

/* --- the broker ------------------------------------------------------------------------------ */

static void close_passed(struct broker_message *message)
{
	for (size_t i = 0; i < message->nfds; i++)
		close(message->fds[i]);
	message->nfds = 0;
}

/* Reads a question and answers it. Returns false if the client has closed the socket, or if no
 * further question may be answered. A client that is not hostile reads each answer before it asks
 * again, so the socket has room for the answer. If the socket has no room, the broker does not
 * wait, but exits. */
static bool serve_next(int sock)
{
	static struct question question;
	static struct answer answer;
	static struct broker_message in, out;
	const struct broker_row *row;
	ssize_t n;

	in.nfds = FD_PASS_MAX;
	n = fd_receive_passed(sock, &question, sizeof(question), in.fds, &in.nfds, 0);
	if (n < (ssize_t)offsetof(struct question, bytes))
		return false;
	in.len = (size_t)n - offsetof(struct question, bytes);
	memcpy(in.bytes, question.bytes, in.len);
	in.bytes[in.len] = '\0';
	out.len = out.nfds = 0;
	answer.error = (struct error){0};
	row = question.row < own.count ? &own.rows[question.row] : NULL;
	answer.status =
		row ? row->duty->fn(row->data, &in, &out, &answer.error)
		    : error_set(
			      &answer.error, ERR_INVALID,
			      "the broker does not know the request: this is a bug, or the live supervisor was taken over");
	answer.is_ending = own.deadline_ns != 0;
	memcpy(answer.bytes, out.bytes, out.len);
	/* The client may get descriptors only from the broker. So a socket that the broker passes
	 * to the client must not accept descriptors from its peer. */
	for (size_t i = 0; i < out.nfds; i++)
		passing_refuse(out.fds[i]);
	n = fd_send_passing(sock, &answer, offsetof(struct answer, bytes) + out.len, out.fds,
			    out.nfds, MSG_DONTWAIT);
	close_passed(&in);
	close_passed(&out);
	return n >= 0 && !own.takes_no_more;
}

static void be_broker(const struct broker_spec *spec, int sock, pid_t asker)
	__attribute__((noreturn));
static void be_broker(const struct broker_spec *spec, int sock, pid_t asker)
{
	int keep[64];
	size_t n = 0;

	own.sock = -1;
	own.asker = asker;
	own.rows = spec->rows;
	own.count = spec->count;
	if (process_end_with(asker) < 0 || spec->nkeep >= ARRAY_SIZE(keep))
		_exit(1);
	while (n < spec->nkeep) {
		keep[n] = spec->keep[n];
		n++;
	}
	keep[n++] = sock;
	fd_close_others(keep, n);
	own.asker_fd = process_open(asker);
	if (own.asker_fd < 0)
		_exit(1);
	if (spec->begin)
		spec->begin(spec->data);
	while (serve_next(sock))
		;
	if (own.deadline_ns) {
		/* The broker stays until its client has exited. If the broker exited earlier, no
		 * process would kill the client at the deadline. When the client exits, the broker
		 * is ended too (process_end_with()). */
		(void)shutdown(sock, SHUT_RDWR);
		(void)fd_wait(own.asker_fd, POLLIN, UINT64_MAX, NULL);
	}
	_exit(0);
}

/* --- the client ------------------------------------------------------------------------------- */

int broker_start(const struct broker_spec *spec, struct proc *out, struct error *err)
{
	pid_t asker = getpid();
	int ends[2];

	if (descriptor_socketpair(SOCK_SEQPACKET, ends) < 0)
		return error_errno(err, errno, "socket pair");
	autoclose int ours = ends[0];
	autoclose int theirs = ends[1];
	struct proc proc = {.pid = fork(), .pidfd = -1};

	if (proc.pid == 0)
		be_broker(spec, theirs, asker);
	if (proc.pid < 0)
		return error_errno(err, errno, "fork");
	if (proc_adopt(&proc, err) < 0)
		return -1;
	own.sock = steal_fd(&ours);
	own.is_ending = false;
	own.rows = spec->rows;
	own.count = spec->count;
	*out = proc;
	return 0;
}

void broker_end(struct proc *broker)
{
	/* If the broker itself waits for the exit of this process, this process must not wait for
	 * the broker: neither would ever exit. */
	uint64_t deadline = own.is_ending ? 0 : limit_deadline(LIMIT_KILL_MS);
	int code;

	if (own.sock >= 0)
		close(steal_fd(&own.sock));
	if (broker->pid && proc_wait(broker, deadline, &code, NULL) < 0)
		proc_let_go(broker);
}

static int receive_reply(struct broker_message *out, struct error *err)
{
	static struct answer answer;
	ssize_t n;

	out->nfds = FD_PASS_MAX;
	n = fd_receive_passed(own.sock, &answer, sizeof(answer), out->fds, &out->nfds, 0);
	if (n < (ssize_t)offsetof(struct answer, bytes))
		return error_errno(err, n < 0 ? errno : EPIPE, "the broker");
	out->len = (size_t)n - offsetof(struct answer, bytes);
	memcpy(out->bytes, answer.bytes, out->len);
	out->bytes[out->len] = '\0';
	own.is_ending = answer.is_ending;
	if (answer.status == 0)
		return 0;
	close_passed(out);
	return error_copy(err, &answer.error);
}

int broker_ask(const struct broker_duty *duty, const struct broker_message *in,
	       struct broker_message *out, struct error *err)
{
	static struct question question;
	static struct broker_message nothing;
	uint32_t row = 0;
	int status;

	while (row < own.count && own.rows[row].duty != duty)
		row++;
	if (row == own.count)
		return error_set(
			err, ERR_INTERNAL,
			"the broker was asked for something that it was not set up to do: this is a bug of microagent");
	question.row = row;
	memcpy(question.bytes, in->bytes, in->len);
	if (fd_send_passing(own.sock, &question, offsetof(struct question, bytes) + in->len,
			    in->fds, in->nfds, 0) < 0)
		return error_errno(err, errno, "the broker");
	status = receive_reply(out ? out : &nothing, err);
	if (!out)
		close_passed(&nothing);
	return status;
}
