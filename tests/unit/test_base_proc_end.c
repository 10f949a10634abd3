/* SPDX-License-Identifier: MIT */
/* Tests processes that end, are waited for, and run to their end with output. */
#include "test_base_proc.h"

/* The grandchild holds the write end of `alive`: its end is the end of the grandchild. */
static void child_dies_with_its_parent(void **state)
{
	static const char *const argv[] = {SELF, "role:parent", NULL};
	struct proc p = PROC_NONE;
	int hold[2], alive[2], code;
	char text[3] = "", c;
	struct error err;

	(void)state;
	assert_ok(fd_socketpair(alive, &err));
	assert_ok(fd_pipe(hold, &err));
	struct proc_fd fds[] = {{hold[0], 8}, {alive[1], 9}};
	autoclose int out = start_role(&(struct proc_spec){.argv = argv}, fds, 2, &p);
	close(alive[1]);
	close(hold[0]);
	assert_ok(fd_read_exact(out, text, 2, &err));
	assert_int_equal(fd_wait(alive[0], POLLIN, 0, &err), -1); /* both live */
	close(hold[1]);
	assert_ok(proc_wait(&p, UINT64_MAX, &code, &err));
	assert_int_equal(read(alive[0], &c, 1), 0);
	close(alive[0]);
}

static void wait_has_a_deadline(void **state)
{
	static const char *const argv[] = {SELF, "role:pause", NULL};
	struct proc p = PROC_NONE;
	struct error err;
	int code = 99;

	(void)state;
	assert_ok(proc_spawn(&(struct proc_spec){.argv = argv, .die_with_parent = true}, &p, &err));
	assert_int_equal(proc_wait(&p, 0, &code, &err), -1);
	assert_code(err, ERR_TIMEOUT);
	assert_int_equal(proc_wait(&p, clock_mono_ns() + NS_PER_MS, &code, &err), -1);
	assert_code(err, ERR_TIMEOUT);
	assert_int_equal(code, 99);
	assert_true(p.pid > 0);
	assert_ok(proc_signal(&p, SIGTERM, &err));
	assert_ok(proc_wait(&p, UINT64_MAX, &code, &err));
	assert_int_equal(code, 128 + SIGTERM);
}

static void end_is_for_any_state(void **state)
{
	static const char *const pause_argv[] = {SELF, "role:pause", NULL};
	static const char *const exit_argv[] = {SELF, "role:exit", NULL};
	struct proc p = PROC_NONE;
	struct error err;
	int code, before = open_descriptors();

	(void)state;
	proc_end(&p);
	assert_int_equal(proc_wait(&p, 0, &code, &err), -1);
	assert_code(err, ERR_NOT_FOUND);
	assert_int_equal(proc_signal(&p, SIGTERM, &err), -1);
	assert_code(err, ERR_NOT_FOUND);
	assert_ok(proc_spawn(&(struct proc_spec){.argv = pause_argv, .die_with_parent = true}, &p,
			     &err));
	proc_end(&p);
	assert_int_equal(p.pidfd, -1);
	assert_ok(proc_spawn(&(struct proc_spec){.argv = exit_argv}, &p, &err));
	assert_ok(fd_wait(p.pidfd, POLLIN, UINT64_MAX, &err));
	proc_end(&p);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(open_descriptors(), before);
}

/* Another waitpid() took the status: this is an error, and must not wait for ever. */
static void reaped_elsewhere(void **state)
{
	static const char *const argv[] = {SELF, "role:exit", NULL};
	struct proc p = PROC_NONE;
	struct error err;
	int code;

	(void)state;
	assert_ok(proc_spawn(&(struct proc_spec){.argv = argv}, &p, &err));
	assert_int_equal(waitpid(p.pid, NULL, 0), p.pid);
	assert_int_equal(proc_wait(&p, UINT64_MAX, &code, &err), -1);
	assert_int_equal(err.errnum, ECHILD);
	assert_int_equal(proc_signal(&p, SIGTERM, &err), -1);
	assert_code(err, ERR_NOT_FOUND);
	proc_end(&p);
	assert_int_equal(p.pidfd, -1);
}

static void run_gives_output(void **state)
{
	static const char *const argv[] = {SELF, "role:list-fds", NULL};
	autobuf struct buf out = BUF_INIT(1000);
	struct error err;

	(void)state;
	assert_ok(buf_append(&out, "> ", 2, &err));
	assert_ok(proc_run(argv, &out, UINT64_MAX, &err));
	assert_string_equal(buf_string(&out), "> 0:null 1:pipe 2:pipe ");
	assert_ok(proc_run(argv, NULL, UINT64_MAX, &err));
}

