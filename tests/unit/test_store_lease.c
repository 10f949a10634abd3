/* SPDX-License-Identifier: MIT */
/*
 * The lease and the command lock, held by real processes. Order comes from pipes: nothing here
 * depends on how long anything takes.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>

#include "store_fixture.h"

#define LONG_NS (60 * NS_PER_S)
#define SHORT_NS (50 * NS_PER_MS)

/* A child that keeps what it has inherited until told (or killed). */
struct child {
	pid_t pid;
	int tell;
	char file[128]; /* what it holds a lock of */
};

static struct child keeper(const char *file)
{
	struct child child;
	struct error err = {0};
	int pipe_fds[2];
	char byte;

	assert_int_equal(fd_pipe(pipe_fds, &err), 0);
	child.pid = fork();
	assert_true(child.pid >= 0);
	if (child.pid == 0) {
		close(pipe_fds[1]);
		_exit(read(pipe_fds[0], &byte, 1) < 0);
	}
	close(pipe_fds[0]);
	child.tell = pipe_fds[1];
	snprintf(child.file, sizeof(child.file), "%s", file);
	return child;
}

static void end(struct child *child)
{
	int status;

	/* A byte, not an end: another keeper may have inherited this side of the pipe. A keeper
	 * that was killed does not read it. */
	signal(SIGPIPE, SIG_IGN);
	(void)!write(child->tell, "", 1);
	close(child->tell);
	assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
}

static void free_until_taken(void **state)
{
	const struct fixture *f = *state;
	struct error err = {0};
	struct stat st;
	int fd;

	assert_false(lease_is_held(&f->ws)); /* no file yet */
	assert_int_equal(lease_wait_free(&f->ws, 0, &err), 0);
	fd = lease_take(&f->ws, &err);
	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_true(lease_is_held(&f->ws));
	assert_int_equal(lease_take(&f->ws, &err), -1);
	assert_int_equal(err.code, ERR_CONFLICT);
	assert_non_null(strstr(err.msg, "agent-1"));
	close(fd);
	assert_false(lease_is_held(&f->ws)); /* the file stays */
	fd = lease_take(&f->ws, &err);
	assert_true(fd >= 0);
	close(fd);
}

/* Others, such as a test or a person, may look with flock(1). */
static void is_a_plain_flock(void **state)
{
	const struct fixture *f = *state;
	struct error err = {0};
	autoclose int lease = lease_take(&f->ws, &err);
	autoclose int other = open(at(f, "agent-1/lease"), O_RDONLY);

	assert_true(lease >= 0 && other >= 0);
	assert_int_equal(flock(other, LOCK_EX | LOCK_NB), -1);
	assert_int_equal(errno, EWOULDBLOCK);
}

static void held_by_who_inherited_it(void **state)
{
	const struct fixture *f = *state;
	struct error err = {0};
	int fd = lease_take(&f->ws, &err);
	struct child first = keeper(at(f, "agent-1/lease"));
	struct child second = keeper(at(f, "agent-1/lease"));

	close(fd);
	assert_true(lease_is_held(&f->ws));
	end(&first);
	assert_true(lease_is_held(&f->ws));
	kill(second.pid, SIGKILL); /* however it goes */
	end(&second);
	assert_false(lease_is_held(&f->ws));
}

static void wait_for_waiter(const struct child *child)
{
	char needle[64], line[512];
	bool waiting = false;
	struct stat st;

	/* /proc/locks marks a waiter with "->"; there is no event for it to be had. */
	assert_int_equal(stat(child->file, &st), 0);
	snprintf(needle, sizeof(needle), ":%llu 0 EOF", (unsigned long long)st.st_ino);
	while (!waiting) {
		autofile FILE *locks = fopen("/proc/locks", "r");

		while (locks && fgets(line, sizeof(line), locks))
			waiting = waiting || (strstr(line, "-> FLOCK") && strstr(line, needle));
		poll(NULL, 0, 1);
	}
}

/* Tells the last keeper to end once somebody else is waiting for it. */
static void *end_when_waited_for(void *data)
{
	wait_for_waiter(data);
	end(data);
	return NULL;
}

struct removal {
	const struct fixture *f;
	struct child *child;
};

static void *remove_when_waited_for(void *data)
{
	const struct removal *removal = data;

	wait_for_waiter(removal->child);
	workspace_lock_remove(&removal->f->dir, "agent-1");
	end(removal->child);
	return NULL;
}

