/* SPDX-License-Identifier: MIT */
/* Tests the promises of the headers of base/platform, on the system that the tests run on. */
#include "test_base.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "base/platform/descriptor.h"
#include "base/platform/dir_watch.h"
#include "base/platform/file.h"
#include "base/platform/process.h"
#include "base/platform/waitable.h"

static bool is_readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

static void await_readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	assert_int_equal(descriptor_poll(&p, 1, UINT64_MAX), 1);
}

static void make_file(const struct scratch *s, const char *name)
{
	autoclose int fd = openat(s->fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, name, 1), 1);
}

static void a_wake_up_is_there_until_it_is_cleared(void **state)
{
	autoclose int wake = wake_open();

	(void)state;
	assert_true(wake >= 0);
	assert_false(is_readable(wake));
	wake_raise(wake);
	errno = 7;
	wake_raise(wake);
	assert_int_equal(errno, 7);
	assert_true(is_readable(wake));
	wake_clear(wake);
	assert_false(is_readable(wake));
	wake_clear(wake); /* does not wait */
}

static void a_signal_is_taken_once(void **state)
{
	autoclose int fd = -1;
	sigset_t set, pending;

	(void)state;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	assert_int_equal(sigprocmask(SIG_BLOCK, &set, NULL), 0);
	raise(SIGUSR2); /* before anybody looks */
	fd = signal_fd_open(&set);
	assert_true(fd >= 0);
	await_readable(fd);
	assert_int_equal(signal_fd_take(fd), SIGUSR2);
	assert_int_equal(signal_fd_take(fd), 0);
	assert_false(is_readable(fd));
	raise(SIGUSR2);
	await_readable(fd);
	assert_int_equal(signal_fd_take(fd), SIGUSR2);
	assert_int_equal(sigpending(&pending), 0);
	assert_int_equal(sigismember(&pending, SIGUSR2), 0);
}

static void one_descriptor_stands_for_several(void **state)
{
	autoclose int any = any_fd_open(), one = wake_open(), late = timer_fd_open(1);

	(void)state;
	assert_true(any >= 0 && one >= 0 && late >= 0);
	assert_int_equal(any_fd_add(any, one), 0);
	assert_int_equal(any_fd_add(any, one), 0);
	assert_false(is_readable(any));
	wake_raise(one);
	assert_true(is_readable(any));
	wake_clear(one);
	assert_false(is_readable(any));
	assert_int_equal(any_fd_add(any, late), 0);
	await_readable(any);
	assert_true(timer_fd_is_due(late));
	assert_false(timer_fd_is_due(late));
	assert_false(is_readable(any));
}

static void note_number(int number, void *data)
{
	*(unsigned *)data |= 1u << number;
}

static void a_directory_tells_what_happens_in_it(void **state)
{
	const struct scratch *s = *state;
	autowatch int watch = dir_watch_open();
	unsigned seen = 0;
	int sub, top;

	assert_true(watch >= 0);
	assert_int_equal(mkdirat(s->fd, "sub", 0700), 0);
	sub = dir_watch_add(watch, s->fd, "sub", DIR_WATCH_MOVED_IN | DIR_WATCH_GONE);
	top = dir_watch_add(watch, AT_FDCWD, s->path, DIR_WATCH_MADE | DIR_WATCH_WRITTEN);
	assert_true(sub >= 0 && top >= 0 && sub != top && sub < 32 && top < 32);
	assert_int_equal(dir_watch_add(watch, s->fd, "absent", DIR_WATCH_MADE), -1);
	assert_false(dir_watch_take(watch, note_number, &seen));
	make_file(s, "file");
	await_readable(watch);
	assert_true(dir_watch_take(watch, note_number, &seen));
	assert_int_equal(seen, 1u << top);
	assert_false(is_readable(watch));
	seen = 0;
	assert_int_equal(renameat(s->fd, "file", s->fd, "sub/file"), 0);
	await_readable(watch);
	assert_true(dir_watch_take(watch, note_number, &seen));
	assert_true(seen & 1u << sub);
	assert_int_equal(unlinkat(s->fd, "sub/file", 0), 0);
	assert_int_equal(unlinkat(s->fd, "sub", AT_REMOVEDIR), 0);
	await_readable(watch);
	assert_true(dir_watch_take(watch, NULL, NULL));
}

