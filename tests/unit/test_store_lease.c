/* SPDX-License-Identifier: MIT */
/*
 * Tests the lease, held by real processes. Pipes give the order, and nothing here depends on time.
 */
#include <dirent.h>
#include <sys/stat.h>

#include "base/limits.h"
#include "store_keeper.h"

static struct lease taken(const struct fixture *f)
{
	struct lease lease = LEASE_NONE;
	struct error err = {0};

	assert_int_equal(lease_take(&f->ws, &lease, &err), 0);
	return lease;
}

static void refused(const struct fixture *f)
{
	struct lease lease = LEASE_NONE;
	struct error err = {0};

	assert_true(lease_is_held(&f->ws));
	assert_int_equal(lease_take(&f->ws, &lease, &err), -1);
	assert_int_equal(err.code, ERR_CONFLICT);
	assert_non_null(strstr(err.msg, "agent-1"));
	assert_int_equal(lease.life, -1);
	assert_int_equal(lease.lock, -1);
}

static void free_until_taken(void **state)
{
	const struct fixture *f = *state;
	struct error err = {0};
	struct lease lease;
	struct stat st;

	assert_false(lease_is_held(&f->ws)); /* no file yet */
	assert_int_equal(lease_wait_free(&f->ws, 0, &err), 0);
	lease = taken(f);
	assert_true(fcntl(lease.life, F_GETFD) & FD_CLOEXEC);
	assert_true(fcntl(lease.lock, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(stat(at(f, "agent-1/lease"), &st), 0);
	assert_int_equal(st.st_mode, S_IFIFO | 0600);
	refused(f);
	lease_drop(&lease);
	assert_false(lease_is_held(&f->ws)); /* the file stays */
	assert_int_equal(lease_wait_free(&f->ws, 0, &err), 0);
	lease = taken(f);
	lease_drop(&lease);
}

/* By any action on its inherited descriptors. */
static void nobody_lets_go_for_another(void **state)
{
	const struct fixture *f = *state;
	struct flock all = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
	struct lease lease = taken(f);
	int inherited = dup(lease.life);

	assert_true(inherited >= 0);
	assert_int_equal(flock(inherited, LOCK_UN), 0);
	(void)fcntl(inherited, F_OFD_SETLK, &all);
	refused(f);
	assert_int_equal(flock(inherited, LOCK_EX | LOCK_NB), -1); /* nor is the lock theirs */
	assert_int_equal(errno, EWOULDBLOCK);
	assert_int_equal(close(inherited), 0);
	refused(f);
	lease_drop(&lease);
	assert_false(lease_is_held(&f->ws));
}

/* Its holder has died, and its children are about to end. */
static void held_without_its_lock(void **state)
{
	const struct fixture *f = *state;
	struct lease lease = taken(f);

	limit_set(LIMIT_LEASE_LOOK_MS, 1);
	cleanup_close(&lease.lock);
	refused(f);
	limit_set(LIMIT_LEASE_LOOK_MS, 60000);
	lease_drop(&lease);
	assert_false(lease_is_held(&f->ws));
}

static void held_by_who_inherited_it(void **state)
{
	const struct fixture *f = *state;
	struct lease lease = taken(f);
	struct child first = keeper(at(f, "agent-1/lease"));
	struct child second = keeper(at(f, "agent-1/lease"));

	lease_drop(&lease);
	assert_true(lease_is_held(&f->ws));
	end(&first);
	assert_true(lease_is_held(&f->ws));
	kill(second.pid, SIGKILL); /* however it goes */
	end(&second);
	assert_false(lease_is_held(&f->ws));
}

/* Another part of this process has the lease open, to hear of its end. */
static void wait_for_look(const struct child *child)
{
	char entry[280], target[4096];
	bool looking = false;

	while (!looking) {
		autodir DIR *dir = opendir("/proc/self/fd");
		struct dirent *fd;

		while (dir && (fd = readdir(dir))) {
			snprintf(entry, sizeof(entry), "/proc/self/fd/%s", fd->d_name);
			ssize_t n = readlink(entry, target, sizeof(target) - 1);

			target[n > 0 ? n : 0] = '\0';
			looking = looking || strcmp(target, child->file) == 0;
		}
		poll(NULL, 0, 1);
	}
}

static void *end_when_looked_for(void *data)
{
	wait_for_look(data);
	end(data);
	return NULL;
}

static void waiting_ends_with_the_holder(void **state)
{
	const struct fixture *f = *state;
	struct error err = {0};
	struct lease lease = taken(f);
	struct child child = keeper(at(f, "agent-1/lease"));
	pthread_t thread;

	lease_drop(&lease);
	assert_int_equal(pthread_create(&thread, NULL, end_when_looked_for, &child), 0);
	assert_int_equal(lease_wait_free(&f->ws, clock_mono_ns() + LONG_NS, &err), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_false(lease_is_held(&f->ws)); /* the waiter has kept nothing */
	lease = taken(f);
	lease_drop(&lease);
}

static void waiting_ends_at_the_deadline(void **state)
{
	const struct fixture *f = *state;
	struct error err = {0};
	struct lease lease = taken(f);
	uint64_t deadline = clock_mono_ns() + SHORT_NS;

	assert_int_equal(lease_wait_free(&f->ws, deadline, &err), -1);
	assert_int_equal(err.code, ERR_TIMEOUT);
	assert_non_null(strstr(err.msg, "agent-1"));
	assert_true(clock_mono_ns() >= deadline);
	assert_int_equal(lease_wait_free(&f->ws, 0, &err), -1); /* a deadline gone by */
	assert_int_equal(err.code, ERR_TIMEOUT);
	assert_true(lease_is_held(&f->ws));
	lease_drop(&lease);
}

static volatile sig_atomic_t child_signals;

static void count_signal(int signal)
{
	(void)signal;
	child_signals = child_signals + 1;
}

/* The waiting process concerns nobody: no SIGCHLD, no child left to reap. */
static void waiting_leaves_no_trace(void **state)
{
	const struct fixture *f = *state;
	struct sigaction action = {.sa_handler = count_signal}, before;
	struct error err = {0};
	struct lease lease = taken(f);

	sigaction(SIGCHLD, &action, &before);
	assert_int_equal(lease_wait_free(&f->ws, clock_mono_ns() + SHORT_NS, &err), -1);
	assert_int_equal(child_signals, 0);
	assert_int_equal(waitpid(-1, NULL, WNOHANG | __WALL), -1);
	assert_int_equal(errno, ECHILD);
	sigaction(SIGCHLD, &before, NULL);
	lease_drop(&lease);
}

/* A process that only looks must not make a start fail, nor must another one that starts. */
static void taking_outlasts_a_look(void **state)
{
	const struct fixture *f = *state;
	struct lease lease = taken(f);
	int look = open(at(f, "agent-1/lease"), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	struct child child;
	pthread_t thread;

	assert_true(look >= 0);
	cleanup_close(&lease.lock);
	child = keeper(at(f, "agent-1/lease"));
	lease_drop(&lease);
	close(look);
	limit_set(LIMIT_LEASE_LOOK_MS, 60000);
	assert_int_equal(pthread_create(&thread, NULL, end_when_looked_for, &child), 0);
	lease = taken(f);
	assert_int_equal(pthread_join(thread, NULL), 0);
	refused(f);
	lease_drop(&lease);
}

/* A file with a flock, which every process had. */
static void a_lease_of_an_earlier_version(void **state)
{
	const struct fixture *f = *state;
	struct error err = {0};
	int fd = open(at(f, "agent-1/lease"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct child child;
	struct lease lease;
	pthread_t thread;
	struct stat st;

	assert_true(fd >= 0);
	assert_false(lease_is_held(&f->ws));
	assert_int_equal(flock(fd, LOCK_EX), 0);
	child = keeper(at(f, "agent-1/lease"));
	close(fd);
	limit_set(LIMIT_LEASE_LOOK_MS, 1);
	refused(f);
	assert_int_equal(lease_wait_free(&f->ws, 0, &err), -1);
	assert_int_equal(err.code, ERR_TIMEOUT);
	limit_set(LIMIT_LEASE_LOOK_MS, 60000);
	assert_int_equal(pthread_create(&thread, NULL, end_when_waited_for, &child), 0);
	lease = taken(f);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(stat(at(f, "agent-1/lease"), &st), 0);
	assert_true(S_ISFIFO(st.st_mode));
	refused(f);
	lease_drop(&lease);
	assert_false(lease_is_held(&f->ws));
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

/* --- what a supervisor that was taken over does to its lease ---------------------------------- */

static void put_nothing(const struct fixture *f)
{
	(void)f;
}

static void put_locked_file(const struct fixture *f)
{
	int fd = open(at(f, "agent-1/lease"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0); /* closed with the process */
	assert_int_equal(flock(fd, LOCK_EX), 0);
}

static void put_directory(const struct fixture *f)
{
	assert_int_equal(mkdir(at(f, "agent-1/lease"), 0700), 0);
	assert_int_equal(mkdir(at(f, "agent-1/lease/in"), 0), 0);
}

static void put_link(const struct fixture *f)
{
	assert_int_equal(symlink("/dev/null", at(f, "agent-1/lease")), 0);
}

static void put_another_fifo(const struct fixture *f)
{
	assert_int_equal(mkfifo(at(f, "agent-1/lease"), 0600), 0);
}

static void (*const first_names[])(const struct fixture *f) = {
	put_nothing, put_locked_file, put_directory, put_link, put_another_fifo};

static bool is_same_file(const struct fixture *f)
{
	struct stat first, second;

	return stat(at(f, "agent-1/lease"), &first) == 0 &&
	       stat(at(f, ".locks/.lease-agent-1"), &second) == 0 &&
	       first.st_ino == second.st_ino && S_ISFIFO(first.st_mode);
}

static void make_locks(const struct fixture *f)
{
	assert_int_equal(mkdir(at(f, ".locks"), 0700), 0);
}

/* The holder of the lease is known by the file, whatever name /proc shows. */
static void held_by_its_second_name_alone(void **state)
{
	const struct fixture *f = *state;
	struct error err = {0};

	make_locks(f);
	for (size_t i = 0; i < ARRAY_SIZE(first_names); i++) {
		struct lease lease = taken(f);
		autoclose int watch = -1;

		assert_true(is_same_file(f));
		assert_int_equal(renameat(f->ws.fd, "lease", f->ws.fd, "x"), 0);
		first_names[i](f);
		refused(f);
		watch = lease_watch(&f->ws);
		assert_true(watch >= 0);
		assert_true(lease_is_had_by(watch, getpid()));
		lease_drop(&lease);
		assert_false(lease_is_held(&f->ws));
		assert_false(lease_is_had_by(watch, getpid()));
		assert_int_equal(lease_wait_free(&f->ws, 0, &err), 0);
		lease = taken(f);
		assert_true(is_same_file(f));
		refused(f);
		lease_drop(&lease);
		assert_int_equal(unlink(at(f, "agent-1/x")), 0);
	}
}

static mode_t mode_of_lease(const struct fixture *f)
{
	struct stat st;

	return fstatat(f->ws.fd, "lease", &st, 0) == 0 ? st.st_mode : 0;
}

static void check_without_rights(const struct fixture *f)
{
	struct lease lease = taken(f);

	assert_int_equal(fchmod(lease.life, 0), 0);
	assert_int_equal(openat(f->ws.fd, "lease", O_WRONLY | O_NONBLOCK | O_CLOEXEC), -1);
	assert_int_equal(errno, EACCES);
	refused(f);
	assert_int_equal(mode_of_lease(f), S_IFIFO | 0600);
	assert_int_equal(fchmod(lease.life, 0), 0);
	lease_drop(&lease);
	assert_false(lease_is_held(&f->ws));
	assert_int_equal(fchmodat(f->ws.fd, "lease", 0, 0), 0);
	lease = taken(f);
	lease_drop(&lease);
}

/* With a second name and without, for a workspace of an ordinary user: root needs no rights to a
 * file. */
static void held_without_rights_to_it(void **state)
{
	const struct fixture *f = *state;
	const bool root = geteuid() == 0;

	if (root) {
		assert_int_equal(fchown(f->dir.fd, 4242, (gid_t)-1), 0);
		assert_int_equal(fchown(f->ws.fd, 4242, (gid_t)-1), 0);
		assert_int_equal(seteuid(4242), 0);
	}
	check_without_rights(f);
	if (root)
		assert_int_equal(seteuid(0), 0);
	make_locks(f);
	if (root) {
		assert_int_equal(chown(at(f, ".locks"), 4242, (gid_t)-1), 0);
		assert_int_equal(seteuid(4242), 0);
	}
	check_without_rights(f);
	if (root)
		assert_int_equal(seteuid(0), 0);
	assert_true(is_same_file(f));
}

/* If there is no second name, and the lease cannot be looked at, nothing may be deleted. */
static void a_strange_lease_counts_as_held(void **state)
{
	const struct fixture *f = *state;
	struct error err = {0};
	struct lease lease = LEASE_NONE;

	assert_int_equal(symlink("/dev/null", at(f, "agent-1/lease")), 0);
	assert_true(lease_is_held(&f->ws));
	assert_int_equal(lease_take(&f->ws, &lease, &err), -1);
	assert_non_null(strstr(err.msg, "agent-1/lease"));
	assert_int_equal(lease_wait_free(&f->ws, 0, &err), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		store_test(free_until_taken),
		store_test(nobody_lets_go_for_another),
		store_test(held_without_its_lock),
		store_test(held_by_who_inherited_it),
		store_test(waiting_ends_with_the_holder),
		store_test(waiting_ends_at_the_deadline),
		store_test(waiting_leaves_no_trace),
		store_test(taking_outlasts_a_look),
		store_test(a_lease_of_an_earlier_version),
		store_test(absent_workspace),
		store_test(held_by_its_second_name_alone),
		store_test(held_without_rights_to_it),
		store_test(a_strange_lease_counts_as_held),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