static void waiting_ends_with_the_holder(void **state)
{
	const struct fixture *f = *state;
	struct error err = {0};
	int fd = lease_take(&f->ws, &err);
	struct child child = keeper(at(f, "agent-1/lease"));
	pthread_t thread;

	close(fd);
	assert_int_equal(pthread_create(&thread, NULL, end_when_waited_for, &child), 0);
	assert_int_equal(lease_wait_free(&f->ws, clock_mono_ns() + LONG_NS, &err), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_false(lease_is_held(&f->ws)); /* the waiter has kept nothing */
	fd = lease_take(&f->ws, &err);
	assert_true(fd >= 0);
	close(fd);
}

static void waiting_ends_at_the_deadline(void **state)
{
	const struct fixture *f = *state;
	struct error err = {0};
	autoclose int fd = lease_take(&f->ws, &err);
	uint64_t deadline = clock_mono_ns() + SHORT_NS;

	assert_true(fd >= 0);
	assert_int_equal(lease_wait_free(&f->ws, deadline, &err), -1);
	assert_int_equal(err.code, ERR_TIMEOUT);
	assert_non_null(strstr(err.msg, "agent-1"));
	assert_true(clock_mono_ns() >= deadline);
	assert_int_equal(lease_wait_free(&f->ws, 0, &err), -1); /* a deadline gone by */
	assert_int_equal(err.code, ERR_TIMEOUT);
	assert_true(lease_is_held(&f->ws));
}

static volatile sig_atomic_t child_signals;

static void count_signal(int signal)
{
	(void)signal;
	child_signals = child_signals + 1;
}

/* The waiting process is nobody's business: no SIGCHLD, no child left to reap. */
static void waiting_leaves_no_trace(void **state)
{
	const struct fixture *f = *state;
	struct sigaction action = {.sa_handler = count_signal}, before;
	struct error err = {0};
	autoclose int fd = lease_take(&f->ws, &err);

	assert_true(fd >= 0);
	sigaction(SIGCHLD, &action, &before);
	assert_int_equal(lease_wait_free(&f->ws, clock_mono_ns() + SHORT_NS, &err), -1);
	assert_int_equal(child_signals, 0);
	assert_int_equal(waitpid(-1, NULL, WNOHANG | __WALL), -1);
	assert_int_equal(errno, ECHILD);
	sigaction(SIGCHLD, &before, NULL);
}

/* Somebody who just looks must not make a start fail. */
static void taking_outlasts_a_look(void **state)
{
	const struct fixture *f = *state;
	struct error err = {0};
	struct child child;
	pthread_t thread;
	int look, fd;

	close(lease_take(&f->ws, &err));
	look = open(at(f, "agent-1/lease"), O_RDWR | O_CLOEXEC);
	assert_int_equal(flock(look, LOCK_SH), 0);
	child = keeper(at(f, "agent-1/lease"));
	close(look);
	assert_false(lease_is_held(&f->ws)); /* two may look at a time */
	assert_int_equal(pthread_create(&thread, NULL, end_when_waited_for, &child), 0);
	fd = lease_take(&f->ws, &err);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(fd >= 0);
	assert_true(lease_is_held(&f->ws));
	close(fd);
}

static void absent_workspace(void **state)
{
	const struct fixture *f = *state;
	struct error err = {0};
	struct workspace ws;

	assert_int_equal(workspace_open(&f->dir, "none", false, &ws, &err), 0);
	assert_int_equal(ws.fd, -1);
	assert_false(lease_is_held(&ws));
	assert_int_equal(lease_wait_free(&ws, 0, &err), 0);
	workspace_close(&ws);
}

/* On a lease that cannot be looked at nothing may be deleted. */
static void a_strange_lease_counts_as_held(void **state)
{
	const struct fixture *f = *state;
	struct error err = {0};

	assert_int_equal(symlink("/dev/null", at(f, "agent-1/lease")), 0);
	assert_true(lease_is_held(&f->ws));
	assert_int_equal(lease_take(&f->ws, &err), -1);
	assert_non_null(strstr(err.msg, "agent-1/lease"));
	assert_int_equal(lease_wait_free(&f->ws, 0, &err), -1);
}

static void lock_is_exclusive(void **state)
{
	const struct fixture *f = *state;
	struct error err = {0};
	struct stat st;
	int fd = workspace_lock(&f->dir, "agent-1", clock_mono_ns() + LONG_NS, &err);
	int other;

	assert_true(fd >= 0);
	assert_int_equal(stat(at(f, ".locks"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(stat(at(f, ".locks/agent-1"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(workspace_lock(&f->dir, "agent-1", clock_mono_ns() + SHORT_NS, &err), -1);
	assert_int_equal(err.code, ERR_TIMEOUT);
	assert_non_null(strstr(err.msg, "\"agent-1\" is in use"));
	other = workspace_lock(&f->dir, "agent-2", 0, &err); /* free: the deadline plays no part */
	assert_true(other >= 0);
	close(other);
	close(fd);
	fd = workspace_lock(&f->dir, "agent-1", 0, &err);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(access(at(f, ".locks/agent-1"), F_OK), 0); /* its workspace is there */
}

static void lock_passes_on(void **state)
{
	const struct fixture *f = *state;
	struct error err = {0};
	int fd = workspace_lock(&f->dir, "agent-1", UINT64_MAX, &err);
	struct child child = keeper(at(f, ".locks/agent-1"));
	pthread_t thread;

	close(fd);
	assert_int_equal(pthread_create(&thread, NULL, end_when_waited_for, &child), 0);
	fd = workspace_lock(&f->dir, "agent-1", UINT64_MAX, &err);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(fd >= 0);
	assert_int_equal(workspace_lock(&f->dir, "agent-1", 0, &err), -1);
	close(fd);
}

/* Who waited for a file that its holder removed gets a lock that excludes others all the same. */
static void lock_outlives_its_file(void **state)
{
	const struct fixture *f = *state;
	struct error err = {0};
	int fd = workspace_lock(&f->dir, "agent-1", UINT64_MAX, &err);
	struct child child = keeper(at(f, ".locks/agent-1"));
	struct stat st;
	int old = open(at(f, ".locks/agent-1"), O_RDWR | O_CLOEXEC);
	pthread_t thread;

	close(fd);
	assert_int_equal(
		pthread_create(&thread, NULL, remove_when_waited_for, &(struct removal){f, &child}),
		0);
	fd = workspace_lock(&f->dir, "agent-1", UINT64_MAX, &err);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(fd >= 0);
	assert_int_equal(fstat(old, &st), 0);
	assert_int_equal(st.st_nlink, 0);
	close(old);
	assert_int_equal(workspace_lock(&f->dir, "agent-1", 0, &err), -1);
	assert_int_equal(err.code, ERR_TIMEOUT);
	workspace_lock_remove(&f->dir, "agent-1");
	close(fd);
	assert_int_equal(access(at(f, ".locks/agent-1"), F_OK), -1);
}

#define HAMMER_ROUNDS 2000

/* Reads, looks away, writes: an increment that only exclusion keeps whole. */
static void hammer(const struct state_dir *dir, int counter)
{
	for (int i = 0; i < HAMMER_ROUNDS; i++) {
		struct error err = {0};
		int fd = workspace_lock(dir, "hammered", UINT64_MAX, &err), count = -1;

		if (fd < 0 || pread(counter, &count, sizeof(count), 0) != sizeof(count))
			_exit(1);
		count++;
		sched_yield();
		if (pwrite(counter, &count, sizeof(count), 0) != sizeof(count))
			_exit(2);
		if (i % 3)
			workspace_lock_remove(dir, "hammered");
		close(fd);
	}
	_exit(0);
}

static void lock_and_remove_by_many(void **state)
{
	enum { PROCESSES = 3 };
	const struct fixture *f = *state;
	int counter, count = 0, status;

	counter = open(at(f, "../counter"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(pwrite(counter, &count, sizeof(count), 0), sizeof(count));
	for (int i = 0; i < PROCESSES; i++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (pid == 0)
			hammer(&f->dir, counter);
	}
	for (int i = 0; i < PROCESSES; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	assert_int_equal(pread(counter, &count, sizeof(count), 0), sizeof(count));
	assert_int_equal(count, PROCESSES * HAMMER_ROUNDS);
	close(counter);
}

static void lock_of_a_bad_name(void **state)
{
	static const char *const names[] = {"", ".", "..", "a/b", "../x", "logs"};
	const struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct error err = {0};

		assert_int_equal(workspace_lock(&f->dir, names[i], 0, &err), -1);
		assert_int_equal(err.code, ERR_INVALID);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		store_test(free_until_taken),
		store_test(is_a_plain_flock),
		store_test(held_by_who_inherited_it),
		store_test(waiting_ends_with_the_holder),
		store_test(waiting_ends_at_the_deadline),
		store_test(waiting_leaves_no_trace),
		store_test(taking_outlasts_a_look),
		store_test(absent_workspace),
		store_test(a_strange_lease_counts_as_held),
		store_test(lock_is_exclusive),
		store_test(lock_passes_on),
		store_test(lock_outlives_its_file),
		store_test(lock_and_remove_by_many),
		store_test(lock_of_a_bad_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
