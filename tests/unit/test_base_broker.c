/* SPDX-License-Identifier: MIT */
/* Tests a broker: its duties, its refusals, and that neither it nor its asker outlives the
 * other. */
#include "test_base.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/broker.h"
#include "base/clock.h"
#include "base/limits.h"

static int no_orphan = -1;

/* Returns what it knows, and gives back the file that it was given. */
static int serve_echo(void *data, const struct broker_message *in, struct broker_message *out,
		      struct error *err)
{
	if (in->len == 0)
		return error_set(err, ERR_CONFLICT, "nothing was said to %s", (const char *)data);
	out->len =
		(size_t)snprintf(out->bytes, BROKER_BYTES, "%s: %s", (const char *)data, in->bytes);
	out->nfds = in->nfds;
	if (in->nfds)
		out->fds[0] = dup(in->fds[0]);
	return 0;
}

/* Returns what is left to the asker. */
static uint64_t soon_ms = 300, late_ms = 3600000;

static int serve_end(void *data, const struct broker_message *in, struct broker_message *out,
		     struct error *err)
{
	(void)in, (void)out, (void)err;
	broker_end_asker(clock_mono_ns() + *(const uint64_t *)data * NS_PER_MS);
	return 0;
}

static int serve_last(void *data, const struct broker_message *in, struct broker_message *out,
		      struct error *err)
{
	broker_take_no_more();
	return serve_end(data, in, out, err);
}

/* It has done its duty when the asker has ended. */
static int serve_long(void *data, const struct broker_message *in, struct broker_message *out,
		      struct error *err)
{
	struct proc asker = PROC_NONE;

	(void)serve_last(data, in, out, err);
	if (proc_hold(broker_asker(), &asker, err) < 0)
		return -1;
	return fd_wait(asker.pidfd, POLLIN, UINT64_MAX, err);
}

static const struct broker_duty echo = {serve_echo}, unlisted = {serve_echo}, last = {serve_last},
				ending = {serve_end}, lasting = {serve_long};

static struct proc start(void)
{
	static char name[] = "broker";
	static const struct broker_row rows[] = {
		{&echo, name, "a test"},
		{&proc_kill_duty, &no_orphan, "a test"},
		{&proc_start_time_duty, NULL, "a test"},
	};
	const struct broker_spec spec = {.rows = rows, .count = ARRAY_SIZE(rows)};
	struct proc broker = PROC_NONE;
	struct error err = {0};

	assert_int_equal(broker_start(&spec, &broker, &err), 0);
	assert_true(broker_is_asked());
	return broker;
}

static void asked_and_answered(void **state)
{
	struct proc broker = start();
	struct broker_message in = {.len = 5, .bytes = "hello"}, out;
	const struct broker_message nothing = {0};
	struct error err = {0};
	char word[8] = "";
	int ends[2];

	(void)state;
	assert_int_equal(fd_pipe(ends, &err), 0);
	in.nfds = 1;
	in.fds[0] = ends[1];
	assert_int_equal(broker_ask(&echo, &in, &out, &err), 0);
	assert_string_equal(out.bytes, "broker: hello");
	assert_int_equal(out.nfds, 1);
	close(ends[1]);
	assert_int_equal(write(out.fds[0], "word", 4), 4);
	close(out.fds[0]);
	assert_int_equal(read(ends[0], word, sizeof(word)), 4);
	assert_int_equal(read(ends[0], word, sizeof(word)), 0); /* it has kept none of them */
	assert_int_equal(broker_ask(&echo, &nothing, &out, &err), -1);
	assert_int_equal(err.code, ERR_CONFLICT);
	assert_string_equal(err.msg, "nothing was said to broker");
	assert_int_equal(broker_ask(&unlisted, &in, &out, &err), -1);
	close(ends[0]);
	broker_end(&broker);
	assert_false(broker_is_asked());
	assert_int_equal(broker.pid, 0);
}

