/* SPDX-License-Identifier: MIT */
/* What companions have started, and when it is over. */
#include "test_base.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "backend/parts/descendants.h"

/* A process that does work, once it says so. */
static pid_t start(void (*work)(void *data), void *data)
{
	int told[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(told), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(told[0]);
		work(data);
		if (write(told[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(told[1]);
	assert_int_equal(read(told[0], &byte, 1), 1);
	close(told[0]);
	return pid;
}

static void reap(pid_t pid)
{
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static bool is_readable(int pidfd)
{
	struct pollfd p = {.fd = pidfd, .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

/* Within half a minute. */
static bool get_gone(const struct descendants *all)
{
	for (int i = 0; i < 30000 && !descendants_gone(all); i++)
		usleep(1000);
	return descendants_gone(all);
}

static void nothing(void *data)
{
	(void)data;
}

static void killed_ones_are_gone(void **state)
{
	struct descendants all = {0};
	pid_t pid = start(nothing, NULL);

	(void)state;
	assert_int_equal(descendants_add(&all, getpid(), NULL), 0);
	assert_int_equal(all.count, 1);
	assert_int_equal(all.pids[0], pid);
	assert_false(descendants_gone(&all));
	descendants_kill(&all);
	assert_true(get_gone(&all));
	reap(pid); /* and stays gone */
	assert_true(descendants_gone(&all));
	descendants_close(&all);
}

static void *live_on(void *data)
{
	(void)data;
	for (;;)
		pause();
	return NULL;
}

static void *end_the_first(void *data)
{
	(void)data;
	syscall(SYS_exit, 0); /* this thread alone */
	return NULL;
}

static void start_threads(void *data)
{
	pthread_t thread;

	(void)data;
	if (pthread_create(&thread, NULL, live_on, NULL) != 0)
		_exit(1);
}

static void start_threads_and_end(void *data)
{
	int fd = *(int *)data;

	start_threads(NULL);
	if (write(fd, "x", 1) != 1)
		_exit(1);
	end_the_first(NULL);
}

static char state_of(pid_t pid)
{
	char path[64], text[256];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
	n = read(fd, text, sizeof(text) - 1);
	assert_true(n > 0);
	text[n] = '\0';
	return strrchr(text, ')')[2];
}

/* Its first thread has no memory, and it runs. */
static void one_without_its_first_thread_is_there(void **state)
{
	struct descendants all = {0};
	int told[2];
	char byte;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(told), 0);
	pid = fork();
	if (pid == 0)
		start_threads_and_end(&told[1]);
	assert_int_equal(read(told[0], &byte, 1), 1);
	close(told[0]);
	close(told[1]);
	while (state_of(pid) != 'Z')
		usleep(1000);
	assert_int_equal(descendants_add(&all, getpid(), NULL), 0);
	assert_int_equal(all.count, 1);
	assert_false(descendants_gone(&all));
	descendants_kill(&all);
	assert_true(get_gone(&all));
	reap(pid);
	descendants_close(&all);
}

/* ---- a device whose last close waits for a file system that is frozen
 * ---------------------------- */

static bool run(const char *at, const char *line)
{
	char command[256];

	snprintf(command, sizeof(command), "cd %s && %s", at, line);
	return system(command) == 0;
}

static void write_to_device(void *data)
{
	char block[4096] = "x", path[128];
	FILE *name;
	int fd = -1;

	snprintf(path, sizeof(path), "%s/device", (const char *)data);
	name = fopen(path, "re");
	if (name && fscanf(name, "%127s", path) == 1)
		fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0 || write(fd, block, sizeof(block)) != (ssize_t)sizeof(block))
		_exit(1);
}

static bool make_device(const char *at)
{
	return run(at, "mke2fs -q -t ext4 fs 16M >/dev/null && mkdir m && mount -o loop fs m") &&
	       run(at, "truncate -s 1M m/back && losetup -f --show m/back > device");
}

static void a_late_end_is_not_waited_for(void **state)
{
	const struct scratch *s = *state;
	struct descendants all = {0};
	pid_t pid;

	if (getuid() != 0 || access("/dev/loop-control", F_OK) < 0) {
		print_message("a file system is frozen by root, with loop devices\n");
		skip();
	}
	assert_true(make_device(s->path));
	pid = start(write_to_device, (void *)(uintptr_t)s->path);
	assert_int_equal(descendants_add(&all, getpid(), NULL), 0);
	assert_true(run(s->path, "fsfreeze -f m"));
	descendants_kill(&all);
	bool late = get_gone(&all) && !is_readable(all.fds[0]);
	assert_true(run(s->path, "fsfreeze -u m"));
	reap(pid);
	assert_true(is_readable(all.fds[0]));
	descendants_close(&all);
	assert_true(run(s->path, "losetup -d $(cat device) && umount m"));
	assert_true(late);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(killed_ones_are_gone),
		cmocka_unit_test(one_without_its_first_thread_is_there),
		cmocka_unit_test_setup_teardown(a_late_end_is_not_waited_for, scratch_make,
						scratch_remove),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
