/* SPDX-License-Identifier: MIT */
/* Tests state directories: who owns them, what is in them, and their default places. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "store_fixture.h"

static void assert_open_fails(const char *path, bool create, enum error_code code,
			      const char *words)
{
	struct state_dir dir = {.fd = -7};
	struct error err = {0};

	assert_int_equal(state_dir_open(path, create, &dir, &err), -1);
	if (err.code != code || !strstr(err.msg, words) || !strstr(err.msg, path))
		fail_msg("%s: %s", error_code_name(err.code), err.msg);
	assert_int_equal(dir.fd, -7);
	assert_null(dir.path);
}

static void made_closed_to_others(void **state)
{
	const struct fixture *f = *state;
	struct error err = {0};
	struct state_dir dir;
	struct stat st;
	char path[256];

	snprintf(path, sizeof(path), "%s/a/b", f->path);
	assert_int_equal(state_dir_open(path, true, &dir, &err), 0);
	assert_string_equal(dir.path, path);
	assert_int_equal(fstat(dir.fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_true(fcntl(dir.fd, F_GETFD) & FD_CLOEXEC);
	state_dir_close(&dir);
	state_dir_close(&dir);
	assert_int_equal(state_dir_open(path, false, &dir, &err), 0);
	state_dir_close(&dir);
}

static void missing_without_create(void **state)
{
	const struct fixture *f = *state;

	assert_open_fails(at(f, "none"), false, ERR_NOT_FOUND, "state directory");
	assert_int_equal(access(at(f, "none"), F_OK), -1);
}

static void not_a_directory(void **state)
{
	const struct fixture *f = *state;

	put_file(f, "file", "x");
	assert_open_fails(at(f, "file"), true, ERR_INVALID, "not a directory");
	assert_open_fails(at(f, "file/below"), true, ERR_INVALID, "not a directory");
}

static void writable_by_others(void **state)
{
	static const mode_t modes[] = {0770, 0707, 0720, 0702, 01777};
	const struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		assert_int_equal(chmod(f->dir.path, modes[i]), 0);
		assert_open_fails(f->dir.path, true, ERR_DENIED, "chmod go-w /");
	}
}

static void readable_by_others(void **state)
{
	const struct fixture *f = *state;
	struct error err = {0};
	struct state_dir dir;

	assert_int_equal(chmod(f->dir.path, 0755), 0);
	assert_int_equal(state_dir_open(f->dir.path, false, &dir, &err), 0);
	state_dir_close(&dir);
}

/* Only root can give a directory away. An ordinary user finds one of root's. */
static void of_another_user(void **state)
{
	const struct fixture *f = *state;

	if (geteuid() != 0) {
		assert_open_fails("/", true, ERR_DENIED, "belongs to user 0");
		return;
	}
	assert_int_equal(chown(f->dir.path, 12345, 12345), 0);
	assert_open_fails(f->dir.path, true, ERR_DENIED, "belongs to user 12345");
}

/* A user who can write above it can replace it by another directory. */
static void above_it(void **state)
{
	static const mode_t modes[] = {0770, 0707, 0777};
	const struct fixture *f = *state;
	struct error err = {0};
	struct state_dir dir;

	assert_int_equal(mkdir(at(f, "above"), 0755), 0);
	assert_int_equal(mkdir(at(f, "above/deep"), 0755), 0);
	assert_int_equal(mkdir(at(f, "above/deep/state"), 0700), 0);
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		assert_int_equal(chmod(at(f, "above"), modes[i]), 0);
		assert_open_fails(at(f, "above/deep/state"), false, ERR_DENIED,
				  "above can be written by other users; fix it with: chmod go-w");
		assert_open_fails(at(f, "above/new/er"), true, ERR_DENIED, "chmod go-w");
		assert_int_equal(access(at(f, "above/new"), F_OK), -1);
	}
	assert_int_equal(chmod(at(f, "above"), 01777), 0);
	assert_int_equal(state_dir_open(at(f, "above/deep/state"), false, &dir, &err), 0);
	state_dir_close(&dir);
	if (geteuid() != 0)
		return;
	assert_int_equal(chown(at(f, "above/deep"), 12345, 12345), 0);
	assert_open_fails(at(f, "above/deep/state"), false, ERR_DENIED, "belongs to user 12345");
}