static pid_t sleeper(int *pidfd)
{
	struct proc proc = {.pid = fork(), .pidfd = -1};
	struct error err = {0};

	if (proc.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	assert_int_equal(proc_adopt(&proc, &err), 0);
	*pidfd = proc.pidfd;
	return proc.pid;
}

/* It ends only descendants of the asker: not the asker, not the broker, not a stranger. */
static void it_ends_our_own_alone(void **state)
{
	struct proc own = {.pid = getpid(), .pidfd = -1}, above = {.pid = getppid(), .pidfd = -1};
	struct proc broker = start();
	struct error err = {0};
	int child, status;
	pid_t pid = sleeper(&child);

	(void)state;
	assert_int_equal(proc_adopt(&own, &err), 0);
	assert_int_equal(proc_adopt(&above, &err), 0);
	assert_int_equal(proc_kill(&own, &err), -1);
	assert_int_equal(err.code, ERR_DENIED);
	assert_int_equal(proc_kill(&above, &err), -1);
	assert_int_equal(err.code, ERR_DENIED);
	assert_int_equal(proc_kill(&broker, &err), -1);
	assert_int_equal(err.code, ERR_DENIED);
	assert_int_equal(proc_kill(&(struct proc){0, STDIN_FILENO}, &err),
			 -1); /* no process at all */
	assert_int_equal(proc_kill(&(struct proc){pid, child}, &err), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	close(child);
	close(own.pidfd);
	close(above.pidfd);
	broker_end(&broker);
}

/* It says when a process of its own began, and not for others, since pid and beginning together
 * identify a process in a record. */
static void it_knows_its_own_alone(void **state)
{
	struct proc broker = start();
	uint64_t ticks = 0, asker = 0;
	struct error err = {0};
	int child, status;
	pid_t pid = sleeper(&child);

	(void)state;
	assert_int_equal(proc_start_time(getpid(), &asker, &err), 0);
	assert_int_equal(proc_start_time(broker.pid, &ticks, &err), 0);
	assert_int_equal(proc_start_time(pid, &ticks, &err), 0);
	assert_true(asker > 0 && ticks >= asker);
	assert_int_equal(proc_start_time(getppid(), &ticks, &err), -1);
	assert_int_equal(err.code, ERR_DENIED);
	assert_string_equal(
		err.msg,
		"the broker refuses the request, because this process does not belong to the machine: this is a bug, or the live supervisor was taken over");
	assert_int_equal(proc_start_time(1, &ticks, &err), -1);
	assert_int_equal(err.code, ERR_DENIED);
	assert_int_equal(proc_start_time(0, &ticks, &err), -1);
	assert_int_equal(proc_kill(&(struct proc){pid, child}, &err), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	close(child);
	broker_end(&broker);
}

static void a_broker_that_dies_is_an_error(void **state)
{
	struct broker_message in = {.len = 1, .bytes = "x"}, out;
	struct proc broker = start();
	struct error err = {0};

	(void)state;
	kill(broker.pid, SIGKILL);
	assert_int_equal(fd_wait(broker.pidfd, POLLIN, UINT64_MAX, &err), 0);
	assert_int_equal(broker_ask(&echo, &in, &out, &err), -1);
	broker_end(&broker);
}

/* The broker has the write end too, so its end is seen. */
static void it_dies_with_who_asks(void **state)
{
	struct error err = {0};
	int ends[2], keep;
	char byte;
	pid_t pid;

	(void)state;
	assert_int_equal(fd_pipe(ends, &err), 0);
	keep = ends[1];
	pid = fork();
	if (pid == 0) {
		const struct broker_spec spec = {.keep = &keep, .nkeep = 1};
		struct proc broker = PROC_NONE;

		if (broker_start(&spec, &broker, &err) < 0)
			_exit(1);
		kill(getpid(), SIGKILL);
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 0);
	waitpid(pid, NULL, 0);
	close(ends[0]);
}

/* --- who asks has been taken over ------------------------------------------------------------ */

/* By row. */
static const uint32_t ask_echo = 0, ask_last = 1, ask_long = 2, ask_end_soon = 3, ask_end_late = 4;

/* The socket by which the modules of this process ask. */
static int find_socket(void)
{
	socklen_t len = sizeof(int);
	int type;

	for (int fd = 3; fd < 64; fd++)
		if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_SEQPACKET)
			return fd;
	_exit(1);
}

/* Sends without reading answers. */
typedef void misuse_fn(int sock);

/* A process that asks in that way and then does not end. *ended is readable when the broker has
 * ended, since nobody else has the other end. */
static pid_t asker_of(misuse_fn *misuse, int *ended)
{
	static char name[] = "broker";
	static const struct broker_row rows[] = {
		{&echo, name, "a test"},	{&last, &soon_ms, "a test"},
		{&lasting, &soon_ms, "a test"}, {&ending, &soon_ms, "a test"},
		{&ending, &late_ms, "a test"},
	};
	struct error err = {0};
	int ends[2];
	pid_t pid;

	assert_int_equal(fd_pipe(ends, &err), 0);
	pid = fork();
	if (pid == 0) {
		const struct broker_spec spec = {
			.rows = rows, .count = ARRAY_SIZE(rows), .keep = &ends[1], .nkeep = 1};
		struct proc broker = PROC_NONE;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (broker_start(&spec, &broker, &err) < 0)
			_exit(1);
		close(ends[1]);
		misuse(find_socket());
		for (;;)
			pause();
	}
	close(ends[1]);
	*ended = ends[0];
	return pid;
}

static void require_killed(misuse_fn *misuse)
{
	struct error err = {0};
	struct proc asker = PROC_NONE;
	int ended, code = 0;

	asker.pid = asker_of(misuse, &ended);
	assert_int_equal(proc_adopt(&asker, &err), 0);
	if (proc_wait(&asker, limit_deadline(LIMIT_KILL_MS), &code, &err) < 0)
		proc_end(&asker);
	assert_int_equal(code, 128 + SIGKILL);
	assert_int_equal(fd_wait(ended, POLLIN, limit_deadline(LIMIT_KILL_MS), &err), 0);
	close(ended);
}

static void ask_no_more(int sock)
{
	(void)send(sock, &ask_last, sizeof(ask_last), MSG_NOSIGNAL);
}

static void break_the_protocol(int sock)
{
	ask_no_more(sock);
	(void)send(sock, "x", 1, MSG_NOSIGNAL);
}

static void ask_without_end(int sock)
{
	while (send(sock, &ask_echo, sizeof(ask_echo), MSG_NOSIGNAL) > 0)
		;
}

static void ask_without_end_behind_the_last(int sock)
{
	ask_no_more(sock);
	ask_without_end(sock);
}

static void shut_it(int sock)
{
	ask_no_more(sock);
	(void)shutdown(sock, SHUT_RDWR);
}

static void nothing_keeps_it_from_the_last_duty(void **state)
{
	(void)state;
	require_killed(ask_no_more);
	require_killed(break_the_protocol);
	require_killed(ask_without_end_behind_the_last);
	require_killed(shut_it);
}

static void ask_what_takes_long(int sock)
{
	(void)send(sock, &ask_long, sizeof(ask_long), MSG_NOSIGNAL);
}

static void a_duty_that_takes_long_is_no_delay(void **state)
{
	(void)state;
	require_killed(ask_what_takes_long);
}

static void end_and_go_on(int sock)
{
	(void)send(sock, &ask_end_soon, sizeof(ask_end_soon), MSG_NOSIGNAL);
}

static void end_and_shut_it(int sock)
{
	end_and_go_on(sock);
	(void)shutdown(sock, SHUT_RDWR);
}

static void end_and_ask_without_end(int sock)
{
	end_and_go_on(sock);
	ask_without_end(sock);
}

static void end_and_ask_for_a_later_one(int sock)
{
	end_and_go_on(sock);
	(void)send(sock, &ask_end_late, sizeof(ask_end_late), MSG_NOSIGNAL);
}

static void end_late_and_ask_for_an_earlier_one(int sock)
{
	(void)send(sock, &ask_end_late, sizeof(ask_end_late), MSG_NOSIGNAL);
	end_and_go_on(sock);
}

static void nothing_keeps_it_from_the_end_of_who_asks(void **state)
{
	(void)state;
	require_killed(end_and_go_on);
	require_killed(end_and_shut_it);
	require_killed(end_and_ask_without_end);
	require_killed(end_and_ask_for_a_later_one);
	require_killed(end_late_and_ask_for_an_earlier_one);
}

static void it_waits_for_nobody_who_takes_no_answers(void **state)
{
	struct error err = {0};
	int ended, is;
	pid_t pid = asker_of(ask_without_end, &ended);

	(void)state;
	is = fd_wait(ended, POLLIN, limit_deadline(LIMIT_KILL_MS), &err);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(ended);
	assert_int_equal(is, 0);
}

/* It would wait for us, and we for it. */
static void nobody_waits_for_it_after_the_last_duty(void **state)
{
	const struct broker_message nothing = {0};
	struct error err = {0};
	pid_t pid = fork();
	int status;

	(void)state;
	if (pid == 0) {
		const struct broker_row rows[] = {{&last, &soon_ms, "a test"}};
		const struct broker_spec spec = {.rows = rows, .count = 1};
		struct proc broker = PROC_NONE;

		if (broker_start(&spec, &broker, &err) < 0 ||
		    broker_ask(&last, &nothing, NULL, &err) < 0)
			_exit(1);
		if (broker_ask(&last, &nothing, NULL, &err) == 0) /* it takes no other question */
			_exit(2);
		broker_end(&broker);
		_exit(broker_is_asked() || broker.pid ? 3 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* As above; and until then it is asked. */
static void nobody_waits_for_it_once_it_awaits_our_end(void **state)
{
	static char name[] = "broker";
	const struct broker_message nothing = {0}, in = {.len = 1, .bytes = "x"};
	struct error err = {0};
	pid_t pid = fork();
	int status;

	(void)state;
	if (pid == 0) {
		const struct broker_row rows[] = {{&ending, &late_ms, "a test"},
						  {&echo, name, "a test"}};
		const struct broker_spec spec = {.rows = rows, .count = ARRAY_SIZE(rows)};
		struct proc broker = PROC_NONE;

		if (broker_start(&spec, &broker, &err) < 0 ||
		    broker_ask(&ending, &nothing, NULL, &err) < 0)
			_exit(1);
		if (broker_ask(&echo, &in, NULL, &err) < 0)
			_exit(2);
		limit_set(LIMIT_KILL_MS, UINT32_MAX); /* a process that waited would wait for
						       * ever */
		broker_end(&broker);
		_exit(broker_is_asked() || broker.pid ? 3 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(asked_and_answered),
		cmocka_unit_test(it_ends_our_own_alone),
		cmocka_unit_test(it_knows_its_own_alone),
		cmocka_unit_test(a_broker_that_dies_is_an_error),
		cmocka_unit_test(it_dies_with_who_asks),
		cmocka_unit_test(nothing_keeps_it_from_the_last_duty),
		cmocka_unit_test(a_duty_that_takes_long_is_no_delay),
		cmocka_unit_test(nothing_keeps_it_from_the_end_of_who_asks),
		cmocka_unit_test(it_waits_for_nobody_who_takes_no_answers),
		cmocka_unit_test(nobody_waits_for_it_after_the_last_duty),
		cmocka_unit_test(nobody_waits_for_it_once_it_awaits_our_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
