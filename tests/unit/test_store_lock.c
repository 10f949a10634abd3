/* SPDX-License-Identifier: MIT */
/*
 * The command lock, held by real processes. Order comes from pipes: nothing here depends on how
 * long anything takes.
 */
#include <fcntl.h>
#include <sched.h>

#include "store_keeper.h"

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

/* A process that waited for a file that its holder removed gets a lock that excludes others all the
 * same. */
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

/* Reads, waits, writes: an increment that is right only under exclusion. */
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
		store_test(lock_is_exclusive),	    store_test(lock_passes_on),
		store_test(lock_outlives_its_file), store_test(lock_and_remove_by_many),
		store_test(lock_of_a_bad_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
