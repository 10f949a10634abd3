/* SPDX-License-Identifier: MIT */
/* Tests how foreign tools are run, and the place in the cache where they work. */
#include "test_base.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "artifact/artifact.h"
#include "artifact/place.h"
#include "artifact/tool.h"
#include "artifact/tool_calls.h"
#include "base/fd.h"
#include "base/json.h"

static const char *const *shell(const char *script)
{
	static const char *argv[] = {"/bin/sh", "-c", NULL, NULL};

	argv[2] = script;
	return argv;
}

static void run_ok(const struct tool *tool)
{
	struct error err = {0};

	if (tool_run(tool, &err) < 0)
		fail_msg("%s", err.msg);
}

static void stdout_is_taken(void **state)
{
	autobuf struct buf out = BUF_INIT(1 << 20), errors = BUF_INIT(100);
	const struct tool tool = {
		.argv = shell("printf out; printf err >&2"), .out = &out, .errors = &errors};

	(void)state;
	run_ok(&tool);
	assert_string_equal(buf_string(&out), "out");
	assert_string_equal(buf_string(&errors), "err");
}

static void one_that_only_reads_changes_nothing(void **state)
{
	const struct scratch *s = *state;
	autobuf struct buf out = BUF_INIT(1 << 20);
	char script[512];
	const struct tool tool = {
		.argv = shell(script), .cwd = s->path, .alone_with = s->path, .out = &out};

	assert_int_equal(path_replace_file_at(s->fd, "f", "kept", 4, 0600, PATH_NO_SYNC, NULL), 0);
	/* Only a process with a capability can open this one. */
	assert_int_equal(path_replace_file_at(s->fd, "shut", "x\n", 2, 0, PATH_NO_SYNC, NULL), 0);
	/* No process can be started, so the shell makes all attempts by itself. /dev/null cannot be
	 * opened either, and a redirection to it would stop the script. */
	snprintf(script, sizeof(script),
		 "exec 2>&-; read -r x <f; printf %%s $x; "
		 "for f in f g /tmp/microagent-tool; do echo x >$f && printf %%s $f; done; "
		 "for f in shut /etc/passwd /proc/self/status; do read -r x <$f && printf %%s $f; "
		 "done; for f in ../*; do test -e \"$f\" && printf up; break; done; printf .");
	run_ok(&tool);
	if (strcmp(buf_string(&out), "kept.") != 0 &&
	    syscall(SYS_landlock_create_ruleset, NULL, 0, 1) < 0) {
		print_message("this kernel has no Landlock\n");
		skip();
	}
	assert_string_equal(buf_string(&out), "kept.");
}

static bool is_refused(int answer)
{
	return answer < 0 && errno == ENOSYS;
}

/* Returns 0 if under the filter no fcntl() sends a signal or blocks a program that opens the file,
 * and all other calls work. */
static int try_fcntl(int filter)
{
	struct sock_filter code[4096];
	ssize_t len = read(filter, code, sizeof(code));
	const struct sock_fprog program = {(unsigned short)((size_t)len / sizeof(*code)), code};
	const struct f_owner_ex owner = {F_OWNER_PID, getppid()};
	struct flock lock = {.l_type = F_RDLCK};

	if (len <= 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		return 1;
	if (fcntl(filter, F_GETFD) < 0 || fcntl(filter, F_SETFD, FD_CLOEXEC) < 0 ||
	    fcntl(filter, F_DUPFD, 3) < 0 || fcntl(filter, F_DUPFD_CLOEXEC, 3) < 0 ||
	    fcntl(filter, F_GETFL) < 0 || fcntl(filter, F_SETFL, O_NONBLOCK) < 0 ||
	    fcntl(filter, F_SETLK, &lock) < 0)
		return 2;
	return is_refused(fcntl(filter, F_SETOWN, getppid())) &&
			       is_refused(fcntl(filter, F_SETOWN_EX, &owner)) &&
			       is_refused(fcntl(filter, F_SETSIG, SIGKILL)) &&
			       is_refused(fcntl(filter, F_SETLEASE, F_RDLCK)) &&
			       is_refused(fcntl(filter, F_NOTIFY, DN_CREATE)) &&
			       is_refused(fcntl(filter, F_SETFL, O_NONBLOCK | O_ASYNC))
		       ? 0
		       : 3;
}

static void none_has_signals_sent_or_holds_up_another(void **state)
{
	static const enum tool_calls which[] = {TOOL_CALLS_ALONE, TOOL_CALLS_CELL,
						TOOL_CALLS_NETWORK};
	struct error err = {0};
	int filter = -1, status;
	pid_t child;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(which); i++) {
		assert_ok(tool_calls_filter(which[i], &filter, &err));
		child = fork();
		if (child == 0)
			_exit(try_fcntl(filter));
		close(filter);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
	}
}

