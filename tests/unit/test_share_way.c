/* SPDX-License-Identifier: MIT */
/* Tests directories through which something is found that we run or keep, and other directories. */
#include "test_base.h"

#include <sys/stat.h>

#include "base/program.h"
#include "store/share/rules.h"

static const char *const variables[] = {
	"PATH",
	"HOME",
	"XDG_CACHE_HOME",
	"XDG_STATE_HOME",
	"MICROAGENT_CACHE_DIR",
	"MICROAGENT_STATE_DIR",
	"MICROAGENT_QEMU",
	"MICROAGENT_PATH_GIVEN",
	"LD_PRELOAD",
	"LD_AUDIT",
};
static char kept[ARRAY_SIZE(variables)][4096];

static const char bins[] = "/usr/local/bin:/usr/bin:/bin";

/* A project, and beside it the targets of its links. */
static int make(void **state)
{
	static const char *const dirs[] = {"project", "project/deep", "tools",
					   "cache",   "state",	      "home"};

	for (size_t i = 0; i < ARRAY_SIZE(variables); i++)
		snprintf(kept[i], sizeof(kept[0]), "%s", getenv(variables[i]) ?: "");
	if (scratch_make(state) < 0)
		return -1;
	const struct scratch *s = *state;
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		if (mkdirat(s->fd, dirs[i], 0755) < 0)
			return -1;
	for (size_t i = 0; i < ARRAY_SIZE(variables); i++)
		unsetenv(variables[i]);
	setenv("PATH", bins, 1);
	setenv("HOME", scratch_path(s, "home"), 1);
	return 0;
}

static int end(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(variables); i++)
		if (*kept[i])
			setenv(variables[i], kept[i], 1);
		else
			unsetenv(variables[i]);
	return scratch_remove(state);
}

static void put_link(const struct scratch *s, const char *name, const char *to)
{
	assert_int_equal(symlinkat(to, s->fd, name), 0);
}

static int judge(const struct scratch *s, const char *name, bool read_only, const char *state_dir,
		 struct error *err)
{
	autofree char *path = strdup(scratch_path(s, name));
	const struct share_wish wish = {
		.path = path, .read_only = read_only, .state_dir = state_dir};
	int fd = share_open_allowed(&wish, err);

	if (fd < 0)
		return -1;
	close(fd);
	return 0;
}

/* said: up to the share's path. If it is read-only the guest cannot change it. */
static void is_refused(const struct scratch *s, const char *state_dir, const char *said)
{
	struct error err = {0};

	assert_int_equal(judge(s, "project", false, state_dir, &err), -1);
	assert_int_equal(err.code, ERR_INVALID);
	if (!strstr(err.msg, said))
		fail_msg("\"%s\" is not in \"%s\"", said, err.msg);
	assert_ok(judge(s, "project", true, state_dir, &err));
}

static void set_path(const char *first)
{
	autofree char *path = NULL;

	assert_true(asprintf(&path, "%s:%s", first, bins) > 0);
	setenv("PATH", path, 1);
}

static void programs_through_a_link(void **state)
{
	const struct scratch *s = *state;

	put_link(s, "project/bin", scratch_path(s, "tools"));
	set_path(scratch_path(s, "project/bin"));
	is_refused(s, NULL,
		   "project/bin, where programs are looked for (PATH), is reached by the link ");
	set_path(scratch_path(s, "project/bin/deeper"));
	is_refused(s, NULL,
		   "project/bin/deeper, where programs are looked for (PATH), is reached by");
	setenv("PATH", bins, 1);
	setenv("MICROAGENT_QEMU", scratch_path(s, "project/bin/qemu"), 1);
	is_refused(s, NULL,
		   "project/bin/qemu, which microagent itself runs, is reached by the link ");
}

