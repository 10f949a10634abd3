/* SPDX-License-Identifier: MIT */
/* Tests the program around the device: options, listeners, isolation, the loop and its end. */
#include "test_vsockd.h"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/limits.h"
#include "vsockd/daemon.h"
#include "vsockd/isolate.h"
#include "vsockd/listener.h"
#include "vsockd/options.h"

/* --- options --------------------------------------------------------------------------------- */

#define ARGS_MAX 16

/* args: the words, ending in NULL. getopt() moves pointers, and writes to no word. */
static int parse(struct options *o, const char *const *args, struct error *err)
{
	char *argv[ARGS_MAX + 2] = {(char *)(uintptr_t) "microagent-vsockd"};
	int argc = 1;

	for (; args[argc - 1]; argc++) {
		assert_true(argc <= ARGS_MAX);
		argv[argc] = (char *)(uintptr_t)args[argc - 1];
	}
	*err = (struct error){0};
	return options_parse(o, argc, argv, err);
}

static void options_by_path(void **state)
{
	static const char *const args[] = {"--vhost-socket",
					   "/run/v",
					   "--vsock-socket=/run/s",
					   "--guest-cid",
					   "77",
					   "--host-port",
					   "1024",
					   "--host-port=7=/x//y",
					   "--label",
					   "anything",
					   NULL};
	struct options o;
	struct error err;

	(void)state;
	assert_int_equal(parse(&o, args, &err), 0);
	assert_string_equal(o.vhost_socket, "/run/v");
	assert_string_equal(o.vsock_socket, "/run/s");
	assert_int_equal(o.guest_cid, 77);
	assert_int_equal(o.nports, 2);
	assert_int_equal(o.ports[0].port, 1024);
	assert_string_equal(o.targets[0], "/run/s_1024");
	assert_int_equal(o.ports[1].port, 7);
	assert_string_equal(o.targets[1], "/x/y");
	options_free(&o);
}

static void options_by_descriptor(void **state)
{
	static const char *const args[] = {
		"--vhost-fd", "5",     "--vsock-fd", "6",	    "--lease-fd", "9", "--uid",
		"1000",	      "--gid", "100",	     "--host-port", "1024=c",	  NULL};
	struct options o;
	struct error err;

	(void)state;
	assert_int_equal(parse(&o, args, &err), 0);
	assert_int_equal(o.vhost_fd, 5);
	assert_int_equal(o.vsock_fd, 6);
	assert_int_equal(o.lease_fd, 9);
	assert_int_equal(o.guest_cid, 3);
	assert_true(o.identity.set_uid && o.identity.set_gid);
	assert_int_equal(o.identity.uid, 1000);
	assert_int_equal(o.identity.gid, 100);
	assert_int_equal(*o.targets[0], '/'); /* made absolute */
	options_free(&o);
}

static void wrong_options_are_named(void **state)
{
	static const struct {
		const char *args[8];
		const char *named;
	} cases[] = {
		{{"--bogus"}, "--bogus"},
		{{"word"}, "word"},
		{{"--vhost-socket"}, "--vhost-socket"},
		{{"--vhost-fd", "x"}, "--vhost-fd"},
		{{"--vhost-fd", "-1"}, "--vhost-fd"},
		{{"--guest-cid", "2"}, "--guest-cid"},
		{{"--guest-cid", "4294967295"}, "--guest-cid"},
		{{"--guest-cid", "3 "}, "--guest-cid"},
		{{"--host-port", "1073741824"}, "--host-port"},
		{{"--host-port", "5="}, "--host-port"},
		{{"--host-port", "=x"}, "--host-port"},
		{{"--host-port", "5=a", "--host-port", "5=b"},
		 "is given twice by --host-port: leave one out"},
		{{"--uid", "99999999999"}, "--uid"},
		{{"--vsock-fd", "3"}, "--vhost-socket"},
		{{"--vhost-fd", "3"}, "--vsock-socket"},
		{{"--vhost-fd", "3", "--vhost-socket", "v", "--vsock-fd", "4"}, "--vhost-fd"},
		{{"--vhost-fd", "3", "--vsock-fd", "4", "--host-port", "9"}, "9=PATH"},
	};
	struct options o;
	struct error err;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(parse(&o, cases[i].args, &err), -1);
		assert_int_equal(err.code, ERR_INVALID);
		assert_non_null(strstr(err.msg, cases[i].named));
	}
}

