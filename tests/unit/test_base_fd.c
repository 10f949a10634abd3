/* SPDX-License-Identifier: MIT */
#include "test_base.h"

#include <errno.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/limits.h"

static void assert_cloexec(int fd)
{
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

static void everything_is_cloexec(void **state)
{
	struct error err;
	int p[2], s[2];

	(void)state;
	assert_ok(fd_pipe(p, &err));
	assert_ok(fd_socketpair(s, &err));
	autoclose int m = fd_memfd("x", "abc", 3, &err);
	assert_true(m >= 0);
	assert_cloexec(m);
	for (int i = 0; i < 2; i++) {
		assert_cloexec(p[i]);
		assert_cloexec(s[i]);
		close(p[i]);
		close(s[i]);
	}
	assert_ok(fd_cloexec(m, false, &err));
	assert_false(fcntl(m, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(fd_cloexec(9999, true, &err), -1);
	assert_int_equal(err.errnum, EBADF);
}

static void nonblock_goes_on_and_off(void **state)
{
	struct error err;
	int p[2];
	char c;

	(void)state;
	assert_ok(fd_pipe(p, &err));
	assert_ok(fd_nonblock(p[0], true, &err));
	assert_int_equal(fd_read_exact(p[0], &c, 1, &err), -1);
	assert_code(err, ERR_UNAVAILABLE);
	assert_ok(fd_nonblock(p[0], false, &err));
	assert_false(fcntl(p[0], F_GETFL) & O_NONBLOCK);
	close(p[0]);
	close(p[1]);
	assert_int_equal(fd_nonblock(p[0], true, &err), -1);
}

static void memfd_begins_at_its_start(void **state)
{
	autobuf struct buf out = BUF_INIT(100);
	struct error err;
	autoclose int fd = fd_memfd("data", "some data", 9, &err);

	(void)state;
	assert_ok(fd_read_to_end(fd, &out, &err));
	assert_string_equal(buf_string(&out), "some data");
	autoclose int empty = fd_memfd("empty", NULL, 0, &err);
	assert_true(empty >= 0);
	assert_ok(fd_read_to_end(empty, &out, &err));
	assert_int_equal(out.len, 9);
}

/* A peer that is gone is an error of the write, and does not end the process. */
static void write_to_a_gone_peer(void **state)
{
	struct error err;
	int s[2];

	(void)state;
	assert_ok(fd_socketpair(s, &err));
	close(s[0]);
	assert_int_equal(fd_write_all(s[1], "x", 1, &err), -1);
	assert_int_equal(err.errnum, EPIPE);
	assert_code(err, ERR_IO);
	assert_ok(fd_write_all(s[1], NULL, 0, &err));
	close(s[1]);
}

static void write_takes_as_many_calls_as_needed(void **state)
{
	enum { SIZE = 3 * 1024 * 1024 };
	autofree char *data = malloc(SIZE);
	autobuf struct buf got = BUF_INIT(SIZE);
	struct error err;
	int s[2], status;

	(void)state;
	for (int i = 0; i < SIZE; i++)
		data[i] = (char)(i * 31 + i / 977);
	assert_ok(fd_socketpair(s, &err));
	pid_t pid = fork();
	if (pid == 0)
		_exit(fd_write_all(s[1], data, SIZE, NULL) == 0 ? 0 : 1);
	close(s[1]);
	assert_ok(fd_read_to_end(s[0], &got, &err));
	assert_int_equal(got.len, SIZE);
	assert_memory_equal(buf_bytes(&got), data, SIZE);
	close(s[0]);
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
}

static void read_exact_and_the_early_end(void **state)
{
	struct error err;
	char data[4] = "";
	int p[2];

	(void)state;
	assert_ok(fd_pipe(p, &err));
	assert_ok(fd_write_all(p[1], "abcde", 5, &err));
	assert_ok(fd_read_exact(p[0], data, 0, &err));
	assert_ok(fd_read_exact(p[0], data, 3, &err));
	assert_string_equal(data, "abc");
	close(p[1]);
	assert_int_equal(fd_read_exact(p[0], data, 3, &err), -1);
	assert_code(err, ERR_IO);
	assert_int_equal(err.errnum, 0);
	assert_non_null(strstr(err.msg, "2 of 3"));
	close(p[0]);
}

static void read_to_end_at_the_limit(void **state)
{
	static const size_t sizes[] = {0, 1, 65535, 65536, 65537, 200000};
	autofree char *data = calloc(1, 200001);
	struct error err;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		for (int over = 0; over <= 1; over++) {
			autobuf struct buf out = BUF_INIT(sizes[i] + 3);
			assert_ok(buf_append(&out, "old", 3, &err));
			autoclose int fd = fd_memfd("x", data, sizes[i] + (size_t)over, &err);
			int rc = fd_read_to_end(fd, &out, &err);
			assert_int_equal(rc, over ? -1 : 0);
			assert_int_equal(out.len, over ? 3 : sizes[i] + 3);
			assert_memory_equal(buf_bytes(&out), "old", 3);
			if (over)
				assert_code(err, ERR_INVALID);
		}
}

static void read_to_end_of_a_directory_fails(void **state)
{
	autobuf struct buf out = BUF_INIT(0);
	struct error err;
	autoclose int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	assert_int_equal(fd_read_to_end(fd, &out, &err), -1);
	assert_int_equal(err.errnum, EISDIR);
	assert_int_equal(out.len, 0);
}

static void wait_answers_ready_or_deadline(void **state)
{
	struct error err;
	int p[2];

	(void)state;
	assert_ok(fd_pipe(p, &err));
	assert_int_equal(fd_wait(p[0], POLLIN, 0, &err), -1);
	assert_code(err, ERR_TIMEOUT);
	assert_int_equal(fd_wait(p[0], POLLIN, clock_mono_ns() + NS_PER_MS, &err), -1);
	assert_code(err, ERR_TIMEOUT);
	assert_ok(fd_wait(p[1], POLLOUT, UINT64_MAX, &err));
	assert_ok(fd_wait(p[1], POLLOUT, 0, &err));
	assert_ok(fd_write_all(p[1], "x", 1, &err));
	assert_ok(fd_wait(p[0], POLLIN, UINT64_MAX, &err));
	close(p[1]);
	assert_ok(fd_wait(p[0], POLLIN, UINT64_MAX - 1, &err));
	close(p[0]);
	assert_int_equal(fd_wait(p[0], POLLIN, UINT64_MAX, &err), -1);
	assert_int_equal(err.errnum, EBADF);
}

/* Runs fn in a child, since fn closes descriptors. Returns fn's exit code. */
static int in_child(int (*fn)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(fn());
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

static int close_all_but_three(void)
{
	static const int keep[] = {40, -1, 7, 40, 20, 1};

	for (int fd = 3; fd < 60; fd++)
		if (dup2(0, fd) != fd)
			return 100;
	fd_close_others(keep, ARRAY_SIZE(keep));
	for (int fd = 0; fd < 60; fd++) {
		bool open = fcntl(fd, F_GETFD) >= 0;
		if (open != (fd <= 2 || fd == 7 || fd == 20 || fd == 40))
			return fd + 1;
	}
	return 0;
}

static int close_all(void)
{
	dup2(0, 3);
	dup2(0, 200);
	fd_close_others(NULL, 0);
	return fcntl(3, F_GETFD) >= 0 || fcntl(200, F_GETFD) >= 0 || fcntl(2, F_GETFD) < 0;
}

static int fill_two_of_three(void)
{
	struct stat st, null;

	if (dup2(STDERR_FILENO, 50) < 0 || stat("/dev/null", &null) < 0)
		return 2;
	close(0);
	close(2);
	if (fd_fill_standard(NULL) < 0)
		return 3;
	for (int fd = 0; fd <= 2; fd += 2)
		if (fstat(fd, &st) < 0 || st.st_rdev != null.st_rdev ||
		    (fcntl(fd, F_GETFD) & FD_CLOEXEC))
			return 4;
	return 0;
}

static void close_others_keeps_what_is_listed(void **state)
{
	(void)state;
	assert_int_equal(in_child(close_all_but_three), 0);
	assert_int_equal(in_child(close_all), 0);
}

static void standard_descriptors_are_filled(void **state)
{
	(void)state;
	assert_int_equal(in_child(fill_two_of_three), 0);
}

/* A directory whose path has more than 300 characters, three times as many as a socket address can
 * hold. */
static int open_long_directory(const struct scratch *s)
{
	autofree char *path = NULL;
	struct error err;
	int fd;

	assert_true(asprintf(&path, "%s/%0150d/%0150d", s->path, 1, 2) > 300);
	assert_ok(fd = path_open_dir(path, &err));
	return fd;
}

static void sockets_in_a_long_directory(void **state)
{
	autoclose int dir = open_long_directory(*state);
	struct error err;
	struct stat st;
	char text[6] = "";

	autoclose int listener = sock_listen_at(dir, "vsock.sock", &err);
	assert_true(listener >= 0);
	assert_cloexec(listener);
	assert_int_equal(sock_accept(listener, &err), -1);
	assert_code(err, ERR_UNAVAILABLE);
	autoclose int client = sock_connect_at(dir, "vsock.sock", &err);
	assert_true(client >= 0);
	autoclose int server = sock_accept(listener, &err);
	assert_true(server >= 0);
	assert_cloexec(client);
	assert_cloexec(server);
	assert_false(fcntl(server, F_GETFL) & O_NONBLOCK);
	assert_false(fcntl(client, F_GETFL) & O_NONBLOCK);
	assert_ok(fd_write_all(client, "hello", 5, &err));
	assert_ok(fd_read_exact(server, text, 5, &err));
	assert_string_equal(text, "hello");
	assert_int_equal(fstatat(dir, "vsock.sock", &st, 0), 0);
	assert_true(S_ISSOCK(st.st_mode));
}

static void socket_mode_is_0600_whatever_the_umask(void **state)
{
	const struct scratch *s = *state;
	static const mode_t masks[] = {0, 0022, 0077};
	char name[8];
	struct error err;
	struct stat st;

	for (size_t i = 0; i < ARRAY_SIZE(masks); i++) {
		mode_t before = umask(masks[i]);
		snprintf(name, sizeof(name), "s%zu", i);
		autoclose int fd = sock_listen_at(s->fd, name, &err);
		assert_int_equal(umask(before), masks[i]);
		assert_true(fd >= 0);
		assert_int_equal(fstatat(s->fd, name, &st, 0), 0);
		assert_int_equal(st.st_mode & 07777, 0600);
	}
}

static void bad_socket_names(void **state)
{
	static const char *const names[] = {"", "a/b", "/tmp/x", "../x"};
	const struct scratch *s = *state;
	char longest[120];
	struct error err;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		assert_int_equal(sock_listen_at(s->fd, names[i], &err), -1);
		assert_code(err, ERR_INVALID);
		assert_int_equal(sock_connect_at(s->fd, names[i], &err), -1);
		assert_code(err, ERR_INVALID);
	}
	memset(longest, 'n', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(sock_connect_at(s->fd, longest, &err), -1);
	assert_code(err, ERR_INVALID);
}

/* A user who may write to a directory of ours must not choose, by a link, the server that we
 * connect to. */
static void no_link_to_a_socket_is_followed(void **state)
{
	const struct scratch *s = *state;
	struct error err = {0};
	autoclose int other = sock_listen_at(s->fd, "other", &err);

	assert_true(other >= 0);
	assert_int_equal(symlinkat("other", s->fd, "link"), 0);
	assert_int_equal(sock_connect_at(s->fd, "link", &err), -1);
	assert_int_equal(err.errnum, ELOOP);
	assert_int_equal(sock_connect_now_at(s->fd, "link", &err), -1);
	assert_int_equal(err.errnum, ELOOP);
	assert_non_null(strstr(err.msg, "connect to socket link: "));
	close(openat(s->fd, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	assert_int_equal(sock_connect_now_at(s->fd, "file", &err), -1);
	assert_int_equal(err.errnum, ECONNREFUSED);
	assert_code(err, ERR_UNAVAILABLE);
	autoclose int straight = sock_connect_now_at(s->fd, "other", &err);
	assert_true(straight >= 0);
}

static void absent_and_dead_sockets(void **state)
{
	const struct scratch *s = *state;
	struct error err;

	assert_int_equal(sock_connect_at(s->fd, "none", &err), -1);
	assert_code(err, ERR_NOT_FOUND);
	close(sock_listen_at(s->fd, "dead", &err));
	assert_int_equal(sock_connect_at(s->fd, "dead", &err), -1);
	assert_int_equal(err.errnum, ECONNREFUSED);
	assert_int_equal(sock_listen_at(s->fd, "dead", &err), -1);
	assert_int_equal(err.errnum, EADDRINUSE);
	assert_int_equal(faccessat(s->fd, "dead", F_OK, 0), 0);
}

/* A listener that never accepts must not block a client for ever. */
/* No client is refused because many others come at the same time. */
static void many_clients_at_once_find_room(void **state)
{
	const struct scratch *s = *state;
	int clients[400];
	struct error err;

	autoclose int listener = sock_listen_at(s->fd, "many", &err);
	assert_true(listener >= 0);
	for (size_t i = 0; i < ARRAY_SIZE(clients); i++) {
		clients[i] = sock_connect_at(s->fd, "many", &err);
		assert_true(clients[i] >= 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(clients); i++)
		close(clients[i]);
}

static void stuck_listener_times_out(void **state)
{
	const struct scratch *s = *state;
	int clients[16], n = 0;
	struct error err;

	autoclose int listener = sock_listen_at(s->fd, "stuck", &err);
	assert_true(listener >= 0);
	assert_int_equal(listen(listener, 1), 0); /* fewer than it takes by itself */
	limit_set(LIMIT_DIAL_MS, 1);
	while (n < 16 && (clients[n] = sock_connect_at(s->fd, "stuck", &err)) >= 0)
		n++;
	limit_reset(LIMIT_DIAL_MS);
	assert_in_range(n, 1, 15);
	assert_code(err, ERR_TIMEOUT);
	for (int i = 0; i < n; i++)
		close(clients[i]);
}

static void failures_leak_no_descriptor(void **state)
{
	const struct scratch *s = *state;
	int before = open_descriptors();
	struct error err;

	close(sock_listen_at(s->fd, "there", &err));
	for (int i = 0; i < 5; i++) {
		sock_listen_at(s->fd, "there", &err);
		sock_connect_at(s->fd, "there", &err);
		sock_connect_at(s->fd, "a/b", &err);
	}
	assert_int_equal(open_descriptors(), before);
}

#define WITH_SCRATCH(f) cmocka_unit_test_setup_teardown(f, scratch_make, scratch_remove)

static void the_limit_of_open_files_is_raised(void **state)
{
	struct rlimit before, files;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	files = (struct rlimit){.rlim_cur = 64, .rlim_max = before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	assert_int_equal(fd_raise_limit(32), 64); /* it is enough as it is */
	assert_int_equal(fd_raise_limit(65), 65);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	assert_int_equal(files.rlim_cur, 65);
	assert_int_equal(fd_raise_limit(UINT64_MAX), before.rlim_max); /* as far as it goes */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_is_cloexec),
		cmocka_unit_test(nonblock_goes_on_and_off),
		cmocka_unit_test(memfd_begins_at_its_start),
		cmocka_unit_test(write_to_a_gone_peer),
		cmocka_unit_test(write_takes_as_many_calls_as_needed),
		cmocka_unit_test(read_exact_and_the_early_end),
		cmocka_unit_test(read_to_end_at_the_limit),
		cmocka_unit_test(read_to_end_of_a_directory_fails),
		cmocka_unit_test(wait_answers_ready_or_deadline),
		cmocka_unit_test(close_others_keeps_what_is_listed),
		cmocka_unit_test(standard_descriptors_are_filled),
		cmocka_unit_test(the_limit_of_open_files_is_raised),
		WITH_SCRATCH(sockets_in_a_long_directory),
		WITH_SCRATCH(socket_mode_is_0600_whatever_the_umask),
		WITH_SCRATCH(bad_socket_names),
		WITH_SCRATCH(no_link_to_a_socket_is_followed),
		WITH_SCRATCH(absent_and_dead_sockets),
		WITH_SCRATCH(many_clients_at_once_find_room),
		WITH_SCRATCH(stuck_listener_times_out),
		WITH_SCRATCH(failures_leak_no_descriptor),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