static void count_lines(void *data, const char *line)
{
	size_t *lengths = data;

	lengths[0]++;
	lengths[1] += strlen(line);
}

/* Whole lines, the last one without a newline, and one that is longer than any buffer of ours. */
static void lines_are_given_one_by_one(void **state)
{
	size_t lengths[2] = {0};
	const struct tool tool = {
		.argv = shell("echo one; echo; printf two; head -c 10000 /dev/zero | tr '\\0' x"),
		.line = count_lines,
		.data = lengths};

	(void)state;
	run_ok(&tool);
	assert_int_equal(lengths[1], 3 + 3 + 10000);
	assert_true(lengths[0] >= 4 && lengths[0] < 10);
}

static void environment_directory_and_stdin_are_set(void **state)
{
	const char *const env[] = {"HOME=/elsewhere", "NEW=1", NULL};
	autobuf struct buf out = BUF_INIT(1 << 20);
	struct error err = {0};
	autoclose int in = fd_memfd("in", "given", 5, &err);
	const struct tool tool = {.argv = shell("echo $HOME $NEW; pwd; cat"),
				  .env = env,
				  .cwd = "/usr",
				  .stdin_fd = in,
				  .out = &out};

	(void)state;
	run_ok(&tool);
	assert_string_equal(buf_string(&out), "/elsewhere 1\n/usr\ngiven");
}

static void assert_fails(const struct tool *tool, enum error_code code, const char *words)
{
	struct error err = {0};

	assert_int_equal(tool_run(tool, &err), -1);
	if (err.code != code || !strstr(err.msg, words))
		fail_msg("%s: %s", error_code_name(err.code), err.msg);
}

static void failures_speak_in_the_tools_words(void **state)
{
	struct tool tool = {.argv = shell("echo reason >&2; exit 3")};

	(void)state;
	assert_fails(&tool, ERR_IO, "failed with exit code 3: reason");
	tool.argv = shell("exit 1");
	assert_fails(&tool, ERR_IO, "printed no message");
	tool.argv = shell("kill -9 $$");
	assert_fails(&tool, ERR_IO, "failed with exit code 137: it printed no message");
	tool.argv = shell("printf 'a\\033[31m\\nb\\n' >&2; exit 1");
	assert_fails(&tool, ERR_IO, "a [31m b");
}

static void too_much_output_is_an_error_and_ends_the_tool(void **state)
{
	autobuf struct buf out = BUF_INIT(1000);
	const struct tool tool = {.argv = shell("while :; do echo y; done"), .out = &out};

	(void)state;
	assert_fails(&tool, ERR_INVALID, "");
}

/* A daemon that is left behind keeps the pipes. The end of the tool itself counts. */
static void a_child_left_behind_is_not_waited_for(void **state)
{
	autobuf struct buf out = BUF_INIT(1000);
	const struct tool tool = {.argv = shell("sleep 1000 & echo $!"), .out = &out};

	(void)state;
	run_ok(&tool);
	assert_int_equal(kill((pid_t)atoi(buf_string(&out)), SIGKILL), 0);
}

static void a_missing_tool_is_named_with_its_package(void **state)
{
	const char *const argv[] = {"mmdebstrap", NULL};
	const struct tool tool = {.argv = argv};
	const char *const names[] = {"sh", "no-such-tool", "gelf-none.h", "depmod", NULL};
	autofree char *path = strdup(getenv("PATH"));
	struct error err = {0};

	(void)state;
	setenv("PATH", "/nonexistent:/bin", 1);
	assert_int_equal(tool_require("work", names, &err), -1);
	setenv("PATH", "/nonexistent", 1);
	assert_non_null(strstr(err.msg, "work needs no-such-tool, gelf-none.h"));
	assert_fails(&tool, ERR_NOT_FOUND, "apt-get install mmdebstrap");
	setenv("PATH", path, 1);
}

/* A link to it would not be checked when a directory is shared. */
static void a_tool_that_is_in_no_table_is_not_run(void **state)
{
	const char *const argv[] = {"sync", NULL};
	const struct tool tool = {.argv = argv};

	(void)state;
	assert_fails(&tool, ERR_INTERNAL, "sync is not in");
}

/* --- the place ------------------------------------------------------------------------------- */

static int make(void **state)
{
	struct scratch *s;

	if (scratch_make(state) < 0)
		return -1;
	s = *state;
	return setenv("MICROAGENT_CACHE_DIR", s->path, 1);
}

static int drop(void **state)
{
	unsetenv("MICROAGENT_CACHE_DIR");
	return scratch_remove(state);
}