/* A directory of PATH has the link, and the guest would have its target. */
static void our_programs_behind_a_link_in_path(void **state)
{
	static const char *const names[] = {"microagent", "microagent-qemu-supervisor",
					    "skopeo",	  "bwrap",
					    "apt-get",	  "mmdebstrap",
					    "busybox",	  "make",
					    "gcc",	  "dpkg"};
	const struct scratch *s = *state;
	struct error err = {0};

	set_path(scratch_path(s, "tools"));
	put_link(s, "tools/mytool", scratch_path(s, "project/mytool")); /* the user's own */
	assert_ok(judge(s, "project", false, NULL, &err));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char name[64], said[128];

		snprintf(name, sizeof(name), "tools/%s", names[i]);
		snprintf(said, sizeof(said), "%s, which microagent itself runs", name);
		put_link(s, name, scratch_path(s, "project/deep/program"));
		is_refused(s, NULL, said);
		assert_int_equal(unlinkat(s->fd, name, 0), 0);
	}
}

/* ld.so loads each into every program that is run, as soon as it exists. */
static void libraries_that_are_not_there_yet(void **state)
{
	const struct scratch *s = *state;
	autofree char *library = strdup(scratch_path(s, "project/none.so"));
	autofree char *list = NULL;
	struct error err = {0};

	for (int separator = 0; separator < 2; separator++) {
		assert_true(asprintf(&list, "libm.so.6%c%s", ": "[separator], library) > 0);
		setenv("LD_PRELOAD", list, 1);
		is_refused(s, NULL, "none.so, which microagent itself runs");
		free(steal_ptr(&list));
	}
	/* A name without '/' does not belong to the working directory. */
	setenv("LD_PRELOAD", "none.so", 1);
	assert_ok(judge(s, "project", false, NULL, &err));
	assert_true(asprintf(&list, "/usr/none.so:%s", library) > 0);
	setenv("LD_AUDIT", list, 1);
	is_refused(s, NULL, "none.so, which microagent itself runs");
	assert_ok(judge(s, "project", true, NULL, &err));
}

/* PATH has been cleaned by then, and the user's own programs still look there. */
static void programs_of_where_we_were(void **state)
{
	const struct scratch *s = *state;
	autoclose int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct error err = {0};

	assert_int_equal(chdir(scratch_path(s, "project")), 0);
	setenv("PATH", "node_modules/.bin:/usr/bin::/bin", 1);
	assert_ok(program_clean_path(&err));
	assert_string_equal(getenv("PATH"), "/usr/bin:/bin");
	is_refused(s, NULL, "project holds node_modules/.bin, where programs");
	/* The same holds in a program that we start, which has nothing left to clean. */
	assert_ok(program_clean_path(&err));
	is_refused(s, NULL, "project holds node_modules/.bin, where programs");
	setenv("PATH", ".", 1);
	assert_ok(program_clean_path(&err));
	assert_string_equal(getenv("PATH"), bins);
	is_refused(s, NULL, "project holds ., where programs");
	assert_int_equal(fchdir(here), 0);
}

/* Its target does not exist yet. */
static void programs_through_a_link_that_dangles(void **state)
{
	const struct scratch *s = *state;

	put_link(s, "home/bin", scratch_path(s, "project/made/bin"));
	set_path(scratch_path(s, "home/bin"));
	is_refused(s, NULL, "project holds ");
}

static void programs_of_where_we_are(void **state)
{
	const struct scratch *s = *state;
	autoclose int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct error err = {0};

	assert_int_equal(chdir(scratch_path(s, "project")), 0);
	set_path("./node_modules/.bin");
	is_refused(s, NULL, "project holds ./node_modules/.bin, where programs");
	set_path("");
	is_refused(s, NULL,
		   "project holds ., where programs are looked for (an empty entry of PATH)");
	set_path("deep/../../tools");
	is_refused(s, NULL,
		   "deep/../../tools, where programs are looked for (PATH), is reached by ");
	/* Nobody can put anything in the place of "..". */
	set_path("../tools");
	assert_ok(judge(s, "project", false, NULL, &err));
	assert_int_equal(fchdir(here), 0);
}

