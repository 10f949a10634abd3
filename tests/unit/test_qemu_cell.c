/* SPDX-License-Identifier: MIT */
/* Tests the cell: bwrap's command line, ids, and cells around small programs without bwrap. */
#include "test_base.h"

#include <sys/wait.h>

#include "backend/parts/cell.h"
#include "backend/parts/cell_args.h"
#include "backend/parts/confinement.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/platform/linux/isolate.h"

static bool has_words(const struct argv *argv, const char *const *words)
{
	size_t n = 0;

	while (words[n])
		n++;
	for (size_t i = 0; i + n <= argv->count; i++) {
		size_t j = 0;
		while (j < n && strcmp(argv->words[i + j], words[j]) == 0)
			j++;
		if (j == n)
			return true;
	}
	return false;
}
#define assert_words(argv, ...) \
	assert_true(has_words(argv, (const char *const[]){__VA_ARGS__, NULL}))

static void the_command_line_is_whole(void **state)
{
	static const char *const words[] = {"/opt/q/bin/qemu", "-x", NULL};
	static const char *const readable[] = {"/usr/share/qemu", NULL};
	const struct proc_fd fds[] = {{0, 2}, {0, 3}, {0, 7}};
	const struct cell_data data[] = {{0, "/kernel", false}, {0, "/initrd", false}};
	const struct cell_spec spec = {.bwrap = "/usr/bin/bwrap",
				       .program = "/opt/q/bin/qemu",
				       .argv = words,
				       .readable = readable,
				       .device = "/tests/kvm",
				       .data = data,
				       .ndata = 2,
				       .fds = fds,
				       .nfds = 3,
				       .filter = 20};
	autoargv struct argv argv = ARGV_INIT;

	(void)state;
	cell_arguments(&spec, &argv);
	assert_false(argv.failed);
	assert_words(&argv, "/usr/bin/bwrap", "--unshare-all", "--as-pid-1", "--die-with-parent",
		     "--new-session", "--info-fd", "8", "--block-fd", "9", "--seccomp", "10");
	assert_words(&argv, "--ro-bind", "/opt/q/bin/qemu", "/opt/q/bin/qemu");
	assert_words(&argv, "--ro-bind-try", "/usr/share/qemu", "/usr/share/qemu");
	assert_words(&argv, "--dev-bind", "/dev/null", "/dev/null", "--dev-bind", "/tests/kvm",
		     "/dev/kvm");
	assert_words(&argv, "--ro-bind-data", "11", "/kernel", "--ro-bind-data", "12", "/initrd",
		     "--remount-ro", "/", "--chdir", "/", "--", "/opt/q/bin/qemu", "-x");
	assert_string_equal(argv.words[argv.count - 1], "-x");
}

/* The cell of a companion, in a user namespace that was made before: it is not held back, and has
 * few capabilities. */
static void a_share_is_one_directory(void **state)
{
	static const char *const words[] = {"/usr/lib/qemu/virtiofsd", "-f", NULL};
	static const char *const capabilities[] = {"CAP_CHOWN", "CAP_SETUID", NULL};
	struct cell_share share = {"/home/u/work", "/share/s/w", false};
	struct cell_spec spec = {.bwrap = "bwrap",
				 .program = "/usr/lib/qemu/virtiofsd",
				 .argv = words,
				 .capabilities = capabilities,
				 .share = &share,
				 .filter = 5};
	autoargv struct argv argv = ARGV_INIT;
	autoargv struct argv read_only = ARGV_INIT;

	(void)state;
	cell_arguments(&spec, &argv);
	assert_words(&argv, "--cap-drop", "ALL", "--cap-add", "CAP_CHOWN", "--cap-add",
		     "CAP_SETUID", "--as-pid-1");
	assert_words(&argv, "--seccomp", "5");
	assert_words(&argv, "--proc", "/proc");
	if (geteuid() == 0)
		assert_words(&argv, "--ro-bind", "/dev/null", "/proc/kpagecount");
	assert_words(&argv, "--remount-ro", "/proc", "--dir", "/empty", "--bind", "/home/u/work",
		     "/share/s/w", "--remount-ro", "/");
	for (size_t i = 0; i < argv.count; i++) {
		assert_string_not_equal(argv.words[i], "--unshare-all");
		assert_string_not_equal(argv.words[i], "--unshare-user");
		assert_string_not_equal(argv.words[i], "--block-fd");
		assert_string_not_equal(argv.words[i], "--dev-bind");
	}
	share.read_only = true;
	cell_arguments(&spec, &read_only);
	assert_words(&read_only, "--ro-bind", "/home/u/work", "/share/s/w");
}

