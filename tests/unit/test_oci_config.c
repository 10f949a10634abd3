/* SPDX-License-Identifier: MIT */
/* Tests the result of a config.json, and which ones are refused with which path. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/personality.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "oci/config/config.h"
#include "oci_fixture.h"

static char noted[1024];

static void note(void *arg, bool warning, const char *text)
{
	(void)arg;
	snprintf(noted, sizeof(noted), "%s%s", warning ? "warning: " : "", text);
}

static const struct oci_notes notes = {.tell = note};

static void decode(const json_t *document, struct oci_config *config)
{
	struct error err = {0};

	if (oci_config_decode(document, &notes, config, &err) < 0)
		fail_msg("%s", err.msg);
}

static void least(void **state)
{
	json_auto_t *document = oci_document("{}");
	struct oci_config c = {0};

	(void)state;
	decode(document, &c);
	assert_string_equal(c.version, "1.0.2");
	assert_string_equal(c.root_path, "rootfs");
	assert_false(c.root_readonly);
	assert_null(c.hostname);
	assert_string_equal(c.process.args[0], "sh");
	assert_null(c.process.args[1]);
	assert_null(c.process.env[0]);
	assert_int_equal(c.process.umask, -1);
	assert_int_equal(c.process.ngroups, 0);
	assert_false(c.process.has_oom_score_adj);
	assert_null(c.process.rlimits);
	for (int set = 0; set < OCI_CAPABILITY_SETS; set++)
		assert_int_equal(c.process.capabilities[set], 0);
	assert_int_equal(c.nmounts, 0);
	assert_int_equal(c.nnamespaces, 4);
	assert_non_null(oci_config_namespace(&c, OCI_NAMESPACE_PID));
	assert_null(oci_config_namespace(&c, OCI_NAMESPACE_USER));
	assert_null(c.masked_paths[0]);
	assert_null(c.sysctl);
	assert_null(c.seccomp);
	assert_null(oci_config_annotation(&c, "a"));
	assert_int_equal(c.personality, -1);
	assert_true(c.resources.memory_limit == OCI_UNSAID);
	assert_true(c.resources.pids_limit == OCI_UNSAID);
	oci_config_free(&c);
	oci_config_free(&c);
}

static void process(void **state)
{
	static const char text[] =
		"{\"args\":[\"a\",\"b\"],\"env\":[\"A=1\",\"B=\"],\"cwd\":\"/w\",\"terminal\":true,"
		"\"consoleSize\":{\"height\":40,\"width\":123},\"user\":{\"uid\":4294967294,"
		"\"gid\":7,"
		"\"umask\":18,\"additionalGids\":[1,2]},\"capabilities\":{\"bounding\":[\"CAP_"
		"CHOWN\","
		"\"CAP_CHECKPOINT_RESTORE\",\"CAP_FLY\"],\"effective\":[\"CAP_KILL\"],"
		"\"inheritable\":[\"CAP_FOWNER\"],\"permitted\":[\"CAP_SETUID\"],"
		"\"ambient\":[\"CAP_SYS_ADMIN\"]},\"noNewPrivileges\":true,\"oomScoreAdj\":-998,"
		"\"rlimits\":[{\"type\":\"RLIMIT_NOFILE\",\"soft\":1024,\"hard\":1048576},"
		"{\"type\":\"RLIMIT_CORE\",\"soft\":0,\"hard\":18446744073709551615}]}";
	json_auto_t *json = oci_parse(text);
	json_auto_t *rlimits = oci_parse("{\"nofile\":{\"soft\":1024,\"hard\":1048576},"
					 "\"core\":{\"soft\":0,\"hard\":\"unlimited\"}}");
	struct oci_process p = {0};
	struct error err = {0};

	(void)state;
	assert_int_equal(oci_process_decode(json, "", &notes, &p, &err), 0);
	assert_string_equal(p.args[1], "b");
	assert_string_equal(p.env[0], "A=1");
	assert_string_equal(p.env[1], "B=");
	assert_null(p.env[2]);
	assert_string_equal(p.cwd, "/w");
	assert_true(p.terminal);
	assert_int_equal(p.rows, 40);
	assert_int_equal(p.columns, 123);
	assert_int_equal(p.uid, UINT32_MAX - 1);
	assert_int_equal(p.gid, 7);
	assert_int_equal(p.umask, 022);
	assert_int_equal(p.ngroups, 2);
	assert_int_equal(p.groups[1], 2);
	assert_true(p.capabilities[OCI_BOUNDING] == (1 | UINT64_C(1) << 40));
	assert_int_equal(p.capabilities[OCI_EFFECTIVE], 1 << 5);
	assert_int_equal(p.capabilities[OCI_INHERITABLE], 1 << 3);
	assert_int_equal(p.capabilities[OCI_PERMITTED], 1 << 7);
	assert_int_equal(p.capabilities[OCI_AMBIENT], 1 << 21);
	assert_string_equal(
		noted, "warning: capabilities.bounding: unknown capability CAP_FLY is left out");
	assert_true(p.no_new_privileges && p.has_oom_score_adj);
	assert_int_equal(p.oom_score_adj, -998);
	assert_true(json_equal(p.rlimits, rlimits));
	oci_process_free(&p);
	assert_null(p.args);
}

static void capability_names(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 41; i++)
		assert_int_equal(oci_capability_number(oci_capability_name(i)), i);
	assert_null(oci_capability_name(41));
	assert_int_equal(oci_capability_number("chown"), -1);
}

static void mounts(void **state)
{
	static const struct {
		const char *json, *data;
		unsigned long flags, propagation;
		bool is_bind, recursive, read_only, is_shm;
	} rows[] = {
		{"{\"destination\":\"/proc\",\"type\":\"proc\",\"source\":\"proc\"}", "",
		 .flags = 0},
		{"{\"destination\":\"/t\",\"type\":\"tmpfs\",\"options\":[\"nosuid\",\"size=64k\","
		 "\"noexec\",\"mode=755\",\"tmpcopyup\",\"exec\"]}",
		 "size=64k,mode=755", .flags = MS_NOSUID},
		{"{\"destination\":\"/t\",\"type\":\"tmpfs\",\"options\":[\"rshared\"]}", "",
		 .propagation = MS_SHARED | MS_REC},
		{"{\"destination\":\"/v\",\"source\":\"/s\",\"options\":[\"rbind\",\"ro\","
		 "\"rprivate\",\"defaults\",\"remount\"]}",
		 "", .flags = MS_RDONLY, .propagation = MS_PRIVATE | MS_REC, .is_bind = true,
		 .recursive = true, .read_only = true},
		{"{\"destination\":\"/v\",\"source\":\"/s\",\"options\":[\"bind\",\"ro\",\"rw\","
		 "\"unbindable\"]}",
		 "", .propagation = MS_UNBINDABLE, .is_bind = true},
		{"{\"destination\":\"/v\",\"source\":\"s\",\"type\":\"bind\"}", "",
		 .is_bind = true},
		{"{\"destination\":\"/v\",\"source\":\"s\",\"options\":[\"rbind\",\"rslave\"]}", "",
		 .is_bind = true, .recursive = true},
		{"{\"destination\":\"dev//x/../shm/\",\"source\":\"/s\",\"options\":[\"bind\"]}",
		 "", .is_bind = true, .is_shm = true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[512];
		struct oci_config c = {0};

		snprintf(text, sizeof(text), "{\"mounts\":[%s]}", rows[i].json);
		json_auto_t *document = oci_document(text);

		decode(document, &c);
		assert_int_equal(c.nmounts, 1);
		assert_string_equal(c.mounts[0].data, rows[i].data);
		assert_int_equal(c.mounts[0].flags, rows[i].flags);
		assert_int_equal(c.mounts[0].propagation, rows[i].propagation);
		assert_int_equal(c.mounts[0].is_bind, rows[i].is_bind);
		assert_int_equal(c.mounts[0].recursive, rows[i].recursive);
		assert_int_equal(c.mounts[0].read_only, rows[i].read_only);
		assert_int_equal(c.mounts[0].is_shm, rows[i].is_shm);
		assert_non_null(c.mounts[0].options);
		oci_config_free(&c);
	}
}

static void options_are_sorted(void **state)
{
	(void)state;
	for (size_t i = 1; oci_mount_option(i); i++)
		assert_true(strcmp(oci_mount_option(i - 1), oci_mount_option(i)) < 0);
}

static void of_linux(void **state)
{
	json_auto_t *document = oci_document(
		"{\"hostname\":\"h\",\"domainname\":\"d\",\"annotations\":{\"a\":\"b\"},"
		"\"root\":{\"readonly\":true},\"linux\":{\"namespaces\":[{\"type\":\"pid\","
		"\"path\":\"/proc/1/ns/pid\"},{\"type\":\"uts\",\"path\":\"\"}],"
		"\"maskedPaths\":[\"/proc/kcore\"],\"readonlyPaths\":[\"/proc/sys\",\"/x\"],"
		"\"sysctl\":{\"net.ipv4.ip_forward\":\"1\"},\"cgroupsPath\":\"s:p:n\","
		"\"personality\":{\"domain\":\"LINUX32\"},\"rootfsPropagation\":\"rslave\","
		"\"seccomp\":{\"defaultAction\":\"SCMP_ACT_ALLOW\"},\"resources\":{"
		"\"memory\":{\"limit\":-1,\"swap\":7,\"reservation\":0},\"cpu\":{\"shares\":2,"
		"\"quota\":-1,\"period\":100000,\"cpus\":\"0-3,7\",\"mems\":\"\"},"
		"\"pids\":{\"limit\":0}}}}");
	struct oci_config c = {0};

	(void)state;
	decode(document, &c);
	assert_string_equal(c.hostname, "h");
	assert_string_equal(c.domainname, "d");
	assert_string_equal(oci_config_annotation(&c, "a"), "b");
	assert_true(c.root_readonly);
	assert_string_equal(oci_config_namespace(&c, OCI_NAMESPACE_PID)->path, "/proc/1/ns/pid");
	assert_null(oci_config_namespace(&c, OCI_NAMESPACE_UTS)->path);
	assert_string_equal(c.masked_paths[0], "/proc/kcore");
	assert_string_equal(c.readonly_paths[1], "/x");
	assert_int_equal(json_object_size(c.sysctl), 1);
	assert_string_equal(c.cgroups_path, "s:p:n");
	assert_int_equal(c.personality, PER_LINUX32);
	assert_string_equal(c.rootfs_propagation, "rslave");
	assert_true(json_is_object(c.seccomp));
	assert_int_equal(c.resources.memory_limit, -1);
	assert_int_equal(c.resources.memory_swap, 7);
	assert_true(c.resources.memory_reservation == OCI_UNSAID);
	assert_int_equal(c.resources.cpu_shares, 2);
	assert_int_equal(c.resources.cpu_quota, -1);
	assert_int_equal(c.resources.cpu_period, 100000);
	assert_string_equal(c.resources.cpus, "0-3,7");
	assert_null(c.resources.mems);
	assert_true(c.resources.pids_limit == OCI_UNSAID);
	oci_config_free(&c);
}

static void hooks(void **state)
{
	struct oci_config c = {0};
	char text[256];

	(void)state;
	for (int kind = 0; kind < OCI_HOOK_KINDS; kind++) {
		snprintf(text, sizeof(text),
			 "{\"hooks\":{\"%s\":[{\"path\":\"/h\",\"args\":[\"h\",\"x\"],"
			 "\"env\":[\"A=1\"],\"timeout\":5},{\"path\":\"/i\"}]}}",
			 oci_hook_names[kind]);
		json_auto_t *document = oci_document(text);

		decode(document, &c);
		assert_int_equal(c.hooks[kind].count, 2);
		assert_string_equal(c.hooks[kind].items[0].path, "/h");
		assert_string_equal(c.hooks[kind].items[0].args[1], "x");
		assert_string_equal(c.hooks[kind].items[0].env[0], "A=1");
		assert_int_equal(c.hooks[kind].items[0].timeout, 5);
		assert_null(c.hooks[kind].items[1].args[0]);
		assert_int_equal(c.hooks[kind].items[1].timeout, 0);
		oci_config_free(&c);
	}
}

#define NAME_OF_65 "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"

static const struct {
	const char *more, *text;
} refusals[] = {
	{"{\"ociVersion\":1}", "ociVersion must be a string"},
	{"{\"root\":[]}", "root must be an object"},
	{"{\"root\":{\"path\":\"\"}}",
	 "root.path must not be empty: name the directory of the root file system"},
	{"{\"root\":{\"readonly\":1}}", "root.readonly must be true or false"},
	{"{\"hostname\":7}", "hostname must be a string"},
	{"{\"hostname\":\"" NAME_OF_65 "\"}", "hostname must be at most 64 bytes long"},
	{"{\"linux\":{\"resources\":{\"memory\":{\"limit\":6291455}}}}",
	 "linux.resources.memory.limit is 6291455 bytes, and must be at least 6291456"},
	{"{\"hostname\":18446744073709551615}", "hostname must be a string"},
	{"{\"process\":7}", "process must be an object"},
	{"{\"process\":{\"args\":[]}}",
	 "process.args must not be empty: give a program and its arguments"},
	{"{\"process\":{\"args\":[\"a\",7]}}", "process.args[1] must be a string"},
	{"{\"process\":{\"args\":[\"a\",null]}}", "process.args[1] must be a string"},
	{"{\"process\":{\"cwd\":\"x\"}}", "process.cwd must be an absolute path"},
	{"{\"process\":{\"env\":{}}}", "process.env must be an array"},
	{"{\"process\":{\"env\":[\"A=1\",\"B\"]}}",
	 "process.env[1] must be NAME=VALUE, like TERM=xterm"},
	{"{\"process\":{\"env\":[\"=1\"]}}", "process.env[0] must be NAME=VALUE, like TERM=xterm"},
	{"{\"process\":{\"terminal\":\"yes\"}}", "process.terminal must be true or false"},
	{"{\"process\":{\"consoleSize\":{\"height\":1}}}", "process.consoleSize.width is required"},
	{"{\"process\":{\"consoleSize\":{\"height\":65536,\"width\":1}}}",
	 "process.consoleSize.height must be from 0 to 65535"},
	{"{\"process\":{\"user\":{\"uid\":4294967295}}}",
	 "process.user.uid must be from 0 to 4294967294"},
	{"{\"process\":{\"user\":{\"additionalGids\":[0,\"a\"]}}}",
	 "process.user.additionalGids[1] must be an integer from 0 to 4294967294"},
	{"{\"process\":{\"capabilities\":[]}}", "process.capabilities must be an object"},
	{"{\"process\":{\"capabilities\":{\"ambient\":[1]}}}",
	 "process.capabilities.ambient[0] must be a string"},
	{"{\"process\":{\"oomScoreAdj\":1001}}", "process.oomScoreAdj must be from -1000 to 1000"},
	{"{\"process\":{\"rlimits\":[{\"type\":\"RLIMIT_NOFILE\",\"hard\":1}]}}",
	 "process.rlimits[0].soft is required"},
	{"{\"process\":{\"rlimits\":[{\"type\":\"RLIMIT_X\",\"soft\":1,\"hard\":1}]}}",
	 "process.rlimits[0].type is not a known limit: RLIMIT_X; use a name like RLIMIT_NOFILE"},
	{"{\"process\":{\"rlimits\":[{\"type\":\"RLIMIT_AS\",\"soft\":18446744073709551615,"
	 "\"hard\":1}]}}",
	 "process.rlimits[0].soft is above process.rlimits[0].hard: lower the soft limit, or raise the hard one"},
	{"{\"process\":{\"rlimits\":[{\"type\":\"RLIMIT_AS\",\"soft\":1,\"hard\":1},"
	 "{\"type\":\"RLIMIT_AS\",\"soft\":1,\"hard\":1}]}}",
	 "process.rlimits[1].type is RLIMIT_AS, but an earlier entry has this type too: leave one of them out"},
	{"{\"mounts\":[7]}", "mounts[0] must be an object"},
	{"{\"mounts\":[{\"type\":\"proc\"}]}", "mounts[0].destination is required"},
	{"{\"mounts\":[{\"destination\":\"/p\"}]}",
	 "mounts[0].type is required for a mount that is not a bind: give a file system, like tmpfs"},
	{"{\"mounts\":[{\"destination\":\"/p\",\"type\":\"bind\"}]}",
	 "mounts[0].source is required for a bind: give a path of the host"},
	{"{\"mounts\":[{\"destination\":\"/p\",\"type\":\"proc\",\"options\":[1]}]}",
	 "mounts[0].options[0] must be a string"},
	{"{\"hooks\":{\"poststop\":[{\"path\":\"h\"}]}}",
	 "hooks.poststop[0].path must be an absolute path"},
	{"{\"hooks\":{\"poststop\":[{\"path\":\"/h\",\"timeout\":0}]}}",
	 "hooks.poststop[0].timeout must be from 1 to 2147483647"},
	{"{\"annotations\":{\"a\":1}}", "annotations.a must be a string"},
	{"{\"linux\":{\"namespaces\":[{\"type\":\"moon\"}]}}",
	 "linux.namespaces[0].type is not a known namespace: moon; use a type of the runtime specification, like pid"},
	{"{\"linux\":{\"namespaces\":[{\"type\":\"pid\",\"path\":\"x\"}]}}",
	 "linux.namespaces[0].path must be an absolute path"},
	{"{\"linux\":{\"namespaces\":[{\"type\":\"pid\"},{\"type\":\"pid\"}]}}",
	 "linux.namespaces[1].type is pid, but an earlier entry has this type too: leave one of them out"},
	{"{\"linux\":{\"devices\":[{\"type\":\"c\"}]}}", "linux.devices[0].path is required"},
	{"{\"linux\":{\"devices\":[{\"path\":\"/dev/null\",\"major\":\"1\"}]}}",
	 "linux.devices[0].major must be an integer"},
	{"{\"linux\":{\"maskedPaths\":[\"x\"]}}", "linux.maskedPaths[0] must be an absolute path"},
	{"{\"linux\":{\"sysctl\":{\"a\":1}}}", "linux.sysctl.a must be a string"},
	{"{\"linux\":{\"sysctl\":{\"net/../../x\":\"1\"}}}",
	 "linux.sysctl.net/../../x is not the name of a setting: use a name like net.ipv4.ip_forward"},
	{"{\"linux\":{\"sysctl\":{\"/x\":\"1\"}}}",
	 "linux.sysctl./x is not the name of a setting: use a name like net.ipv4.ip_forward"},
	{"{\"linux\":{\"personality\":{\"domain\":\"SVR4\"}}}",
	 "linux.personality.domain must be LINUX or LINUX32"},
	{"{\"linux\":{\"resources\":{\"memory\":{\"limit\":-2}}}}",
	 "linux.resources.memory.limit must be at least -1"},
	{"{\"linux\":{\"resources\":{\"cpu\":{\"cpus\":\"all\"}}}}",
	 "linux.resources.cpu.cpus must be a list like \"0-3,7\""},
	{"{\"linux\":{\"resources\":{\"pids\":[]}}}", "linux.resources.pids must be an object"},
	{"{\"linux\":{\"seccomp\":1}}", "linux.seccomp must be an object"},
};

static void refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
		json_auto_t *document = oci_document(refusals[i].more);
		struct oci_config c = {.nmounts = 77};
		struct error err = {0};

		assert_int_equal(oci_config_decode(document, NULL, &c, &err), -1);
		assert_string_equal(err.msg, refusals[i].text);
		assert_int_equal(err.code, ERR_INVALID);
		assert_int_equal(c.nmounts, 77);
	}
}

static void required(void **state)
{
	static const char *const keys[] = {"ociVersion", "root", "process"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		json_auto_t *document = oci_document("{}");
		struct oci_config c = {0};
		struct error err = {0};
		char text[64];

		json_object_del(document, keys[i]);
		snprintf(text, sizeof(text), "%s is required", keys[i]);
		assert_int_equal(oci_config_decode(document, NULL, &c, &err), -1);
		assert_string_equal(err.msg, text);
	}
}

static void without_linux(void **state)
{
	json_auto_t *document = oci_document("{}");
	struct oci_config c = {0};

	(void)state;
	json_object_del(document, "linux");
	decode(document, &c);
	assert_int_equal(c.nnamespaces, 0);
	assert_null(c.masked_paths[0]);
	oci_config_free(&c);
}

static void loading(void **state)
{
	static const struct {
		const char *text;
		bool loads;
		uint64_t value;
	} rows[] = {
		{"{\"a\":18446744073709551615}", true, UINT64_MAX},
		{"{\"a\" : 9223372036854775808 }", true, UINT64_C(9223372036854775808)},
		{"{\"b\":\"18446744073709551615\\\"\",\"a\":9223372036854775807}", true, INT64_MAX},
		{"{\"a\":null}", true, 5},
		{"{\"a\":18446744073709551616}", false, 0},
		{"{\"a\":-9223372036854775809}", false, 0},
		{"{\"a\":018446744073709551615}", false, 0},
		{"{\"a\":1,\"a\":1}", false, 0},
		{"{\"a\":\"\\", false, 0},
		{"", false, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct error err = {0};
		json_auto_t *value = oci_load(rows[i].text, strlen(rows[i].text), &err);
		uint64_t got = 5;

		assert_int_equal(value != NULL, rows[i].loads);
		if (!value)
			continue;
		assert_int_equal(oci_get_uint64(value, "", "a", JSON_OPTIONAL, &got, &err), 0);
		assert_true(got == rows[i].value);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(least),
		cmocka_unit_test(process),
		cmocka_unit_test(capability_names),
		cmocka_unit_test(mounts),
		cmocka_unit_test(options_are_sorted),
		cmocka_unit_test(of_linux),
		cmocka_unit_test(hooks),
		cmocka_unit_test(refused),
		cmocka_unit_test(required),
		cmocka_unit_test(without_linux),
		cmocka_unit_test(loading),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