static void cache_and_state_through_a_link(void **state)
{
	const struct scratch *s = *state;
	autofree char *given = strdup(scratch_path(s, "project/st"));

	put_link(s, "project/cache", scratch_path(s, "cache"));
	put_link(s, "project/st", "../state");
	setenv("XDG_CACHE_HOME", scratch_path(s, "project/cache"), 1);
	is_refused(s, NULL, "project/cache/microagent is reached by the link ");
	unsetenv("XDG_CACHE_HOME");
	setenv("MICROAGENT_CACHE_DIR", scratch_path(s, "project/cache"), 1);
	is_refused(s, NULL, "the cache directory ");
	unsetenv("MICROAGENT_CACHE_DIR");
	setenv("MICROAGENT_STATE_DIR", given, 1);
	is_refused(s, NULL, "project/st is reached by the link ");
	unsetenv("MICROAGENT_STATE_DIR");
	is_refused(s, given, "project/st is reached by the link ");
}

/* A state directory is refused in any mode, also one that does not exist yet. */
static void what_is_to_be_made_in_it(void **state)
{
	const struct scratch *s = *state;
	struct error err = {0};

	put_link(s, "home/states", scratch_path(s, "project/states"));
	setenv("MICROAGENT_STATE_DIR", scratch_path(s, "home/states"), 1);
	for (int read_only = 0; read_only < 2; read_only++) {
		assert_int_equal(judge(s, "project", read_only, NULL, &err), -1);
		assert_non_null(strstr(err.msg, "project holds the state directory "));
	}
}

static void links_round(void **state)
{
	const struct scratch *s = *state;
	struct error err = {0};

	put_link(s, "home/a", "b");
	put_link(s, "home/b", "a");
	set_path(scratch_path(s, "home/a"));
	assert_ok(judge(s, "project", false, NULL, &err));
	put_link(s, "project/a", "../home/c");
	put_link(s, "home/c", "../project/a");
	set_path(scratch_path(s, "home/c"));
	assert_int_equal(judge(s, "project", false, NULL, &err), -1);
}

static void ordinary_projects(void **state)
{
	const struct scratch *s = *state;
	struct error err = {0};

	put_link(s, "project/up", "..");
	put_link(s, "project/tools", scratch_path(s, "tools"));
	put_link(s, "project/gone", "/nonexistent");
	put_link(s, "project/deep/bin", "/usr/bin");
	assert_int_equal(mkdirat(s->fd, "home/code", 0755), 0);
	set_path(scratch_path(s, "tools"));
	setenv("XDG_CACHE_HOME", scratch_path(s, "cache"), 1);
	assert_ok(judge(s, "project", false, NULL, &err));
	assert_ok(judge(s, "home/code", false, NULL, &err));
}

/* This does not concern an ordinary user, as /root in root's PATH does not, and it does not concern
 * us. */
static void a_directory_that_is_closed_to_us(void **state)
{
	const struct scratch *s = *state;
	struct error err = {0};
	uid_t user = geteuid() ? geteuid() : 65534;

	assert_int_equal(mkdirat(s->fd, "closed", 0), 0);
	set_path(scratch_path(s, "closed/bin"));
	assert_int_equal(fchownat(s->fd, "project", user, (gid_t)-1, 0), 0);
	assert_int_equal(fchmod(s->fd, 0755), 0);
	if (geteuid() == 0)
		assert_int_equal(seteuid(user), 0);
	assert_ok(judge(s, "project", false, NULL, &err));
	if (geteuid() != getuid())
		assert_int_equal(seteuid(getuid()), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(programs_through_a_link, make, end),
		cmocka_unit_test_setup_teardown(our_programs_behind_a_link_in_path, make, end),
		cmocka_unit_test_setup_teardown(libraries_that_are_not_there_yet, make, end),
		cmocka_unit_test_setup_teardown(programs_of_where_we_were, make, end),
		cmocka_unit_test_setup_teardown(programs_through_a_link_that_dangles, make, end),
		cmocka_unit_test_setup_teardown(programs_of_where_we_are, make, end),
		cmocka_unit_test_setup_teardown(cache_and_state_through_a_link, make, end),
		cmocka_unit_test_setup_teardown(what_is_to_be_made_in_it, make, end),
		cmocka_unit_test_setup_teardown(links_round, make, end),
		cmocka_unit_test_setup_teardown(ordinary_projects, make, end),
		cmocka_unit_test_setup_teardown(a_directory_that_is_closed_to_us, make, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
