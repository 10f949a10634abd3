/* SPDX-License-Identifier: MIT */
/* Tests what a process can still reach by name under Landlock, from inside a child. */
#include "test_base.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/platform/linux/isolate.h"
#include "confined.h"

#define NO_LANDLOCK 77

static int connected(uint16_t port)
{
	const struct sockaddr_in to = {.sin_family = AF_INET,
				       .sin_port = htons(port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), rc;

	rc = connect(fd, (const struct sockaddr *)&to, sizeof(to)) < 0 ? errno : 0;
	close(fd);
	return rc;
}

static const char *port_text(const struct sockaddr_in *to)
{
	static char text[8];

	snprintf(text, sizeof(text), "%u", ntohs(to->sin_port));
	return text;
}

static void live_in(const struct scratch *own, const struct scratch *seen, int before)
{
	const struct isolate_tree trees[] = {{.fd = own->fd, .writable = true}, {.fd = seen->fd}};
	const struct isolate_reach reach = {trees, 2};
	struct error err = {0};
	char status[4096] = "";
	int given = open("/etc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	HOLDS(isolate_capabilities(&err) == 0);
	if (isolate_landlock(&reach, &err) < 0)
		_exit(err.code == ERR_UNAVAILABLE ? NO_LANDLOCK : 1);
	HOLDS(opened(own->fd, "new", O_WRONLY | O_CREAT | O_EXCL) == 0);
	HOLDS(renameat(own->fd, "new", own->fd, "other") == 0);
	HOLDS(unlinkat(own->fd, "other", 0) == 0);
	HOLDS(symlinkat("/etc", own->fd, "link") < 0 && errno == EACCES);
	HOLDS(opened(seen->fd, "file", O_RDONLY) == 0);
	HOLDS(opened(seen->fd, "file", O_WRONLY) == EACCES);
	HOLDS(opened(seen->fd, "new", O_WRONLY | O_CREAT) == EACCES);
	HOLDS(opened(AT_FDCWD, "/etc/passwd", O_RDONLY) == EACCES);
	HOLDS(opened(AT_FDCWD, "/etc", O_RDONLY | O_DIRECTORY) == EACCES);
	HOLDS(opened(own->fd, "../microagent-landlock", O_WRONLY | O_CREAT) == EACCES);
	HOLDS(mkdirat(AT_FDCWD, "/tmp/microagent-landlock", 0700) < 0 && errno == EACCES);
	HOLDS(connected(9) == (isolate_landlock_version(NULL) >= 4 ? EACCES : ECONNREFUSED));
	HOLDS(read(before, status, sizeof(status)) > 0);
	HOLDS(ftruncate(before, 0) == 0); /* what was open stays as it was */
	HOLDS(opened(given, ".", O_RDONLY | O_DIRECTORY) == EACCES);
	_exit(0);
}

static void only_its_own_trees(void **state)
{
	struct scratch *own = *state;
	void *other = NULL;
	int status;

	assert_int_equal(scratch_make(&other), 0);
	struct scratch *seen = other;
	autoclose int before = openat(seen->fd, "file", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(pwrite(before, "x", 1, 0), 1);
	pid_t pid = fork();
	if (pid == 0)
		live_in(own, seen, before);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	scratch_remove(&other);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NO_LANDLOCK) {
		print_message("this kernel has no Landlock\n");
		skip();
	}
	assert_int_equal(status, 0);
}

/* A socket that it was given before, as by a process that passes it on. */
static void live_without_tcp(int given, const struct sockaddr_in *to)
{
	static const struct sockaddr_in any = {.sin_family = AF_INET};
	struct error err = {0};

	HOLDS(isolate_tcp(&err) == 0);
	HOLDS(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
	if (isolate_landlock_version(NULL) < 4)
		_exit(NO_LANDLOCK);
	HOLDS(connect(given, (const struct sockaddr *)to, sizeof(*to)) < 0 && errno == EACCES);
	HOLDS(bind(given, (const struct sockaddr *)&any, sizeof(any)) < 0 && errno == EACCES);
	HOLDS(opened(AT_FDCWD, "/etc/passwd", O_RDONLY) == 0); /* of files it says nothing */
	execl("/bin/bash", "bash", "-c", "! (: <>/dev/tcp/127.0.0.1/$0) 2>/dev/null", port_text(to),
	      (char *)NULL);
	_exit(1);
}

static void no_tcp_for_it_and_its_programs(void **state)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(to);
	autoclose int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	autoclose int given = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int status;

	(void)state;
	assert_int_equal(bind(listener, (const struct sockaddr *)&to, sizeof(to)), 0);
	assert_int_equal(listen(listener, 8), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&to, &len), 0);
	pid_t pid = fork();
	if (pid == 0)
		live_without_tcp(given, &to);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NO_LANDLOCK) {
		print_message("the Landlock of this kernel knows no ports (before Linux 6.7)\n");
		skip();
	}
	assert_int_equal(status, 0);
	assert_int_equal(connect(given, (const struct sockaddr *)&to, sizeof(to)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_tcp_for_it_and_its_programs),
		cmocka_unit_test_setup_teardown(only_its_own_trees, scratch_make, scratch_remove),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