static void nothing_leads_out_of_below(void **state)
{
	const struct scratch *s = *state;
	const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
	int fd;

	assert_int_equal(mkdirat(s->fd, "a", 0700), 0);
	assert_int_equal(mkdirat(s->fd, "a/b", 0700), 0);
	assert_int_equal(symlinkat("a", s->fd, "link"), 0);
	assert_int_equal(symlinkat("b", s->fd, "a/link"), 0);
	fd = file_open_within(s->fd, "a/b", flags, FILE_BELOW);
	assert_true(fd >= 0);
	close(fd);
	fd = file_open_place_within(s->fd, ".", FILE_BELOW);
	assert_true(fd >= 0 && faccessat(fd, "a", F_OK, 0) == 0);
	close(fd);
	assert_int_equal(file_open_within(s->fd, "..", flags, FILE_BELOW), -1);
	assert_int_equal(file_open_within(s->fd, "/", flags, FILE_BELOW), -1);
	assert_int_equal(file_open_within(s->fd, "link/b", flags, FILE_BELOW), -1);
	assert_int_equal(file_open_within(s->fd, "a/link", flags, FILE_BELOW), -1);
}

static void a_new_name_takes_no_others_place(void **state)
{
	const struct scratch *s = *state;

	make_file(s, "one");
	make_file(s, "two");
	assert_int_equal(file_rename_new(s->fd, "one", s->fd, "two"), -1);
	assert_int_equal(errno, EEXIST);
	assert_int_equal(file_rename_new(s->fd, "one", s->fd, "three"), 0);
	assert_int_equal(faccessat(s->fd, "one", F_OK, 0), -1);
}

static void a_descriptor_has_a_path_and_is_opened_anew(void **state)
{
	const struct scratch *s = *state;
	char path[256], small[4], byte;

	make_file(s, "file");
	autoclose int fd = openat(s->fd, "file", O_RDWR | O_CLOEXEC);
	assert_true(file_path(fd, path, sizeof(path)) > 0);
	assert_string_equal(path, scratch_path(s, "file"));
	assert_int_equal(read(fd, small, sizeof(small)), 1);
	autoclose int again = file_reopen(fd, O_RDONLY | O_CLOEXEC);
	assert_int_equal(read(again, &byte, 1), 1); /* from its beginning */
}

static void a_made_clone_is_whole_or_empty(void **state)
{
	const struct scratch *s = *state;
	bool cloned;
	struct stat st;
	int why;

	make_file(s, "from");
	autoclose int from = openat(s->fd, "from", O_RDONLY | O_CLOEXEC);
	autoclose int to = file_make_clone(from, s->fd, "to", &cloned, &why);
	assert_true(to >= 0 && fstat(to, &st) == 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_size, cloned ? 1 : 0);
	assert_int_equal(why == 0, cloned);
	assert_int_equal(file_make_clone(from, s->fd, "to", &cloned, &why), -1);
	assert_int_equal(errno, EEXIST);
}