/* A link of the user, or of root, may be on the way. Its target is made. */
static void through_links_of_ones_own(void **state)
{
	const struct fixture *f = *state;
	struct error err = {0};
	struct state_dir dir;
	autofree char *other = strdup(at(f, "real/other"));

	assert_int_equal(mkdir(at(f, "real"), 0755), 0);
	assert_int_equal(symlink("real", at(f, "link")), 0);
	assert_int_equal(symlink("../real/../link/new", other), 0);
	assert_int_equal(symlink(other, at(f, "first")), 0);
	assert_open_fails(at(f, "first"), false, ERR_NOT_FOUND, "state directory");
	assert_int_equal(state_dir_open(at(f, "first"), true, &dir, &err), 0);
	assert_string_equal(dir.path, at(f, "first"));
	state_dir_close(&dir);
	assert_int_equal(access(at(f, "real/new"), F_OK), 0);
	assert_int_equal(symlink("round", at(f, "round")), 0);
	assert_open_fails(at(f, "round/x"), true, ERR_IO, "Too many levels");
}

/* A user who can write where a link stands can make it lead to another directory. */
static void through_a_link_that_others_can_change(void **state)
{
	static const char *const links[] = {"loose/link", "loose/link/deep", "way"};
	const struct fixture *f = *state;

	assert_int_equal(mkdir(at(f, "tight"), 0700), 0);
	assert_int_equal(mkdir(at(f, "loose"), 0755), 0);
	assert_int_equal(symlink("../tight", at(f, "loose/link")), 0);
	assert_int_equal(symlink("loose/link", at(f, "way")), 0);
	assert_int_equal(chmod(at(f, "loose"), 0777), 0);
	for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
		const char *path = at(f, links[i]);

		assert_open_fails(path, true, ERR_DENIED,
				  "loose can be written by other users; fix it with: chmod go-w");
	}
	assert_int_equal(access(at(f, "tight/deep"), F_OK), -1);
}

/* As root gets a home from `sudo -E`. */
static void through_a_link_of_another_user(void **state)
{
	const struct fixture *f = *state;

	if (geteuid() != 0)
		skip();
	assert_int_equal(mkdir(at(f, "tight"), 0700), 0);
	assert_int_equal(mkdir(at(f, "home"), 0755), 0);
	assert_int_equal(symlink("../tight", at(f, "home/link")), 0);
	assert_int_equal(chown(at(f, "home"), 12345, 12345), 0);
	assert_open_fails(at(f, "home/link"), false, ERR_DENIED, "home belongs to user 12345");
	assert_open_fails(at(f, "home/link/deep"), true, ERR_DENIED, "home belongs to user 12345");
	/* A directory that the user made where everybody may make one. */
	assert_int_equal(symlink("tight", at(f, "his")), 0);
	assert_int_equal(lchown(at(f, "his"), 12345, 12345), 0);
	assert_int_equal(chmod(f->dir.path, 01777), 0);
	assert_open_fails(at(f, "his"), false, ERR_DENIED,
			  "his is a link that belongs to user 12345");
	assert_open_fails(at(f, "his/deep"), true, ERR_DENIED,
			  "his is a link that belongs to user 12345");
	assert_int_equal(access(at(f, "tight/deep"), F_OK), -1);
}

/* The caller becomes an ordinary user in a user namespace of its own, which knows nobody else. */
static int enter_namespace(void)
{
	static const char *const files[] = {"/proc/self/setgroups", "/proc/self/uid_map",
					    "/proc/self/gid_map"};
	static const char *const lines[] = {"deny", "0 12345 1", "0 12345 1"};

	if (setresgid(12345, 12345, 12345) < 0 || setresuid(12345, 12345, 12345) < 0 ||
	    prctl(PR_SET_DUMPABLE, 1) < 0 || unshare(CLONE_NEWUSER) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		autoclose int fd = open(files[i], O_WRONLY);
		ssize_t len = (ssize_t)strlen(lines[i]);

		if (write(fd, lines[i], (size_t)len) != len)
			return -1;
	}
	return 0;
}