static bool exists(const struct scratch *s, const char *name)
{
	return faccessat(s->fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void put(const struct place *place, const char *name, const char *text)
{
	struct error err = {0};

	assert_int_equal(path_replace_file_at(place->scratch_fd, name, text, strlen(text), 0600,
					      PATH_NO_SYNC, &err),
			 0);
}

static void an_entry_is_published_and_replaced(void **state)
{
	const struct scratch *s = *state;
	json_auto_t *record = json_pack("{s:s}", "kind", "x");
	struct place place = {0};
	struct error err = {0};
	struct stat st;

	assert_int_equal(place_open(CACHE_IMAGES, "image-x", &place, &err), 0);
	put(&place, "image", "data");
	assert_int_equal(place_publish(&place, "image", "x", ".ext4", &err), 0);
	assert_int_equal(place_record(&place, "x", record, &err), 0);
	assert_true(exists(s, "images/x.ext4") && exists(s, "images/x.json"));
	assert_int_equal(fstatat(s->fd, "images/x.ext4", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0444);
	assert_int_equal(place_withdraw(&place, "x", &err), 0);
	assert_int_equal(place_withdraw(&place, "x", &err), 0);
	assert_true(exists(s, "images/x.ext4") && !exists(s, "images/x.json"));
	assert_int_equal(place_publish(&place, "absent", "x", ".ext4", &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	assert_true(exists(s, "images/x.ext4"));
	place_close(&place);
	place_close(&place);
	assert_false(exists(s, "tmp/image-x"));
}

static void what_a_killed_run_left_is_removed(void **state)
{
	const struct scratch *s = *state;
	struct place place = {0};
	struct error err = {0};
	autofree char *file = NULL;

	assert_int_equal(mkdirat(s->fd, "tmp", 0700), 0);
	assert_int_equal(mkdirat(s->fd, "tmp/image-x", 0700), 0);
	assert_int_equal(mkdirat(s->fd, "tmp/image-x/old", 0000), 0);
	assert_int_equal(place_open(CACHE_IMAGES, "image-x", &place, &err), 0);
	assert_false(exists(s, "tmp/image-x/old"));
	file = place_scratch(&place, "file", &err);
	assert_non_null(strstr(file, "/tmp/image-x/file"));
	place_close(&place);
}

static void space_is_asked_for(void **state)
{
	struct place place = {0};
	struct error err = {0};

	(void)state;
	assert_int_equal(place_open(CACHE_KERNELS, "k", &place, &err), 0);
	assert_int_equal(place_require_space(&place, 1, &err), 0);
	assert_int_equal(place_require_space(&place, UINT64_MAX, &err), -1);
	assert_non_null(strstr(err.msg, "MICROAGENT_CACHE_DIR"));
	place_close(&place);
}

/* A second process waits for the first one's lock, and gets it when that one ends. */
static void the_second_waits(void **state)
{
	const struct scratch *s = *state;
	struct place place = {0};
	struct error err = {0};
	int ready[2], status;
	pid_t child;
	char byte;

	assert_int_equal(pipe(ready), 0);
	assert_int_equal(place_open(CACHE_KERNELS, "k", &place, &err), 0);
	child = fork();
	if (child == 0) {
		struct place own = {0};
		bool busy;
		int fd = openat(s->fd, ".locks/k", O_RDWR | O_CLOEXEC);

		busy = flock(fd, LOCK_EX | LOCK_NB) < 0;
		(void)!write(ready[1], "x", 1);
		/* An inherited lock is not ours: the end of the first process counts. */
		close(place.lock);
		_exit(!(busy && place_open(CACHE_KERNELS, "k", &own, &err) == 0));
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	place_close(&place);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	close(ready[0]);
	close(ready[1]);
}

#define cache_test(fn) cmocka_unit_test_setup_teardown(fn, make, drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stdout_is_taken),
		cmocka_unit_test_setup_teardown(one_that_only_reads_changes_nothing, scratch_make,
						scratch_remove),
		cmocka_unit_test(none_has_signals_sent_or_holds_up_another),
		cmocka_unit_test(lines_are_given_one_by_one),
		cmocka_unit_test(environment_directory_and_stdin_are_set),
		cmocka_unit_test(failures_speak_in_the_tools_words),
		cmocka_unit_test(too_much_output_is_an_error_and_ends_the_tool),
		cmocka_unit_test(a_child_left_behind_is_not_waited_for),
		cmocka_unit_test(a_missing_tool_is_named_with_its_package),
		cmocka_unit_test(a_tool_that_is_in_no_table_is_not_run),
		cache_test(an_entry_is_published_and_replaced),
		cache_test(what_a_killed_run_left_is_removed),
		cache_test(space_is_asked_for),
		cache_test(the_second_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