/* For a file in the tests' own directory, which may be on a file system without it. */
static void who_writes_to_a_held_file_waits(void **state)
{
	const struct scratch *s = *state;

	make_file(s, "held");
	autoclose int fd = openat(s->fd, "held", O_RDONLY | O_CLOEXEC);
	if (file_hold(fd, 1) < 0) {
		assert_int_equal(errno, ENOTSUP);
		skip();
	}
	autoclose int copy = dup(fd);
	assert_true(file_is_held(fd) && file_is_held(copy));
	autoclose int other = openat(s->fd, "held", O_RDONLY | O_CLOEXEC);
	assert_true(other >= 0 && !file_is_held(other));
	assert_int_equal(file_hold(other, 1), 0);
	file_let_go(other);
	close(steal_fd(&fd));
	assert_true(file_is_held(copy));
	assert_int_equal(openat(s->fd, "held", O_WRONLY | O_NONBLOCK), -1);
	assert_int_equal(errno, EWOULDBLOCK); /* and nobody was ended by a signal */
	assert_false(file_is_held(copy));     /* somebody waits */
	file_let_go(copy);
	autoclose int writer = openat(s->fd, "held", O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(writer >= 0);
	assert_int_equal(file_hold(copy, 1), -1);
	assert_int_equal(errno, EAGAIN);
	close(steal_fd(&writer));
	assert_int_equal(file_hold(copy, UINT64_MAX), -1); /* no system waits as long */
	assert_int_equal(errno, ENOTSUP);
}

static int is_own(pid_t pid, void *data)
{
	(void)data;
	return pid == getpid() ? 17 : 0;
}

static int note_file(const struct process_file *file, void *data)
{
	const struct stat *st = data;

	return file->is_read && file->dev == st->st_dev && file->ino == st->st_ino ? 5 : 0;
}

static void this_process_is_in_the_list_with_its_files(void **state)
{
	const struct scratch *s = *state;
	char program[PATH_MAX], name[17];
	autobuf struct buf words = BUF_INIT(65536);
	struct error err;
	struct stat st;

	assert_int_equal(process_each(is_own, NULL, &err), 17);
	make_file(s, "held");
	autoclose int fd = openat(s->fd, "held", O_RDONLY | O_CLOEXEC);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(process_each_file(getpid(), "held", note_file, &st), 5);
	assert_int_equal(process_each_file(getpid(), "other", note_file, &st), 0);
	assert_int_equal(process_own_program(program), 0);
	assert_string_equal(strrchr(program, '/'), "/test_base_platform");
	assert_int_equal(process_arguments(getpid(), &words), 0);
	assert_non_null(strstr(buf_string(&words), "test_base_platform"));
	process_name(getpid(), name);
	assert_int_equal(strncmp(name, "test_base_platform", 15), 0);
	assert_int_equal(process_parent(getpid()), getppid());
	umask(027);
	assert_int_equal(process_umask(), 027);
}

/* Where the system tells it at all. */
static void memory_is_told_and_grows_with_what_is_touched(void **state)
{
	enum { ROOM = 8 << 20 };
	struct process_memory before, after;
	struct error err = {0};
	autofree char *room = NULL;

	(void)state;
	if (process_memory(getpid(), &before, &err) < 0) {
		assert_int_equal(err.code, ERR_UNSUPPORTED);
		return;
	}
	assert_true(before.alone > 0 && before.alone <= before.proportional);
	assert_true(before.proportional <= before.resident);
	room = malloc(ROOM);
	assert_non_null(room);
	memset(room, 1, ROOM);
	assert_int_equal(process_memory(getpid(), &after, &err), 0);
	assert_true(after.alone >= before.alone + ROOM / 2);
	assert_int_equal(process_memory(INT32_MAX, &after, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
}

static void the_null_device_keeps_its_mode(void **state)
{
	autoclose int fd = descriptor_null();
	struct stat st;
	char byte;

	(void)state;
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(write(fd, "x", 1), 1);
	assert_int_equal(read(fd, &byte, 1), 0);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(fchmod(fd, st.st_mode & 07777), -1);
	assert_int_equal(errno, geteuid() == 0 ? EROFS : EPERM);
}

/* --- a port of the loopback -------------------------------------------------------------------- */

enum { TURNS = 1000, TURNS_PER_CLIENT = 20, NOBODY = 65534 };

struct place {
	struct sockaddr_storage address;
	socklen_t len;
};

static struct place v4_loopback(in_port_t port)
{
	struct place place = {.len = sizeof(struct sockaddr_in)};
	struct sockaddr_in *in = (struct sockaddr_in *)&place.address;

	*in = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = port};
	in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return place;
}

static struct place v6_loopback(in_port_t port)
{
	struct place place = {.len = sizeof(struct sockaddr_in6)};
	struct sockaddr_in6 *in = (struct sockaddr_in6 *)&place.address;

	*in = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = port};
	in->sin6_addr = in6addr_loopback;
	return place;
}

static int socket_for(const struct place *place)
{
	return descriptor_socket(place->address.ss_family, SOCK_STREAM, 0, false);
}

static int try_to_bind(int fd, const struct place *place)
{
	return bind(fd, (const struct sockaddr *)&place->address, place->len);
}

static int hold(int fd, const struct place *place)
{
	return descriptor_bind_port(fd, (const struct sockaddr *)&place->address, place->len);
}

static void assert_is_taken(const struct place *place)
{
	autoclose int fd = socket_for(place);

	errno = 0;
	assert_int_equal(hold(fd, place), -1);
	assert_int_equal(errno, EADDRINUSE);
}

static bool connects(const struct place *place)
{
	autoclose int fd = socket_for(place);

	return connect(fd, (const struct sockaddr *)&place->address, place->len) == 0;
}

/* Makes a connection in which the server waits for a byte of the client. The server ends the
 * connection first, so that the rest of it stays at the port. */
static void serve_one(int listener, const struct place *place)
{
	autoclose int client = socket_for(place);
	int server;
	char byte;

	assert_int_equal(connect(client, (const struct sockaddr *)&place->address, place->len), 0);
	server = descriptor_accept(listener, NULL, false);
	errno = 0;
	assert_int_equal(recv(server, &byte, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(write(client, "x", 1), 1);
	assert_int_equal(read(server, &byte, 1), 1);
	close(server);
	assert_int_equal(read(client, &byte, 1), 0);
}

/* Linux 6.8 is the first that does (TCP_BOUND_INACTIVE). */
static bool kernel_lists_bound_sockets(void)
{
	struct utsname name;
	int major = 0, minor = 0;

	assert_int_equal(uname(&name), 0);
	assert_int_equal(sscanf(name.release, "%d.%d", &major, &minor), 2);
	return major > 6 || (major == 6 && minor >= 8);
}

/* An earlier program has served at a port that is free now. Returns that port. If `shared`, the
 * rest of its connections can be shared by SO_REUSEPORT, as the rest of a machine's. */
static in_port_t port_of_an_earlier_one(struct place place, int shared)
{
	autoclose int fd = socket_for(&place);
	int on = 1;

	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)), 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &shared, sizeof(shared)), 0);
	assert_int_equal(try_to_bind(fd, &place), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&place.address, &place.len), 0);
	serve_one(fd, &place);
	return place.address.ss_family == AF_INET
		       ? ((const struct sockaddr_in *)&place.address)->sin_port
		       : ((const struct sockaddr_in6 *)&place.address)->sin6_port;
}