/* The cell shows nothing of the host without a reason. */
static void nothing_else_is_shown(void **state)
{
	static const char *const words[] = {"/usr/bin/true", NULL};
	static const char *const allowed[] = {"/usr/lib", "/lib", "/dev/null", "/usr/bin/true"};
	const struct cell_spec spec = {.bwrap = "bwrap", .program = "/usr/bin/true", .argv = words};
	autoargv struct argv argv = ARGV_INIT;

	(void)state;
	cell_arguments(&spec, &argv);
	for (size_t i = 0; i < argv.count; i++) {
		bool known = false;

		if (!strstr(argv.words[i], "bind"))
			continue;
		for (size_t j = 0; j < ARRAY_SIZE(allowed); j++)
			known = known ||
				strncmp(argv.words[i + 1], allowed[j], strlen(allowed[j])) == 0;
		assert_true(known);
		if (strcmp(argv.words[i], "--dev-bind") != 0)
			assert_memory_equal(argv.words[i], "--ro-bind", 9);
	}
}

static void ids_are_looked_up_in_the_map(void **state)
{
	static const char whole[] = "         0          0 4294967295\n";
	static const char container[] = "0 100000 65536\n70000 200000 10\n";

	(void)state;
	assert_true(cell_id_is_mapped(whole, CELL_LAST_ID));
	assert_true(cell_id_is_mapped(container, 0));
	assert_true(cell_id_is_mapped(container, CELL_NOBODY));
	assert_false(cell_id_is_mapped(container, 65536));
	assert_true(cell_id_is_mapped(container, 70009));
	assert_false(cell_id_is_mapped(container, 70010));
	assert_false(cell_id_is_mapped(container, CELL_FIRST_ID));
	assert_false(cell_id_is_mapped("", 0));
	assert_false(cell_id_is_mapped("garbage", 0));
}

static void an_ordinary_user_keeps_its_id(void **state)
{
	uid_t id = cell_id();

	(void)state;
	if (geteuid() != 0)
		assert_int_equal(id, 0);
	else
		assert_true(id == 0 || id == CELL_NOBODY || id == CELL_FIRST_ID + (uid_t)getpid());
}

/* Without bwrap the program is our child. It gets its descriptors and nothing of our
 * environment. */
static void a_bare_program_runs(void **state)
{
	static const char *const words[] = {
		"/bin/sh", "-c", "echo \"$1 $HOME $SECRET\" >&4; exit 7", "sh", "text", NULL};
	struct error err = {0};
	struct cell cell = CELL_NONE;
	char bytes[64] = "";
	int ends[2], code;

	(void)state;
	setenv("SECRET", "mine", 1);
	assert_ok(fd_pipe(ends, &err));
	const struct proc_fd fds[] = {{ends[1], 4}};
	const struct cell_spec spec = {.program = words[0], .argv = words, .fds = fds, .nfds = 1};
	assert_ok(cell_spawn(&spec, &cell, &err));
	assert_false(cell.confined);
	assert_int_equal(cell.pid, cell.monitor.pid);
	assert_ok(cell_release(&cell, &err));
	close(ends[1]);
	assert_ok(proc_wait(&cell.monitor, UINT64_MAX, &code, &err));
	assert_int_equal(code, 7);
	assert_true(read(ends[0], bytes, sizeof(bytes) - 1) > 0);
	assert_string_equal(bytes, "text / \n");
	close(ends[0]);
	cell_end(&cell);
}

