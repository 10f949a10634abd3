/* SPDX-License-Identifier: MIT */
/* Tests users and groups from hostile and from ordinary files, and the environment made of them. */
#include "guest_fixture.h"

#include "base/limits.h"
#include "guest/job/environ.h"
#include "guest/job/user_cache.h"
#include "guest/job/users.h"

static const char passwd[] = "root:x:0:0:root:/root:/bin/bash\n"
			     "# a comment\n"
			     "daemon:x:1:1::/usr/sbin:/usr/sbin/nologin\n"
			     "broken:x:notanumber:1::/:/bin/sh\n"
			     "short:x\n"
			     "\n"
			     "agent:x:1000:1000:The agent:/home/agent:\n"
			     "postgres:x:70:70::/var/lib/postgres:/bin/sh\n"
			     "last:x:2000:2000::/home/last:/bin/zsh";
static const char group[] = "root:x:0:\n"
			    "wheel:x:10:root,agent\n"
			    "audio:x:18:agentx,agent2\n"
			    "video:x:44:other,agent\n"
			    "agent:x:1000:agent\n"
			    "last:x:2000:";

static int start(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	make_etc(f->etc);
	write_file(f->etc, "passwd", passwd);
	write_file(f->etc, "group", group);
	*state = f;
	return 0;
}

static int end(void **state)
{
	remove_etc(((struct fixture *)*state)->etc);
	free(*state);
	return 0;
}

static struct user resolve(void **state, const char *spec)
{
	const struct fixture *f = *state;
	struct error err = {0};
	struct user user;

	assert_int_equal(user_resolve(f->etc, spec, &user, &err), 0);
	return user;
}

static void record(void **state, const char *text)
{
	const struct fixture *f = *state;
	char path[64];

	snprintf(path, sizeof(path), "%s/microagent", f->etc);
	write_file(path, "user", text);
}

static void by_name(void **state)
{
	struct user u = resolve(state, "agent");

	assert_int_equal(u.uid, 1000);
	assert_int_equal(u.gid, 1000);
	assert_string_equal(u.home, "/home/agent");
	assert_string_equal(u.shell, "/bin/sh");
	assert_int_equal(u.ngroups, 2);
	assert_int_equal(u.groups[0], 10);
	assert_int_equal(u.groups[1], 44);
	u = resolve(state, "last"); /* without a newline behind it */
	assert_string_equal(u.shell, "/bin/zsh");
	u = resolve(state, "root");
	assert_int_equal(u.uid, 0);
	assert_string_equal(u.home, "/root");
}

static void by_number_and_group(void **state)
{
	struct user u = resolve(state, "70");

	assert_string_equal(u.name, "postgres");
	u = resolve(state, "4242");
	assert_int_equal(u.uid, 4242);
	assert_int_equal(u.gid, 4242);
	assert_string_equal(u.name, "4242");
	assert_string_equal(u.home, "/");
	u = resolve(state, "agent:wheel");
	assert_int_equal(u.gid, 10);
	assert_int_equal(u.ngroups, 0);
	u = resolve(state, "1000:77");
	assert_int_equal(u.gid, 77);
	assert_string_equal(u.name, "agent");
}

static void unknown(void **state)
{
	static const char *const specs[] = {"nobody-here", "broken",	    "short",	  "",
					    ":wheel",	   "agent:nogroup", "4294967295", "-1",
					    "# a comment", "99999999999"};
	const struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(specs); i++) {
		struct user u = {.uid = 7};
		assert_int_equal(user_resolve(f->etc, specs[i], &u, NULL), -1);
		assert_int_equal(u.uid, 7);
	}
}