/* An older kernel cannot distinguish the rest of any program from a port that another user has
 * bound. */
static in_port_t port_of_an_earlier_program(struct place place)
{
	const bool any = kernel_lists_bound_sockets();

	if (!any)
		print_message("a kernel before Linux 6.8: an earlier machine instead\n");
	return port_of_an_earlier_one(place, !any);
}

/* Returns what another process counts. */
struct tries {
	atomic_uint all, bound;
};

/* Tries to bind the port in each way, and keeps it if that works. */
static void try_as_nobody(struct tries *tries, const struct place *place)
{
	if (setgid(NOBODY) < 0 || setuid(NOBODY) < 0)
		_exit(1);
	for (unsigned ways = 0;; ways++) {
		int fd = socket_for(place), address = ways & 1, port = ways >> 1 & 1;

		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &address, sizeof(address));
		setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &port, sizeof(port));
		if (try_to_bind(fd, place) == 0) {
			atomic_fetch_add(&tries->bound, 1);
			listen(fd, 1);
		} else {
			close(fd);
		}
		atomic_fetch_add(&tries->all, 1);
	}
}

static void await_tries(struct tries *tries)
{
	for (unsigned seen = atomic_load(&tries->all); atomic_load(&tries->all) - seen < 2;)
		sched_yield();
}

