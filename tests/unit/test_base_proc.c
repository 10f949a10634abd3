/* SPDX-License-Identifier: MIT */
/*
 * Tests processes. The children are this program itself, started with the name of a role. So a
 * child itself reports its descriptors, signals and so on, and no shell that opens some of its own
 * does.
 */
#include "test_base_proc.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>

static char *output_of(const struct proc_spec *spec, const struct proc_fd *more, size_t nmore)
{
	struct buf out = BUF_INIT(100000);
	struct proc p = PROC_NONE;
	struct error err;
	int code;

	autoclose int fd = start_role(spec, more, nmore, &p);
	assert_ok(fd_read_to_end(fd, &out, &err));
	assert_ok(proc_wait(&p, UINT64_MAX, &code, &err));
	assert_int_equal(code, 0);
	return buf_steal_string(&out, &err);
}

static int code_of(const char *role, const char *arg)
{
	const char *argv[] = {SELF, role, arg, NULL};
	struct proc_spec spec = {.argv = argv};
	struct proc p = PROC_NONE;
	struct error err;
	int code = -1;

	assert_ok(proc_spawn(&spec, &p, &err));
	assert_true(p.pid > 0);
	assert_true(fcntl(p.pidfd, F_GETFD) & FD_CLOEXEC);
	assert_ok(proc_wait(&p, UINT64_MAX, &code, &err));
	assert_int_equal(p.pid, 0);
	assert_int_equal(p.pidfd, -1);
	return code;
}

static void codes_of_exits_and_signals(void **state)
{
	char text[12];

	(void)state;
	for (int code = 0; code <= 255; code += 51) {
		snprintf(text, sizeof(text), "%d", code);
		assert_int_equal(code_of("role:exit", text), code);
	}
	assert_int_equal(code_of("role:kill", "15"), 143);
	assert_int_equal(code_of("role:kill", "9"), 137);
}

static void argv0_is_looked_up_in_path(void **state)
{
	static const char *const argv[] = {"true", NULL};
	struct proc_spec spec = {.argv = argv};
	struct proc p = PROC_NONE;
	struct error err;
	int code;

	(void)state;
	assert_ok(proc_spawn(&spec, &p, &err));
	assert_ok(proc_wait(&p, UINT64_MAX, &code, &err));
	assert_int_equal(code, 0);
}

/* Only absolute entries of PATH count: a user in a foreign directory runs no program of that
 * directory. */
static void argv0_is_not_looked_up_where_we_are(void **state)
{
	static const char *const entries[] = {".:/usr/bin:/bin", ":/usr/bin:/bin",
					      "/usr/bin:/bin:", "../../bin:/usr/bin:/bin"};
	const char *const argv[] = {"true", NULL}, *const only_here[] = {"only-here", NULL};
	autoclose int before = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct scratch *s = *state;
	struct error err;
	int code;

	assert_int_equal(fchdir(s->fd), 0);
	for (const char *const *name = (const char *const[]){"true", "only-here", NULL}; *name;
	     name++) {
		autoclose int fd = openat(s->fd, *name, O_CREAT | O_WRONLY | O_CLOEXEC, 0755);

		assert_int_equal(dprintf(fd, "#!/bin/sh\nexit 3\n"), 17);
	}
	for (size_t i = 0; i < ARRAY_SIZE(entries); i++) {
		struct proc p = PROC_NONE;

		setenv("PATH", entries[i], 1);
		assert_ok(proc_spawn(&(struct proc_spec){.argv = argv}, &p, &err));
		assert_ok(proc_wait(&p, UINT64_MAX, &code, &err));
		assert_int_equal(code, 0);
		assert_int_equal(proc_spawn(&(struct proc_spec){.argv = only_here}, &p, &err), -1);
		assert_code(err, ERR_NOT_FOUND);
	}
	assert_int_equal(fchdir(before), 0);
	setenv("PATH", "/usr/bin:/bin", 1);
}