static void defaults(void **state)
{
	const struct fixture *f = *state;
	char path[64];
	struct user u;

	record(state, "postgres\n");
	u = resolve(state, NULL);
	assert_int_equal(u.uid, 70);
	record(state, "70:10");
	u = resolve(state, NULL);
	assert_int_equal(u.gid, 10);
	/* root is never a default, and neither is nonsense. */
	record(state, "root\n");
	assert_int_equal(resolve(state, NULL).uid, 1000);
	record(state, "0:0\n");
	assert_int_equal(resolve(state, NULL).uid, 1000);
	record(state, "nobody-here\n");
	assert_int_equal(resolve(state, NULL).uid, 1000);
	record(state, "");
	assert_int_equal(resolve(state, NULL).uid, 1000);
	/* An image that knows no user, */
	snprintf(path, sizeof(path), "%s/passwd", f->etc);
	unlink(path);
	u = resolve(state, NULL);
	assert_int_equal(u.uid, 1000);
	assert_int_equal(u.gid, 1000);
	assert_string_equal(u.name, "agent");
	assert_string_equal(u.home, "/");
	assert_int_equal(resolve(state, "root").uid, 0);
	/* and one that would block us. */
	assert_int_equal(mkfifo(path, 0666), 0);
	assert_int_equal(resolve(state, NULL).uid, 1000);
}

static void environment(void **state)
{
	struct user u = resolve(state, "agent");
	json_auto_t *config = json_pack("{s:s,s:s}", "A", "config", "B", "config");
	json_auto_t *request = json_pack("{s:s,s:s}", "B", "request", "PATH", "/bin");
	char **envp = environ_build(&u, true, config, request, NULL);
	const char *const *env = (const char *const *)envp;

	assert_non_null(envp);
	assert_string_equal(environ_get(env, "A"), "config");
	assert_string_equal(environ_get(env, "B"), "request");
	assert_string_equal(environ_get(env, "PATH"), "/bin");
	assert_string_equal(environ_get(env, "HOME"), "/home/agent");
	assert_string_equal(environ_get(env, "TERM"), "xterm-256color");
	assert_null(environ_get(env, "PAT"));
	environ_free(envp);
	envp = environ_build(&u, false, NULL, NULL, NULL);
	assert_null(environ_get((const char *const *)envp, "TERM"));
	environ_free(envp);
}

static void the_default_user_is_remembered_until_a_file_changes(void **state)
{
	const struct fixture *f = *state;
	struct user_cache cache = {0};
	struct user user;
	char path[64];

	limit_set(LIMIT_USER_SETTLED_MS, 0);
	assert_int_equal(user_cache_resolve(&cache, f->etc, NULL, &user, NULL), 0);
	assert_int_equal(user.uid, 1000);
	assert_true(cache.filled);
	/* Only what is remembered can answer this. */
	snprintf(cache.user.name, sizeof(cache.user.name), "remembered");
	assert_int_equal(user_cache_resolve(&cache, f->etc, NULL, &user, NULL), 0);
	assert_string_equal(user.name, "remembered");
	/* A named user never comes from there. */
	assert_int_equal(user_cache_resolve(&cache, f->etc, "last", &user, NULL), 0);
	assert_int_equal(user.uid, 2000);

	write_file(f->etc, "passwd", "root:x:0:0::/root:/bin/sh\nother:x:1000:1000::/:/bin/sh\n");
	assert_int_equal(user_cache_resolve(&cache, f->etc, NULL, &user, NULL), 0);
	assert_string_equal(user.name, "other");

	/* A file that changed a moment ago could change again unseen, so nothing of it is
	 * remembered. */
	limit_set(LIMIT_USER_SETTLED_MS, 1000000);
	record(state, "other");
	assert_int_equal(user_cache_resolve(&cache, f->etc, NULL, &user, NULL), 0);
	assert_false(cache.filled);
	limit_reset(LIMIT_USER_SETTLED_MS);
	write_file(f->etc, "passwd", "other:x:1001:1001::/:/bin/sh\n");
	assert_int_equal(user_cache_resolve(&cache, f->etc, NULL, &user, NULL), 0);
	assert_int_equal(user.uid, 1001);
	snprintf(path, sizeof(path), "%s/passwd", f->etc);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(user_cache_resolve(&cache, f->etc, NULL, &user, NULL), 0);
	assert_int_equal(user.uid, 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(by_name, start, end),
		cmocka_unit_test_setup_teardown(by_number_and_group, start, end),
		cmocka_unit_test_setup_teardown(unknown, start, end),
		cmocka_unit_test_setup_teardown(defaults, start, end),
		cmocka_unit_test_setup_teardown(the_default_user_is_remembered_until_a_file_changes,
						start, end),
		cmocka_unit_test_setup_teardown(environment, start, end),
	};

	return cmocka_run_group_tests_name("guest users", tests, NULL, NULL);
}