static void hold_against_nobody(struct place place)
{
	struct tries *tries = mmap(NULL, sizeof(*tries), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	autoclose int fd = socket_for(&place);
	pid_t nobody;

	assert_ptr_not_equal(tries, MAP_FAILED);
	assert_int_equal(hold(fd, &place), 0);
	nobody = fork();
	if (nobody == 0) {
		close(fd);
		try_as_nobody(tries, &place);
	}
	for (int turn = 0; turn < TURNS && atomic_load(&tries->bound) == 0; turn++) {
		await_tries(tries);
		if (descriptor_listen(fd) < 0)
			break;
		if (turn % TURNS_PER_CLIENT == 0)
			serve_one(fd, &place);
		if (descriptor_hold_port(fd) < 0)
			break;
	}
	kill(nobody, SIGKILL);
	assert_int_equal(waitpid(nobody, NULL, 0), nobody);
	assert_int_equal(atomic_load(&tries->bound), 0);
	assert_int_equal(descriptor_listen(fd), 0);
	munmap(tries, sizeof(*tries));
}

/* While it listens, while it does not, and in between, whatever is left of earlier connections. */
static void nobody_else_gets_a_port_that_is_held(void **state)
{
	(void)state;
	if (getuid() != 0) {
		print_message("only root can be another user\n");
		skip();
	}
	hold_against_nobody(v4_loopback(port_of_an_earlier_program(v4_loopback(0))));
	hold_against_nobody(v6_loopback(port_of_an_earlier_program(v6_loopback(0))));
}

/* A socket at an address where another user binds and listens, if that user can. */
struct bind_try {
	const char *host;
	bool for_both; /* families */
};

static const struct bind_try bind_tries[] = {
	{"0.0.0.0", false},	    {"127.0.0.1", false}, {"127.0.0.2", false},
	{"127.0.0.6", false},	    {"::", false},	  {"::", true},
	{"::ffff:127.0.0.1", true}, {"::1", false},	  {"::1", true},
};

static int listen_by(const struct bind_try *how, in_port_t port, int reuse_address)
{
	struct place place = strchr(how->host, ':') ? v6_loopback(port) : v4_loopback(port);
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&place.address;
	int fd = socket_for(&place), on = 1, v6only = !how->for_both;

	if (place.address.ss_family == AF_INET6) {
		inet_pton(AF_INET6, how->host, &v6->sin6_addr);
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &v6only, sizeof(v6only));
	} else {
		inet_pton(AF_INET, how->host, &((struct sockaddr_in *)v6)->sin_addr);
	}
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &reuse_address, sizeof(reuse_address));
	setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
	if (try_to_bind(fd, &place) == 0)
		(void)listen(fd, 1);
	return fd;
}

/* Two sockets, since the kernel compares the second one only with the first. */
static bool takes_over(const struct place *place, in_port_t port)
{
	for (size_t i = 0; i < ARRAY_SIZE(bind_tries); i++)
		for (size_t j = 0; j < ARRAY_SIZE(bind_tries); j++)
			for (int reuse = 0; reuse < 2; reuse++) {
				autoclose int first = listen_by(&bind_tries[i], port, reuse);
				autoclose int second = listen_by(&bind_tries[j], port, reuse);

				if (connects(place))
					return true;
			}
	return false;
}

static void guard_against_nobody(struct place place, in_port_t port)
{
	autoclose int fd = socket_for(&place), guard = -1;
	pid_t nobody;
	int status;

	assert_int_equal(hold(fd, &place), 0);
	assert_int_equal(descriptor_guard_port(fd, &guard), 0);
	for (int turn = 0; turn < 2; turn++) {
		nobody = fork();
		if (nobody == 0)
			_exit(setgid(NOBODY) < 0 || setuid(NOBODY) < 0 || takes_over(&place, port));
		assert_int_equal(waitpid(nobody, &status, 0), nobody);
		assert_int_equal(status, 0);
		assert_int_equal(descriptor_listen(fd), 0);
		serve_one(fd, &place);
		assert_int_equal(descriptor_hold_port(fd), 0);
	}
}

