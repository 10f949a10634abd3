/* SPDX-License-Identifier: MIT */
/*
 * The children are this very program, started with the name of a role: what a child sees of
 * descriptors, signals and so on is told by itself, not by a shell that opens some of its own.
 */
#include "test_base.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/proc.h"

#define SELF "/proc/self/exe"

/* --- roles ----------------------------------------------------------------------------------- */

/* Open descriptors with what they are: "0:null 1:pipe 5:file ..." */
static void role_list_fds(void)
{
	struct stat st, null;

	stat("/dev/null", &null);
	for (int fd = 0; fd < 1024; fd++) {
		if (fstat(fd, &st) < 0)
			continue;
		printf("%d:%s%s ", fd,
		       S_ISFIFO(st.st_mode)	    ? "pipe"
		       : st.st_rdev == null.st_rdev ? "null"
						    : "file",
		       fcntl(fd, F_GETFD) & FD_CLOEXEC ? "!" : "");
	}
}

static void role_status(void)
{
	char line[256];
	autofile FILE *f = fopen("/proc/self/status", "re");

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "Sig", 3) || !strncmp(line, "Uid", 3) ||
		    !strncmp(line, "Gid", 3) || !strncmp(line, "Groups", 6))
			fputs(line, stdout);
	printf("session %d\n", getsid(0) == getpid());
}

/* Reads the numbered descriptors one after the other. */
static void role_read_fds(int argc, char **argv)
{
	char text[32];

	for (int i = 2; i < argc; i++) {
		ssize_t n = read(atoi(argv[i]), text, sizeof(text));
		printf("%s=%.*s ", argv[i], (int)(n > 0 ? n : 0), text);
	}
}

/* Holds standard output open until the end of the given descriptor, in a child, and ends. */
static void role_leave_child_behind(void)
{
	char c;

	printf("said before");
	fflush(stdout);
	if (fork() == 0) {
		(void)!read(9, &c, 1);
		_exit(0);
	}
	_exit(0);
}

/* Starts a child that lives as long as it or descriptor 9's peer, tells its pid and ends when told
 * to by the end of descriptor 8. */
static void role_parent(void)
{
	static const char *const argv[] = {SELF, "role:wait-9", NULL};
	static const struct proc_fd fds[] = {{9, 9}};
	struct proc_spec spec = {.argv = argv, .fds = fds, .nfds = 1, .die_with_parent = true};
	struct proc p;
	char c;

	if (proc_spawn(&spec, &p, NULL) < 0)
		_exit(1);
	(void)!write(1, "up", 2);
	close(9);
	(void)!read(8, &c, 1);
	_exit(0);
}

static void role_errors(size_t lines)
{
	for (size_t i = 0; i < lines; i++)
		fprintf(stderr, "line %zu\n", i);
	fputs("the last\twords\n\n", stderr);
}

static int run_role(int argc, char **argv)
{
	const char *role = argv[1] + strlen("role:");
	char c;

	if (!strcmp(role, "list-fds"))
		role_list_fds();
	else if (!strcmp(role, "status"))
		role_status();
	else if (!strcmp(role, "read-fds"))
		role_read_fds(argc, argv);
	else if (!strcmp(role, "leave-child"))
		role_leave_child_behind();
	else if (!strcmp(role, "parent"))
		role_parent();
	else if (!strcmp(role, "wait-9"))
		return (int)read(9, &c, 1);
	else if (!strcmp(role, "errors"))
		role_errors(argc > 2 ? strtoul(argv[2], NULL, 10) : 0);
	else if (!strcmp(role, "flood"))
		while (write(1, role, 5) > 0)
			;
	else if (!strcmp(role, "pause"))
		pause();
	else if (!strcmp(role, "env"))
		printf("%s|%s", getenv("A") ? getenv("A") : "-", getenv("HOME") ? "home" : "-");
	else if (!strcmp(role, "cwd"))
		printf("%s", getcwd((char[256]){0}, 256));
	else if (!strcmp(role, "kill"))
		raise(atoi(argv[2]));
	return argc > 2 && !strcmp(role, "exit") ? atoi(argv[2]) : !strcmp(role, "errors") ? 3 : 0;
}

/* --- helpers --------------------------------------------------------------------------------- */

/* Starts a role with its standard output into the returned descriptor. */
static int start_role(const struct proc_spec *wanted, const struct proc_fd *more, size_t nmore,
		      struct proc *p)
{
	struct proc_fd fds[16];
	struct proc_spec spec = *wanted;
	struct error err;
	int ends[2];

	assert_ok(fd_pipe(ends, &err));
	fds[0] = (struct proc_fd){ends[1], 1};
	if (nmore)
		memcpy(fds + 1, more, nmore * sizeof(*more));
	spec.fds = fds;
	spec.nfds = nmore + 1;
	assert_ok(proc_spawn(&spec, p, &err));
	close(ends[1]);
	return ends[0];
}

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

/* --- tests ----------------------------------------------------------------------------------- */

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

	/* A directory of PATH that is closed to us would make every absent name EACCES. */
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
		    "two descriptors become 3");
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

/* The parent lacks 0 and 2: what it opens falls on these numbers. */
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

/* The mask of that name in a /proc status, without the two signals that glibc keeps for itself: its
 * posix_spawn() leaves them ignored in what make starts, and sigaction() does not touch them. */
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

/* Somebody else's waitpid() took the status: an error, not a wait for ever. */
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

/* A grandchild that keeps the pipe open must not keep proc_run(). */
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
	assert_ok(proc_boot_id(id, &err));
	assert_ok(proc_boot_id(again, &err));
	assert_string_equal(id, again);
	assert_int_equal(strlen(id), 36);
	for (int i = 0; i < 36; i++)
		assert_true(i == 8 || i == 13 || i == 18 || i == 23
				    ? id[i] == '-'
				    : strchr("0123456789abcdef", id[i]) != NULL);
}

#define WITH_SCRATCH(f) cmocka_unit_test_setup_teardown(f, scratch_make, scratch_remove)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(codes_of_exits_and_signals),
		cmocka_unit_test(argv0_is_looked_up_in_path),
		WITH_SCRATCH(failures_of_exec_are_told),
		cmocka_unit_test(nothing_else_is_inherited),
		cmocka_unit_test(standard_descriptors_may_be_closed_in_the_parent),
		cmocka_unit_test(overlapping_numbers_keep_their_order),
		WITH_SCRATCH(environment_and_directory),
		cmocka_unit_test(signals_are_reset_in_the_child_only),
		cmocka_unit_test(new_session_is_led_by_the_child),
		cmocka_unit_test(user_and_groups_change),
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