static void too_many_ports(void **state)
{
	static const char *const args[] = {"--host-port", "1=a", "--host-port", "2=b",
					   "--host-port", "3=c", NULL};
	struct options o;
	struct error err;

	(void)state;
	limit_set(LIMIT_VSOCK_HOST_PORTS, 2);
	assert_int_equal(parse(&o, args, &err), -1);
	assert_non_null(strstr(err.msg, "more than 2"));
	limit_reset(LIMIT_VSOCK_HOST_PORTS);
}

/* --- listeners ------------------------------------------------------------------------------- */

static void listeners(void **state)
{
	struct scratch *s = *state;
	char path[CORE_SOCKET_PATH], file[128];
	struct error err = {0};
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	struct stat st;
	int fd, other, ends[2];

	snprintf(path, sizeof(path), "%s/sock", s->path);
	snprintf(file, sizeof(file), "%s/file", s->path);
	fd = listener_open(path, &err);
	assert_true(fd >= 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(listener_check(fd, true, &err), 0);
	assert_int_equal(listener_check(fd, false, &err), -1);
	/* First somebody listens there, and then nobody does. */
	assert_int_equal(listener_open(path, &err), -1);
	assert_int_equal(err.code, ERR_CONFLICT);
	close(fd);
	fd = listener_open(path, &err);
	assert_true(fd >= 0);
	close(fd);
	/* A file that is no socket stays. */
	close(open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	assert_int_equal(listener_open(file, &err), -1);
	assert_int_equal(stat(file, &st), 0);
	/* A socket of another kind is not a dead one either. */
	assert_int_equal(unlink(path), 0);
	other = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	memcpy(addr.sun_path, path, strlen(path) + 1);
	assert_int_equal(bind(other, (const struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listener_open(path, &err), -1);
	assert_int_equal(err.code, ERR_CONFLICT);
	assert_int_equal(stat(path, &st), 0);
	close(other);
	assert_int_equal(listener_open("/nonexistent/dir/sock", &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	assert_int_equal(fd_socketpair(ends, &err), 0);
	assert_int_equal(listener_check(ends[0], false, &err), 0);
	assert_int_equal(listener_check(ends[0], true, &err), -1);
	close(ends[0]);
	close(ends[1]);
	assert_int_equal(listener_check(s->fd, false, &err), -1);
}

/* --- isolation: in children, whose exit code tells what they found --------------------------- */

enum found {
	FOUND_GOOD = 0,
	FOUND_ERROR,
	FOUND_NO_SOCKET,
	FOUND_FILES,
	FOUND_RIGHTS,
	FOUND_PATH,
};

/* The stages with one listed socket that exists and one that does not. */
static int isolate_child(const struct scratch *s, struct host_port *ports, bool syscalls)
{
	char here[128], missing[128];
	const char *targets[2] = {here, missing};
	struct isolate_config c = {
		.unconfined = true, .ports = ports, .targets = targets, .nports = 2};
	struct error why, err;

	snprintf(here, sizeof(here), "%s/here", s->path);
	snprintf(missing, sizeof(missing), "%s/missing", s->path);
	if (isolate(&c, &why, &err) < 0 || (syscalls && isolate_to_loop(&err) < 0))
		return -1;
	return why.code == ERR_NONE ? 1 : 0;
}

static bool can_connect(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool done;

	memcpy(addr.sun_path, path, strlen(path) + 1);
	done = connect(fd, (const struct sockaddr *)&addr, sizeof(addr)) == 0;
	close(fd);
	return done;
}

static int wait_for(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static enum found look_around(const struct scratch *s)
{
	struct host_port ports[2] = {{.port = 1024}, {.port = 1025}};
	char other[128];
	struct rlimit core;
	int namespaces;

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	namespaces = isolate_child(s, ports, false);
	if (namespaces < 0)
		return FOUND_ERROR;
	if (!can_connect(ports[0].path))
		return FOUND_NO_SOCKET;
	int signal = 0;
	if (prctl(PR_GET_PDEATHSIG, &signal, 0, 0, 0) < 0 || signal != SIGKILL)
		return FOUND_RIGHTS;
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1 || getrlimit(RLIMIT_CORE, &core) < 0 ||
	    core.rlim_cur || core.rlim_max || prctl(PR_CAPBSET_READ, 0, 0, 0, 0) == 1)
		return FOUND_RIGHTS;
	if (!namespaces)
		return FOUND_GOOD; /* no more than that was to be had on this host */
	snprintf(other, sizeof(other), "%s/other", s->path);
	if (strcmp(ports[0].path, "1024") != 0 || *ports[1].path)
		return FOUND_PATH;
	if (can_connect(other) || open("/proc/self/status", O_RDONLY) >= 0 ||
	    open("/", O_RDONLY | O_DIRECTORY) < 0 || open("new", O_CREAT | O_WRONLY, 0600) >= 0)
		return FOUND_FILES;
	return FOUND_GOOD;
}

static void only_the_listed_sockets_are_left(void **state)
{
	struct scratch *s = *state;
	struct error err;
	int here = sock_listen_at(s->fd, "here", &err);
	int other = sock_listen_at(s->fd, "other", &err);
	pid_t pid;

	assert_true(here >= 0 && other >= 0);
	pid = fork();
	if (pid == 0)
		_exit(look_around(s));
	assert_int_equal(wait_for(pid), 0);
	close(here);
	close(other);
}

static bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, text, strlen(text)) > 0;

	if (fd >= 0)
		close(fd);
	return done;
}

/* After this no user can make a namespace. */
static bool forbid_namespaces(void)
{
	char map[64];

	snprintf(map, sizeof(map), "%u %u 1", (unsigned)geteuid(), (unsigned)geteuid());
	if (unshare(CLONE_NEWUSER) < 0)
		return true; /* it is so already */
	return write_file("/proc/self/uid_map", map) &&
	       write_file("/proc/sys/user/max_user_namespaces", "0") &&
	       write_file("/proc/sys/user/max_mnt_namespaces", "0");
}

/* Makes directories below the scratch one until the path of a socket in them is too long for
 * connect(), and listens there. */
static bool listen_deep(const struct scratch *s, char *deep, size_t size)
{
	size_t at = (size_t)snprintf(deep, size, "%s", s->path);
	struct error err;
	int dir;

	while (at < 2 * CORE_SOCKET_PATH) {
		at += (size_t)snprintf(deep + at, size - at, "/%060d", 0);
		if (mkdir(deep, 0700) < 0)
			return false;
	}
	dir = open(deep, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(deep + at, size - at, "/sock");
	return sock_listen_at(dir, "sock", &err) >= 0;
}

static enum found look_around_without(const struct scratch *s)
{
	char deep[512], near[128];
	struct host_port ports[2] = {{.port = 1024}, {.port = 1025}};
	const char *targets[2] = {deep, near};
	struct isolate_config c = {.ports = ports, .targets = targets, .nports = 2};
	struct error why, err;

	snprintf(near, sizeof(near), "%s/near", s->path);
	if (!listen_deep(s, deep, sizeof(deep)) || sock_listen_at(s->fd, "near", &err) < 0 ||
	    !forbid_namespaces())
		return FOUND_ERROR;
	if (isolate(&c, &why, &err) == 0 || err.code != ERR_UNAVAILABLE ||
	    strncmp(err.msg, "namespaces cannot be made here (unshare: ", 41) != 0)
		return FOUND_RIGHTS;
	c.unconfined = true;
	if (isolate(&c, &why, &err) < 0)
		return FOUND_ERROR;
	if (why.code != ERR_UNAVAILABLE)
		return FOUND_RIGHTS;
	/* By descriptors, since the directory's rights may change, as they do with the user that
	 * root becomes. */
	if (chmod(s->path, 0) < 0 || !can_connect(ports[0].path))
		return FOUND_PATH;
	return can_connect(ports[1].path) ? FOUND_GOOD : FOUND_NO_SOCKET;
}

static void without_namespaces_sockets_are_reached(void **state)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(look_around_without(*state));
	assert_int_equal(wait_for(pid), 0);
}

#ifndef MICROAGENT_SANITIZE
static void other_system_calls_kill(void **state)
{
	struct scratch *s = *state;
	struct error err;
	int here = sock_listen_at(s->fd, "here", &err);

	for (int call = 0; call < 6; call++) {
		pid_t pid = fork();

		if (pid == 0) {
			struct host_port ports[2] = {{.port = 1024}, {.port = 1025}};

			if (isolate_child(s, ports, true) < 0)
				_exit(FOUND_ERROR);
			if (call == 0)
				_exit(can_connect(ports[0].path) ? FOUND_GOOD : FOUND_NO_SOCKET);
			if (call == 1)
				open("/", O_RDONLY);
			if (call == 2)
				socket(AF_INET, SOCK_STREAM, 0);
			if (call == 3)
				fork();
			if (call == 4)
				kill(getppid(), 0);
			if (call == 5)
				mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			_exit(FOUND_GOOD);
		}
		int status = wait_for(pid);
		if (call == 0)
			assert_int_equal(status, 0);
		else
			assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
	}
	close(here);
}
#endif

/* --- the loop -------------------------------------------------------------------------------- */

/* Starts the daemon in a child, with the front-end's end of its link in *link. */
static pid_t start_daemon(int *link)
{
	int ends[2];
	struct error err;
	pid_t pid;

	assert_int_equal(fd_socketpair(ends, &err), 0);
	pid = fork();
	if (pid == 0) {
		static struct daemon daemon;
		static struct log log;
		struct core_config config = {.guest_cid = 3,
					     .streams = 4,
					     .stream_bytes = 65536,
					     .line_ns = NS_PER_S,
					     .answer_ns = NS_PER_S,
					     .close_ns = NS_PER_S,
					     .listen_fd = -1};

		close(ends[1]);
		log_init(&log, -1, 0);
		if (daemon_init(&daemon, &config, &(struct daemon_face){ends[0], -1, -1, -1}, &log,
				&err) < 0)
			_exit(2);
		_exit(daemon_run(&daemon, &err) < 0);
	}
	close(ends[0]);
	*link = ends[1];
	return pid;
}

static void it_ends_with_the_connection(void **state)
{
	const uint32_t ask[3] = {1, 1, 0};
	uint8_t answer[64];
	int link;
	pid_t pid = start_daemon(&link);

	(void)state;
	assert_int_equal(write(link, ask, sizeof(ask)), sizeof(ask));
	assert_int_equal(read(link, answer, sizeof(answer)), 20);
	close(link);
	assert_int_equal(wait_for(pid), 0);
}

static void nonsense_ends_it_with_an_error(void **state)
{
	const uint32_t nonsense[3] = {1, 77, 0};
	int link;
	pid_t pid = start_daemon(&link);

	(void)state;
	assert_int_equal(write(link, nonsense, sizeof(nonsense)), sizeof(nonsense));
	assert_int_equal(WEXITSTATUS(wait_for(pid)), 1);
	close(link);
}

#define scratch_test(f) cmocka_unit_test_setup_teardown(f, scratch_make, scratch_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_by_path),
		cmocka_unit_test(options_by_descriptor),
		cmocka_unit_test(wrong_options_are_named),
		cmocka_unit_test(too_many_ports),
		scratch_test(listeners),
		scratch_test(only_the_listed_sockets_are_left),
		scratch_test(without_namespaces_sockets_are_reached),
#ifndef MICROAGENT_SANITIZE
		scratch_test(other_system_calls_kill),
#endif
		cmocka_unit_test(it_ends_with_the_connection),
		cmocka_unit_test(nonsense_ends_it_with_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