/* Before the server listens, and after its end. */
static void nobody_else_gets_a_port_by_another_address(void **state)
{
	in_port_t v4 = port_of_an_earlier_program(v4_loopback(0));
	in_port_t v6 = port_of_an_earlier_program(v6_loopback(0));

	(void)state;
	if (getuid() != 0) {
		print_message("only root can be another user\n");
		skip();
	}
	guard_against_nobody(v4_loopback(v4), v4);
	guard_against_nobody(v6_loopback(v6), v6);
}

/* A socket that another user has bound in such a way that it blocks the port only when that user
 * says so. */
static int bind_as_nobody(const struct place *place, int for_both, int share)
{
	const int on = 1, v6only = !for_both;

	assert_int_equal(seteuid(NOBODY), 0);
	int fd = socket_for(place);
	assert_int_equal(seteuid(0), 0);
	setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &v6only, sizeof(v6only));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &share, sizeof(share));
	assert_int_equal(seteuid(NOBODY), 0);
	assert_int_equal(try_to_bind(fd, place), 0);
	assert_int_equal(seteuid(0), 0);
	return fd;
}

/* Later that user could keep the port from listening. */
static void a_port_that_another_user_has_bound_is_taken(void **state)
{
	(void)state;
	if (getuid() != 0) {
		print_message("only root can be another user\n");
		skip();
	}
	for (int shared = 0; shared < 2; shared++)
		for (int v6 = 0; v6 < 2; v6++) {
			struct place place = v6 ? v6_loopback(0) : v4_loopback(0);
			const in_port_t port = port_of_an_earlier_one(place, shared);

			place = v6 ? v6_loopback(port) : v4_loopback(port);
			int theirs = bind_as_nobody(&place, 0, shared);
			assert_is_taken(&place);
			close(theirs);
			autoclose int fd = socket_for(&place);
			const int held = hold(fd, &place);
			assert_int_equal(held, shared || kernel_lists_bound_sockets() ? 0 : -1);
		}
}

/* In the moment before the guard exists. */
static void a_port_that_another_user_has_bound_gets_no_guard(void **state)
{
	(void)state;
	if (getuid() != 0) {
		print_message("only root can be another user\n");
		skip();
	}
	for (int way = 0; way < 3; way++) {
		const in_port_t port = port_of_an_earlier_program(v4_loopback(0));
		struct place v4 = v4_loopback(port), v6 = v6_loopback(port);
		autoclose int fd = socket_for(&v4), guard = -1, first = -1, second = -1;

		assert_int_equal(hold(fd, &v4), 0);
		if (way > 0)
			((struct sockaddr_in6 *)&v6.address)->sin6_addr = in6addr_any;
		first = bind_as_nobody(&v6, 0, 1);
		if (way == 2) /* which the kernel compares with the first one alone */
			second = bind_as_nobody(&v6, 1, 1);
		errno = 0;
		assert_int_equal(descriptor_guard_port(fd, &guard), -1);
		assert_int_equal(errno, EADDRINUSE);
		assert_int_equal(guard, -1);
	}
}

static void ports_of_one_user_share_their_guards(void **state)
{
	const in_port_t port = port_of_an_earlier_program(v4_loopback(0));
	const struct place v4 = v4_loopback(port), v6 = v6_loopback(port);
	autoclose int one = socket_for(&v4), other = socket_for(&v6), guard = -1, second = -1;

	(void)state;
	assert_int_equal(hold(one, &v4), 0);
	assert_int_equal(hold(other, &v6), 0);
	assert_int_equal(descriptor_guard_port(one, &guard), 0);
	assert_int_equal(descriptor_guard_port(other, &second), 0);
	assert_int_equal(descriptor_listen(one), 0);
	assert_int_equal(descriptor_listen(other), 0);
	serve_one(one, &v4);
	serve_one(other, &v6);
}