static void spawn_fails(const struct proc_spec *spec, enum error_code code, int errnum,
			const char *says)
{
	struct proc p = {.pid = 77, .pidfd = 78};
	int before = open_descriptors();
	struct error err;

	assert_int_equal(proc_spawn(spec, &p, &err), -1);
	assert_code(err, code);
	assert_int_equal(err.errnum, errnum);
	if (!strstr(err.msg, says))
		fail_msg("'%s' does not say '%s'", err.msg, says);
	assert_int_equal(p.pid, 77);
	assert_int_equal(p.pidfd, 78);
	assert_int_equal(open_descriptors(), before);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
	assert_int_equal(errno, ECHILD);
}

static void failures_of_exec_are_told(void **state)
{
	const struct scratch *s = *state;
	const char *none[] = {"/nonexistent/program", NULL};
	const char *not_in_path[] = {"no-such-program-anywhere", NULL};
	const char *directory[] = {"/", NULL};
	const char *self[] = {SELF, "role:exit", NULL};
	const char *nothing[] = {NULL};
	const char *empty[] = {"", NULL};
	autofree char *plain = NULL;
	struct proc_fd closed[] = {{999, 3}};
	struct proc_fd negative[] = {{0, -1}};
	struct proc_fd twice[] = {{0, 3}, {1, 3}};
	struct proc_fd huge[] = {{0, 1 << 30}};

	/* A directory of PATH that may not be read would make every absent name EACCES. */
	setenv("PATH", "/usr/bin:/bin", 1);
	assert_true(asprintf(&plain, "%s/plain", s->path) > 0);
	close(open(plain, O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
	const char *not_executable[] = {plain, NULL};
	spawn_fails(&(struct proc_spec){.argv = none}, ERR_NOT_FOUND, ENOENT,
		    "/nonexistent/program");
	spawn_fails(&(struct proc_spec){.argv = not_in_path}, ERR_NOT_FOUND, ENOENT, "no-such");
	spawn_fails(&(struct proc_spec){.argv = directory}, ERR_DENIED, EACCES, "execute");
	spawn_fails(&(struct proc_spec){.argv = not_executable}, ERR_DENIED, EACCES, "plain");
	spawn_fails(&(struct proc_spec){.argv = nothing}, ERR_INVALID, 0, "no program");
	spawn_fails(&(struct proc_spec){.argv = empty}, ERR_INVALID, 0, "no program");
	spawn_fails(&(struct proc_spec){.argv = self, .cwd = "/nonexistent"}, ERR_NOT_FOUND, ENOENT,
		    "working directory /nonexistent");
	spawn_fails(&(struct proc_spec){.argv = self, .fds = closed, .nfds = 1}, ERR_IO, EBADF,
		    "pass descriptors");
	spawn_fails(&(struct proc_spec){.argv = self, .fds = negative, .nfds = 1}, ERR_INVALID, 0,
		    "descriptor");
	spawn_fails(&(struct proc_spec){.argv = self, .fds = twice, .nfds = 2}, ERR_INVALID, 0,
		    "two descriptors were to become descriptor 3: this is a bug of microagent");
	spawn_fails(&(struct proc_spec){.argv = self, .fds = huge, .nfds = 1}, ERR_IO, EINVAL,
		    "pass descriptors");
}

static void nothing_else_is_inherited(void **state)
{
	static const char *const argv[] = {SELF, "role:list-fds", NULL};
	struct proc_spec spec = {.argv = argv};
	struct error err;
	int leak[2];

	(void)state;
	assert_int_equal(dup2(0, 33), 33); /* without O_CLOEXEC */
	assert_ok(fd_pipe(leak, &err));
	autofree char *few = output_of(&spec, NULL, 0);
	assert_string_equal(few, "0:null 1:pipe 2:null ");
	struct proc_fd more[] = {{leak[0], 2}, {leak[1], 40}, {leak[0], 3}};
	autofree char *listed = output_of(&spec, more, ARRAY_SIZE(more));
	assert_string_equal(listed, "0:null 1:pipe 2:pipe 3:pipe 40:pipe ");
	close(33);
	close(leak[0]);
	close(leak[1]);
}

/* The parent lacks 0 and 2, so files that it opens get these numbers. */
static void standard_descriptors_may_be_closed_in_the_parent(void **state)
{
	static const char *const argv[] = {SELF, "role:list-fds", NULL};
	struct proc_spec spec = {.argv = argv};
	int status;

	(void)state;
	pid_t pid = fork();
	if (pid == 0) {
		close(0);
		close(2);
		autofree char *few = output_of(&spec, NULL, 0);
		_exit(strcmp(few, "0:null 1:pipe 2:null ") != 0);
	}
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
}

/* Descriptors hold text "A".."D"; numbers are exchanged in a ring, doubled, and left in place. */
static void overlapping_numbers_keep_their_order(void **state)
{
	static const int at[] = {20, 21, 22, 23};
	static const char *const argv[] = {SELF, "role:read-fds", "20", "21", "22", "23", "0",
					   NULL};
	struct proc_spec spec = {.argv = argv};
	struct error err;

	(void)state;
	for (int i = 0; i < 4; i++) {
		int fd = fd_memfd("letter", (const char[]){(char)('A' + i)}, 1, &err);
		assert_int_equal(dup3(fd, at[i], O_CLOEXEC), at[i]);
		close(fd);
	}
	struct proc_fd ring[] = {{20, 21}, {21, 22}, {22, 20}, {23, 23}};
	autofree char *rotated = output_of(&spec, ring, ARRAY_SIZE(ring));
	assert_string_equal(rotated, "20=C 21=A 22=B 23=D 0= ");
	for (int i = 0; i < 4; i++)
		lseek(at[i], 0, SEEK_SET);
	struct proc_fd swap[] = {{21, 20}, {20, 21}, {23, 0}};
	autofree char *swapped = output_of(&spec, swap, ARRAY_SIZE(swap));
	assert_string_equal(swapped, "20=B 21=A 22= 23= 0=D ");
	for (int i = 0; i < 4; i++) {
		assert_true(fcntl(at[i], F_GETFD) & FD_CLOEXEC); /* ours are as they were */
		close(at[i]);
	}
}

static void environment_and_directory(void **state)
{
	static const char *const envp[] = {"A=b", NULL};
	static const char *const env[] = {SELF, "role:env", NULL};
	static const char *const cwd[] = {SELF, "role:cwd", NULL};
	const struct scratch *s = *state;

	setenv("HOME", "/", 1);
	autofree char *given = output_of(&(struct proc_spec){.argv = env, .envp = envp}, NULL, 0);
	assert_string_equal(given, "b|-");
	autofree char *ours = output_of(&(struct proc_spec){.argv = env}, NULL, 0);
	assert_string_equal(ours, "-|home");
	autofree char *dir = output_of(&(struct proc_spec){.argv = cwd, .cwd = s->path}, NULL, 0);
	assert_string_equal(dir, s->path);
}

/* Returns the mask of that name in a /proc status, without the two signals that glibc uses itself:
 * its posix_spawn() leaves them ignored in processes that make starts, and sigaction() does not
 * change them. */
static uint64_t signal_mask(const char *status, const char *name)
{
	const char *at = strstr(status, name);

	assert_non_null(at);
	return strtoull(at + strlen(name), NULL, 16) & ~(UINT64_C(3) << 31);
}

static void signals_are_reset_in_the_child_only(void **state)
{
	static const char *const argv[] = {SELF, "role:status", NULL};
	sigset_t set, before, now;

	(void)state;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, &before);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGRTMIN + 3, SIG_IGN);
	autofree char *text = output_of(&(struct proc_spec){.argv = argv}, NULL, 0);
	assert_int_equal(signal_mask(text, "SigBlk:\t"), 0);
	assert_int_equal(signal_mask(text, "SigIgn:\t"), 0);
	assert_non_null(strstr(text, "session 0"));
	sigprocmask(SIG_SETMASK, &before, &now);
	assert_true(sigismember(&now, SIGTERM));
	assert_false(sigismember(&now, SIGHUP));
	assert_true(signal(SIGPIPE, SIG_DFL) == SIG_IGN);
	signal(SIGRTMIN + 3, SIG_DFL);
}

