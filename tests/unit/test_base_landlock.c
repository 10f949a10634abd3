/* SPDX-License-Identifier: MIT */
/* What a process can still reach by name once Landlock holds it, tried in a child. */
#include "test_base.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(only_its_own_trees, scratch_make, scratch_remove),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