/* A socket that was connected tells its former number. */
static void a_port_of_before_is_none(void **state)
{
	struct place place = v4_loopback(0);
	const struct sockaddr nowhere = {.sa_family = AF_UNSPEC};
	autoclose int listener = socket_for(&place), client = socket_for(&place), bound = -1;

	(void)state;
	assert_false(descriptor_has_port(client));
	assert_int_equal(try_to_bind(listener, &place), 0);
	assert_true(descriptor_has_port(listener));
	assert_int_equal(listen(listener, 1), 0);
	assert_true(descriptor_has_port(listener));
	assert_int_equal(getsockname(listener, (struct sockaddr *)&place.address, &place.len), 0);
	assert_int_equal(connect(client, (struct sockaddr *)&place.address, place.len), 0);
	assert_false(descriptor_has_port(client));
	assert_int_equal(connect(client, &nowhere, sizeof(nowhere)), 0);
	assert_int_equal(getsockname(client, (struct sockaddr *)&place.address, &place.len), 0);
	assert_int_not_equal(((const struct sockaddr_in *)&place.address)->sin_port, 0);
	assert_false(descriptor_has_port(client));
	bound = descriptor_socket(AF_UNIX, SOCK_STREAM, 0, false);
	assert_false(descriptor_has_port(bound));
}

/* Nothing of it needs a right. */
static void any_user_holds_a_port(void **state)
{
	const struct place place = v4_loopback(port_of_an_earlier_program(v4_loopback(0)));
	pid_t user = fork();
	int status;

	(void)state;
	if (user == 0) {
		if (getuid() == 0 && (setgid(NOBODY) < 0 || setuid(NOBODY) < 0))
			_exit(1);
		int fd = socket_for(&place);
		_exit(hold(fd, &place) < 0 || descriptor_listen(fd) < 0 ||
		      descriptor_hold_port(fd) < 0);
	}
	assert_int_equal(waitpid(user, &status, 0), user);
	assert_int_equal(status, 0);
}

static void a_port_is_held_once_and_refuses(void **state)
{
	const struct place place = v4_loopback(port_of_an_earlier_program(v4_loopback(0)));

	(void)state;
	for (int start = 0; start < 2; start++) {
		autoclose int fd = socket_for(&place);

		assert_int_equal(hold(fd, &place), 0);
		for (int turn = 0; turn < 3; turn++) {
			assert_is_taken(&place);
			assert_false(connects(&place));
			assert_int_equal(descriptor_hold_port(fd), 0);
			assert_int_equal(descriptor_listen(fd), 0);
			assert_is_taken(&place);
			serve_one(fd, &place);
			assert_int_equal(descriptor_hold_port(fd), 0);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wake_up_is_there_until_it_is_cleared),
		cmocka_unit_test(a_signal_is_taken_once),
		cmocka_unit_test(one_descriptor_stands_for_several),
		cmocka_unit_test_setup_teardown(a_directory_tells_what_happens_in_it, scratch_make,
						scratch_remove),
		cmocka_unit_test_setup_teardown(nothing_leads_out_of_below, scratch_make,
						scratch_remove),
		cmocka_unit_test_setup_teardown(a_new_name_takes_no_others_place, scratch_make,
						scratch_remove),
		cmocka_unit_test_setup_teardown(a_descriptor_has_a_path_and_is_opened_anew,
						scratch_make, scratch_remove),
		cmocka_unit_test_setup_teardown(a_made_clone_is_whole_or_empty, scratch_make,
						scratch_remove),
		cmocka_unit_test_setup_teardown(who_writes_to_a_held_file_waits, scratch_make,
						scratch_remove),
		cmocka_unit_test_setup_teardown(this_process_is_in_the_list_with_its_files,
						scratch_make, scratch_remove),
		cmocka_unit_test(memory_is_told_and_grows_with_what_is_touched),
		cmocka_unit_test(the_null_device_keeps_its_mode),
		cmocka_unit_test(nobody_else_gets_a_port_that_is_held),
		cmocka_unit_test(nobody_else_gets_a_port_by_another_address),
		cmocka_unit_test(a_port_that_another_user_has_bound_is_taken),
		cmocka_unit_test(a_port_that_another_user_has_bound_gets_no_guard),
		cmocka_unit_test(ports_of_one_user_share_their_guards),
		cmocka_unit_test(a_port_of_before_is_none),
		cmocka_unit_test(any_user_holds_a_port),
		cmocka_unit_test(a_port_is_held_once_and_refuses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