/* bash's error when it connects to a port where nobody listens: the host's, or the cell's. */
static void hear_of_connecting(const char *bwrap, char *said, size_t size)
{
	static const char *const words[] = {"/usr/bin/bash", "-c", ": <>/dev/tcp/127.0.0.1/1",
					    NULL};
	struct error err = {0};
	struct cell cell = CELL_NONE;
	int ends[2], code;

	assert_ok(fd_pipe(ends, &err));
	const struct proc_fd fds[] = {{ends[1], 2}};
	const struct cell_spec spec = {
		.bwrap = bwrap, .program = words[0], .argv = words, .fds = fds, .nfds = 1};
	assert_ok(cell_spawn(&spec, &cell, &err));
	assert_ok(cell_release(&cell, &err));
	close(ends[1]);
	assert_ok(proc_wait(&cell.monitor, UINT64_MAX, &code, &err));
	assert_int_not_equal(code, 0);
	ssize_t n = read(ends[0], said, size - 1);
	said[n > 0 ? n : 0] = '\0';
	close(ends[0]);
	cell_end(&cell);
}

/* In its own network as in the host's, since a socket of that could be handed to it. */
static void a_program_connects_to_no_port(void **state)
{
	const char *expected =
		isolate_landlock_version(NULL) >= 4 ? "Permission denied" : "Connection refused";
	struct error err = {0};
	autofree char *bwrap = confinement_bwrap(&err);
	char said[512];

	(void)state;
	hear_of_connecting(NULL, said, sizeof(said));
	assert_non_null(strstr(said, expected));
	if (!bwrap) {
		print_message("no cell can be made here: %s\n", err.msg);
		skip();
	}
	hear_of_connecting(bwrap, said, sizeof(said));
	assert_non_null(strstr(said, expected));
}

static void an_end_kills_and_reaps(void **state)
{
	static const char *const words[] = {"/bin/cat", NULL};
	struct error err = {0};
	struct cell cell = CELL_NONE;
	int before = open_descriptors(), ends[2];

	(void)state;
	assert_ok(fd_pipe(ends, &err));
	const struct proc_fd fds[] = {{ends[0], 0}};
	const struct cell_spec spec = {.program = words[0], .argv = words, .fds = fds, .nfds = 1};
	assert_ok(cell_spawn(&spec, &cell, &err));
	pid_t pid = cell.pid;
	cell_end(&cell);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), -1);
	assert_int_equal(cell.pidfd, -1);
	close(ends[0]);
	close(ends[1]);
	assert_int_equal(open_descriptors(), before);
	cell_end(&cell);
}

/* A program that is called bwrap and is none: no answer, no hang, nothing left. */
static void a_bwrap_that_fails_is_an_error(void **state)
{
	static const char *const words[] = {"/bin/true", NULL};
	static const char *const impostors[] = {"/bin/false", "/bin/true"};
	struct error err = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(impostors); i++) {
		struct cell cell = CELL_NONE;
		int before = open_descriptors();
		const struct cell_spec spec = {
			.bwrap = impostors[i], .program = words[0], .argv = words};

		assert_ok(cell_spawn(&spec, &cell, &err));
		assert_int_equal(cell_release(&cell, &err), -1);
		assert_string_equal(
			err.msg,
			"bwrap could not make a cell: its own message is on stderr, or in supervisor.log of the workspace");
		cell_end(&cell);
		assert_int_equal(open_descriptors(), before);
	}
}

static void a_missing_program_is_told(void **state)
{
	static const char *const words[] = {"/nonexistent/program", NULL};
	const struct cell_spec spec = {.program = words[0], .argv = words};
	struct cell cell = CELL_NONE;
	struct error err = {0};

	(void)state;
	assert_int_equal(cell_spawn(&spec, &cell, &err), -1);
	assert_code(err, ERR_NOT_FOUND);
	assert_int_equal(cell.pidfd, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_command_line_is_whole),
		cmocka_unit_test(a_share_is_one_directory),
		cmocka_unit_test(nothing_else_is_shown),
		cmocka_unit_test(ids_are_looked_up_in_the_map),
		cmocka_unit_test(an_ordinary_user_keeps_its_id),
		cmocka_unit_test(a_bare_program_runs),
		cmocka_unit_test(a_program_connects_to_no_port),
		cmocka_unit_test(an_end_kills_and_reaps),
		cmocka_unit_test(a_bwrap_that_fails_is_an_error),
		cmocka_unit_test(a_missing_program_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
