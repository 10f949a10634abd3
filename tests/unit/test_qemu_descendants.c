/* SPDX-License-Identifier: MIT */
/* Tests the processes that companions have started, and when they are gone. */
#include "test_base.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "backend/parts/cell_proc.h"
#include "backend/parts/descendants.h"
#include "backend/parts/vm_held.h"

/* Starts a process that does work, and waits until it says so. */
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

/* Returns the descendants of this process. */
static int add_own(struct descendants *all)
{
	struct proc own;
	int status = proc_hold(getpid(), &own, NULL);

	if (status == 0)
		status = descendants_add(all, &own, NULL);
	proc_let_go(&own);
	return status;
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
	assert_int_equal(add_own(&all), 0);
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

/* Its first thread has no memory, and the process runs. */
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
	assert_int_equal(add_own(&all), 0);
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
	assert_int_equal(add_own(&all), 0);
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

/* --- a number that has a new owner ------------------------------------------------------------ */

/* What we hold of a process that has ended, and the process that has its pid now, with a child and
 * mounts of its own. */
struct reused {
	struct proc held;
	pid_t owner;
};

/* Does fork() with a chosen pid. Returns 0 in the child. Returns -1 with errno: EPERM if this
 * process may not choose. */
static pid_t fork_as(pid_t number)
{
	struct clone_args args = {
		.exit_signal = SIGCHLD,
		.set_tid = (uintptr_t)&number,
		.set_tid_size = 1,
	};
	long pid;

	do /* another process may have it for a moment */
		pid = syscall(SYS_clone3, &args, sizeof(args));
	while (pid < 0 && errno == EEXIST);
	return (pid_t)pid;
}

static void be_owner(int told)
{
	setpgid(0, 0);
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		_exit(1);
	if (fork() > 0 && write(told, "x", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static int begin_reused(void **state)
{
	static struct reused reused;
	const pid_t first = start(nothing, NULL);
	int told[2];
	char byte;

	*state = NULL;
	if (proc_hold(first, &reused.held, NULL) < 0 || kill(first, SIGKILL) < 0)
		return -1;
	reap(first);
	if (pipe(told) < 0)
		return -1;
	reused.owner = fork_as(first);
	if (reused.owner == 0)
		be_owner(told[1]);
	close(told[1]);
	if (reused.owner < 0)
		return errno == EPERM ? 0 : -1;
	*state = &reused;
	if (read(told[0], &byte, 1) != 1)
		return -1;
	close(told[0]);
	return 0;
}

static int end_reused(void **state)
{
	struct reused *reused = *state;

	if (!reused)
		return 0;
	kill(-reused->owner, SIGKILL);
	reap(reused->owner);
	proc_let_go(&reused->held);
	return 0;
}

static const struct reused *need_reused(void *state)
{
	if (!state) {
		print_message("skipped: we may not choose the number of a process here\n");
		skip();
	}
	return state;
}

static void its_children_are_not_taken(void **state)
{
	const struct reused *reused = need_reused(*state);
	struct descendants all = {0};
	struct proc owner;

	assert_int_equal(descendants_add(&all, &reused->held, NULL), 0);
	assert_int_equal(all.count, 0);
	/* There is one, for the process that the pid means. */
	assert_int_equal(proc_hold(reused->owner, &owner, NULL), 0);
	assert_int_equal(descendants_add(&all, &owner, NULL), 0);
	assert_int_equal(all.count, 1);
	proc_let_go(&owner);
	descendants_close(&all);
}

static void its_memory_is_not_waited_for(void **state)
{
	const struct reused *reused = need_reused(*state);
	const struct descendants all = {
		.fds = {reused->held.pidfd}, .pids = {reused->held.pid}, .count = 1};

	assert_true(descendants_gone(&all));
}

static void its_mounts_stay(void **state)
{
	const struct reused *reused = need_reused(*state);
	char path[64];
	struct error err = {0};

	assert_int_equal(cell_proc_remove(&reused->held, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	snprintf(path, sizeof(path), "/proc/%d/root/proc/self", (int)reused->owner);
	assert_int_equal(faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW), 0);
}

/* The whole look of a quarantine. */
static void it_is_not_stopped(void **state)
{
	static const struct vmm_kind kind = {.name = "VMM"};
	const struct reused *reused = need_reused(*state);
	struct vm vm = {
		.kind = &kind,
		.cell = {.pid = reused->held.pid, .pidfd = reused->held.pidfd},
		.severing = true,
	};
	struct descendants below;
	struct error err = {0};

	assert_int_equal(vm_freeze(&vm, &below, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	assert_int_equal(below.count, 0);
	assert_int_equal(vm_held(&vm, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(killed_ones_are_gone),
		cmocka_unit_test(one_without_its_first_thread_is_there),
		cmocka_unit_test_setup_teardown(a_late_end_is_not_waited_for, scratch_make,
						scratch_remove),
		cmocka_unit_test_setup_teardown(its_children_are_not_taken, begin_reused,
						end_reused),
		cmocka_unit_test_setup_teardown(its_memory_is_not_waited_for, begin_reused,
						end_reused),
		cmocka_unit_test_setup_teardown(its_mounts_stay, begin_reused, end_reused),
		cmocka_unit_test_setup_teardown(it_is_not_stopped, begin_reused, end_reused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