static void new_session_is_led_by_the_child(void **state)
{
	static const char *const argv[] = {SELF, "role:status", NULL};

	(void)state;
	autofree char *text =
		output_of(&(struct proc_spec){.argv = argv, .new_session = true}, NULL, 0);
	assert_non_null(strstr(text, "session 1"));
}

static void user_and_groups_change(void **state)
{
	static const char *const argv[] = {SELF, "role:status", NULL};
	static const gid_t groups[] = {12, 34};
	struct proc_spec spec = {.argv = argv, .uid = 65534, .gid = 65533};

	(void)state;
	if (getuid() != 0) {
		spawn_fails(&spec, ERR_DENIED, EPERM, "change user");
		return;
	}
	autofree char *none = output_of(&spec, NULL, 0);
	assert_non_null(strstr(none, "Uid:\t65534\t65534\t65534\t65534"));
	assert_non_null(strstr(none, "Gid:\t65533\t65533\t65533\t65533"));
	assert_non_null(strstr(none, "Groups:\t \n"));
	spec.groups = groups;
	spec.ngroups = 2;
	autofree char *some = output_of(&spec, NULL, 0);
	assert_non_null(strstr(some, "Groups:\t12 34 \n"));
}

#define WITH_SCRATCH(f) cmocka_unit_test_setup_teardown(f, scratch_make, scratch_remove)