/* Returns whether it is refused as the property of a user whom the namespace does not know. */
static bool is_of_nobody(const char *path)
{
	struct state_dir dir;
	struct error err = {0};

	if (state_dir_open(path, false, &dir, &err) == 0) {
		fprintf(stderr, "%s is taken\n", path);
		return false;
	}
	if (err.code == ERR_DENIED && strstr(err.msg, "belongs to user 65534"))
		return true;
	fprintf(stderr, "%s: %s\n", path, err.msg);
	return false;
}

static bool is_taken(const char *path)
{
	struct state_dir dir;
	struct error err = {0};

	if (state_dir_open(path, false, &dir, &err) < 0) {
		fprintf(stderr, "%s\n", err.msg);
		return false;
	}
	state_dir_close(&dir);
	return true;
}

/* There root has the number of each other user. Only the system's own directories belong to
 * root. */
static void where_nobody_else_is_known(void **state)
{
	static const struct {
		const char *name;
		uid_t owner;
	} given[] = {{"..", 12345}, {".", 12345},	{"own", 12345}, {"way", 12345},
		     {"his", 1234}, {"his/own", 12345}, {"lead", 1234}};
	const struct fixture *f = *state;
	char beside[128];
	int status = -1;

	if (geteuid() != 0)
		skip();
	assert_int_equal(mkdir(at(f, "own"), 0700), 0);
	assert_int_equal(mkdir(at(f, "his"), 0755), 0);
	assert_int_equal(mkdir(at(f, "his/own"), 0700), 0);
	assert_int_equal(symlink("own", at(f, "way")), 0);
	assert_int_equal(symlink("own", at(f, "lead")), 0);
	for (size_t i = 0; i < ARRAY_SIZE(given); i++)
		assert_int_equal(lchown(at(f, given[i].name), given[i].owner, given[i].owner), 0);
	/* As each user can make one in /tmp. */
	snprintf(beside, sizeof(beside), "%s-lead", f->path);
	assert_int_equal(symlink(at(f, "own"), beside), 0);
	assert_int_equal(lchown(beside, 1234, 1234), 0);
	pid_t child = fork();
	if (child == 0) {
		if (enter_namespace() < 0)
			_exit(errno == EPERM || errno == ENOSPC ? 77 : 2);
		_exit(is_taken(at(f, "own")) && is_taken(at(f, "way")) &&
				      is_of_nobody(at(f, "his/own")) &&
				      is_of_nobody(at(f, "lead")) && is_of_nobody(beside)
			      ? 0
			      : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	unlink(beside);
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(status, 0);
}

static void relative_and_long_paths(void **state)
{
	const struct fixture *f = *state;
	struct error err = {0};
	struct state_dir dir;
	struct workspace ws;
	char path[512];

	assert_int_equal(chdir(f->path), 0);
	assert_int_equal(state_dir_open("./state/", false, &dir, &err), 0);
	assert_string_equal(dir.path, f->dir.path);
	state_dir_close(&dir);
	assert_int_equal(chdir("/"), 0);

	snprintf(path, sizeof(path), "%s/%0100d/%0100d/%0100d", f->path, 1, 2, 3);
	assert_true(strlen(path) > 300);
	assert_int_equal(state_dir_open(path, true, &dir, &err), 0);
	assert_int_equal(workspace_open(&dir, "a", true, &ws, &err), 0);
	workspace_close(&ws);
	state_dir_close(&dir);
}

static void assert_list(const struct fixture *f, const char *expected)
{
	struct error err = {0};
	json_auto_t *list = state_dir_list(&f->dir, &err);
	autofree char *text = list ? json_dumps(list, JSON_COMPACT) : NULL;

	assert_non_null(text);
	assert_string_equal(text, expected);
}

static void list_of_workspaces(void **state)
{
	static const char *const directories[] = {"zeta", "alpha", "sessions", "foreign",
						  "bad\xff"};
	const struct fixture *f = *state;

	assert_list(f, "[]"); /* agent-1 has nothing recorded */
	for (size_t i = 0; i < ARRAY_SIZE(directories); i++)
		assert_int_equal(mkdir(at(f, directories[i]), 0700), 0);
	put_file(f, "zeta/event.json", "{}");
	put_file(f, "alpha/workspace.json", "{}");
	put_file(f, "agent-1/event.json", "broken");
	put_file(f, "sessions/event.json", "{}");
	put_file(f, "bad\xff/event.json", "{}");
	put_file(f, "foreign/notes.txt", "x");
	put_file(f, "event.json", "x");
	assert_int_equal(symlink("alpha", at(f, "link")), 0);
	assert_list(f, "[\"agent-1\",\"alpha\",\"zeta\"]");
}

static void reserved_names(void **state)
{
	static const char *const names[] = {"bases",  "sessions",	  "pool", "archive", "logs",
					    ".locks", ".microagent-state"};
	const struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct workspace ws = {.fd = -7};
		struct error err = {0};

		assert_true(runtime_id_is_reserved(names[i]));
		assert_int_equal(workspace_open(&f->dir, names[i], true, &ws, &err), -1);
		assert_int_equal(err.code, ERR_INVALID);
		assert_int_equal(ws.fd, -7);
	}
	assert_false(runtime_id_is_reserved("base"));
	assert_false(runtime_id_is_reserved("locks"));
}

static void assert_default(const char *option, const char *expected)
{
	struct error err = {0};
	autofree char *path = state_dir_default(option, &err);

	assert_non_null(path);
	assert_string_equal(path, expected);
}

static void default_directory(void **state)
{
	struct error err = {0};

	(void)state;
	setenv("HOME", "/home/someone", 1);
	unsetenv("MICROAGENT_STATE_DIR");
	assert_default(NULL, "/home/someone/.microagent");
	assert_default("/opt/x//y/", "/opt/x/y");
	setenv("MICROAGENT_STATE_DIR", "/env/state", 1);
	assert_default(NULL, "/env/state");
	assert_default("/opt/x", "/opt/x");
	setenv("MICROAGENT_STATE_DIR", "", 1);
	assert_default(NULL, "/home/someone/.microagent");
	assert_null(state_dir_default("", &err));
	assert_int_equal(err.code, ERR_INVALID);
	unsetenv("MICROAGENT_STATE_DIR");
	unsetenv("HOME"); /* then the user's entry says it */
	if (geteuid() == 0)
		assert_default(NULL, "/root/.microagent");
}

/* A part of an open path is looked at up to that. A link leads to its target, which ends
 * nothing. */
static void a_part_of_an_open_one(void **state)
{
	const struct fixture *f = *state;
	struct error err = {0};
	struct state_dir whole, part;

	assert_int_equal(mkdir(at(f, "above"), 0755), 0);
	assert_int_equal(mkdir(at(f, "above/state"), 0700), 0);
	assert_int_equal(mkdir(at(f, "above/state/part"), 0700), 0);
	assert_int_equal(mkdir(at(f, "loose"), 0755), 0);
	assert_int_equal(mkdir(at(f, "loose/part"), 0700), 0);
	assert_int_equal(chmod(at(f, "loose"), 0777), 0);
	assert_int_equal(state_dir_open(at(f, "above/state"), false, &whole, &err), 0);
	assert_int_equal(state_dir_open_part(at(f, "above/state/part"), false, &whole, &part, &err),
			 0);
	state_dir_close(&part);
	assert_int_equal(chmod(at(f, "above/state/part"), 0770), 0);
	assert_int_equal(state_dir_open_part(at(f, "above/state/part"), false, &whole, &part, &err),
			 -1);
	assert_int_equal(err.code, ERR_DENIED);
	assert_int_equal(symlink("../../loose/part", at(f, "above/state/link")), 0);
	assert_int_equal(state_dir_open_part(at(f, "above/state/link"), false, &whole, &part, &err),
			 -1);
	assert_int_equal(err.code, ERR_DENIED);
	assert_non_null(strstr(err.msg, "loose can be written by other users"));
	state_dir_close(&whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		store_test(made_closed_to_others),
		store_test(missing_without_create),
		store_test(not_a_directory),
		store_test(writable_by_others),
		store_test(readable_by_others),
		store_test(of_another_user),
		store_test(above_it),
		store_test(through_links_of_ones_own),
		store_test(through_a_link_that_others_can_change),
		store_test(through_a_link_of_another_user),
		store_test(where_nobody_else_is_known),
		store_test(a_part_of_an_open_one),
		store_test(relative_and_long_paths),
		store_test(list_of_workspaces),
		store_test(reserved_names),
		store_test(default_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