static void run_tells_the_last_words(void **state)
{
	static const char *const few[] = {SELF, "role:errors", "0", NULL};
	static const char *const many[] = {SELF, "role:errors", "100000", NULL};
	static const char *const none[] = {"/nonexistent", NULL};
	static const char *const silent[] = {SELF, "role:exit", "7", NULL};
	struct error err;

	(void)state;
	assert_int_equal(proc_run(few, NULL, UINT64_MAX, &err), -1);
	assert_code(err, ERR_IO);
	assert_string_equal(err.msg, SELF ": exit code 3: the last words");
	assert_int_equal(proc_run(many, NULL, UINT64_MAX, &err), -1);
	assert_true(strlen(err.msg) < 600);
	assert_non_null(strstr(err.msg, "line 99999 the last words"));
	assert_int_equal(proc_run(silent, NULL, UINT64_MAX, &err), -1);
	assert_string_equal(err.msg, SELF ": exit code 7");
	assert_int_equal(proc_run(none, NULL, UINT64_MAX, &err), -1);
	assert_code(err, ERR_NOT_FOUND);
}

static void run_is_bounded(void **state)
{
	static const char *const flood[] = {SELF, "role:flood", NULL};
	static const char *const paused[] = {SELF, "role:pause", NULL};
	autobuf struct buf out = BUF_INIT(100000);
	int before = open_descriptors();
	struct error err;

	(void)state;
	assert_ok(buf_append(&out, "kept", 4, &err));
	assert_int_equal(proc_run(flood, &out, UINT64_MAX, &err), -1);
	assert_code(err, ERR_INVALID);
	assert_string_equal(buf_string(&out), "kept");
	assert_int_equal(proc_run(paused, &out, clock_mono_ns() + NS_PER_MS, &err), -1);
	assert_code(err, ERR_TIMEOUT);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(open_descriptors(), before);
}

/* A grandchild that keeps the pipe open must not delay proc_run(). */
static void run_does_not_wait_for_grandchildren(void **state)
{
	autobuf struct buf out = BUF_INIT(1000);
	struct error err;
	int hold[2];

	(void)state;
	assert_ok(fd_pipe(hold, &err));
	/* proc_run() passes no descriptors: the shell opens ours by its name in /proc. */
	autofree char *dir = path_of_executable_dir(&err), *script = NULL;
	assert_true(asprintf(&script, "exec %s/%s role:leave-child 9</proc/%d/fd/%d", dir,
			     program_invocation_short_name, getpid(), hold[0]) > 0);
	const char *argv[] = {"sh", "-c", script, NULL};
	assert_ok(proc_run(argv, &out, UINT64_MAX, &err));
	assert_string_equal(buf_string(&out), "said before");
	close(hold[0]);
	close(hold[1]); /* lets the grandchild end */
}

static uint64_t start_time_of(pid_t pid)
{
	struct error err;
	uint64_t ticks = 0;

	assert_ok(proc_start_time(pid, &ticks, &err));
	return ticks;
}

static void start_times(void **state)
{
	struct error err;
	uint64_t ticks = 5;
	int ready[2];
	char c;

	(void)state;
	uint64_t mine = start_time_of(getpid());
	assert_true(mine > 0);
	assert_true(mine == start_time_of(getpid()));
	uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK);
	assert_true(mine <= clock_boot_ns() / (NS_PER_S / hz) + 1);

	/* a name that looks like the fields behind it */
	assert_ok(fd_pipe(ready, &err));
	pid_t pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test leaves nothing behind */
		prctl(PR_SET_NAME, ") R 1 1 1 (a b");
		(void)!write(ready[1], "x", 1);
		pause();
	}
	assert_ok(fd_read_exact(ready[0], &c, 1, &err));
	assert_true(start_time_of(pid) >= mine);
	assert_true(start_time_of(pid) <= clock_boot_ns() / (NS_PER_S / hz) + 1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(ready[0]);
	close(ready[1]);
	assert_int_equal(proc_start_time(pid, &ticks, &err), -1);
	assert_code(err, ERR_NOT_FOUND);
	assert_int_equal(proc_start_time(0, &ticks, &err), -1);
	assert_code(err, ERR_NOT_FOUND);
	assert_int_equal(proc_start_time(-1, &ticks, &err), -1);
	assert_true(ticks == 5);
}

static void boot_id_is_a_uuid(void **state)
{
	char id[37], again[37];
	struct error err;

	(void)state;
	assert_ok(process_boot_id(id, &err));
	assert_ok(process_boot_id(again, &err));
	assert_string_equal(id, again);
	assert_int_equal(strlen(id), 36);
	for (int i = 0; i < 36; i++)
		assert_true(i == 8 || i == 13 || i == 18 || i == 23
				    ? id[i] == '-'
				    : strchr("0123456789abcdef", id[i]) != NULL);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(child_dies_with_its_parent),
		cmocka_unit_test(wait_has_a_deadline),
		cmocka_unit_test(end_is_for_any_state),
		cmocka_unit_test(reaped_elsewhere),
		cmocka_unit_test(run_gives_output),
		cmocka_unit_test(run_tells_the_last_words),
		cmocka_unit_test(run_is_bounded),
		cmocka_unit_test(run_does_not_wait_for_grandchildren),
		cmocka_unit_test(start_times),
		cmocka_unit_test(boot_id_is_a_uuid),
	};

	if (argc > 1 && strncmp(argv[1], "role:", 5) == 0)
		return run_role(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