/* Makes a file with that as its only instruction, or an empty one. */
static int filter_file(const struct sock_filter *op)
{
	int fd = memfd_create("filter", MFD_CLOEXEC);

	assert_int_equal(op ? write(fd, op, sizeof(*op)) : 0, op ? sizeof(*op) : 0);
	return fd;
}

/* The filter works before the program: it ends the call that would start the program. */
static void a_filter_holds_from_the_first_instruction(void **state)
{
	static const struct sock_filter killing =
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	static const struct sock_filter none = BPF_STMT(BPF_LD | BPF_IMM, 0);
	static const char *const argv[] = {SELF, "role:exit", "0", NULL};
	struct proc_spec spec = {.argv = argv, .filter = filter_file(&killing)};
	struct proc p = PROC_NONE;
	struct error err;
	int code;

	(void)state;
	assert_ok(proc_spawn(&spec, &p, &err));
	assert_ok(proc_wait(&p, UINT64_MAX, &code, &err));
	assert_int_equal(code, 128 + SIGSYS);
	close(spec.filter);

	spec.filter = filter_file(&none);
	assert_int_equal(proc_spawn(&spec, &p, &err), -1);
	assert_string_equal(err.msg, "start " SELF ": system call filter: Invalid argument");
	close(spec.filter);
	spec.filter = filter_file(NULL);
	assert_int_equal(proc_spawn(&spec, &p, &err), -1);
	assert_string_equal(
		err.msg,
		"start " SELF
		": the system call filter has 0 bytes, which no filter can have: this is a bug of microagent");
	close(spec.filter);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(codes_of_exits_and_signals),
		cmocka_unit_test(a_filter_holds_from_the_first_instruction),
		cmocka_unit_test(argv0_is_looked_up_in_path),
		WITH_SCRATCH(argv0_is_not_looked_up_where_we_are),
		WITH_SCRATCH(failures_of_exec_are_told),
		cmocka_unit_test(nothing_else_is_inherited),
		cmocka_unit_test(standard_descriptors_may_be_closed_in_the_parent),
		cmocka_unit_test(overlapping_numbers_keep_their_order),
		WITH_SCRATCH(environment_and_directory),
		cmocka_unit_test(signals_are_reset_in_the_child_only),
		cmocka_unit_test(new_session_is_led_by_the_child),
		cmocka_unit_test(user_and_groups_change),
	};

	if (argc > 1 && strncmp(argv[1], "role:", 5) == 0)
		return run_role(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
