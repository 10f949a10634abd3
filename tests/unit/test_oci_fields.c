/* SPDX-License-Identifier: MIT */
/* Tests the table of a config's fields: what it refuses, and with which words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "oci/config/fields.h"
#include "oci_fixture.h"

static char noted[4096];

static void note(void *arg, bool warning, const char *text)
{
	size_t used = strlen(noted);

	(void)arg;
	snprintf(noted + used, sizeof(noted) - used, "%s%s\n", warning ? "! " : "", text);
}

static const struct oci_notes notes = {.tell = note};

/* As of a bundle. */
static int judge(const json_t *document, const struct oci_notes *told, struct error *err)
{
	struct oci_config config = {0};
	int status;

	if (oci_fields_check(document, told, err) < 0 ||
	    oci_config_decode(document, told, &config, err) < 0)
		return -1;
	status = oci_config_check(&config, told, err);
	oci_config_free(&config);
	return status;
}

static void assert_accepted(const char *more)
{
	json_auto_t *document = oci_document(more);
	struct error err = {0};

	noted[0] = '\0';
	if (judge(document, &notes, &err) < 0)
		fail_msg("%s: %s", more, err.msg);
}

static void assert_refused(const char *more, const char *text)
{
	json_auto_t *document = oci_document(more);
	struct error err = {0};

	assert_int_equal(judge(document, NULL, &err), -1);
	assert_string_equal(err.msg, text);
	assert_int_equal(err.code, ERR_UNSUPPORTED);
}

/* Makes a document with 1 at the end of the row's path. */
static json_t *document_of(const char *path)
{
	json_t *value = json_integer(1);
	char text[256], *dot;

	snprintf(text, sizeof(text), "%s", path);
	for (;;) {
		dot = strrchr(text, '.');
		char *key = dot ? dot + 1 : text;
		size_t len = strlen(key);

		if (strcmp(key, "*") == 0)
			key = "";
		else if (len > 2 && strcmp(key + len - 2, "[]") == 0)
			key[len - 2] = '\0', value = json_pack("[o]", value);
		if (*key)
			value = json_pack("{s:o}", key, value);
		if (!dot)
			break;
		*dot = '\0';
	}
	return value;
}

/* Every row that refuses does so by its own path, reason and next step. No other row refuses it. */
static void each_row(void **state)
{
	const struct oci_field *field;

	(void)state;
	for (size_t i = 0; (field = oci_field_at(i)); i++) {
		json_auto_t *document = document_of(field->path);
		struct error err = {0};
		int done = oci_fields_check_below(document, "", NULL, &err);

		assert_true(field->text && *field->text);
		assert_int_equal(done < 0, field->verdict == OCI_REFUSED);
		assert_int_equal(field->next != NULL, field->verdict == OCI_REFUSED);
		if (done == 0)
			continue;
		assert_int_equal(err.code, ERR_UNSUPPORTED);
		assert_non_null(strstr(err.msg, field->text));
		assert_non_null(strstr(err.msg, field->next));
	}
}

static void refused_fields(void **state)
{
	(void)state;
	assert_refused("{\"mounts\":[{},{\"uidMappings\":[{\"size\":1}]}]}",
		       "mounts[1].uidMappings is not supported: a machine has no mounts with "
		       "mapped ids; give the volume the ids that the container wants");
	assert_refused(
		"{\"hooks\":{\"createContainer\":[{\"path\":\"/h\"}]}}",
		"hooks.createContainer is not supported: it is for the container's mounts, "
		"which the machine makes out of the host's sight; use createRuntime, if what "
		"it does is for the host");
	assert_refused("{\"hooks\":{\"startContainer\":[{\"path\":\"/h\"}]}}",
		       "hooks.startContainer is not supported: the guest runs the container's "
		       "program alone; do it in the program, or in createRuntime, if what it does "
		       "is for the host");
	assert_refused("{\"linux\":{\"timeOffsets\":{\"boottime\":{\"secs\":1}}}}",
		       "linux.timeOffsets is not supported: the guest's containers have no time "
		       "namespaces; run the container without a time namespace");
	assert_refused(
		"{\"vm\":{\"kernel\":{\"path\":\"/k\"}}}",
		"vm is not supported: the config of an engine cannot choose the kernel or the machine; use the annotations io.microagent.*, where the engine "
		"allows them");
	assert_refused("{\"linux\":{\"seccomp\":{\"listenerPath\":\"/s\"}}}",
		       "linux.seccomp.listenerPath is not supported: system calls of a machine "
		       "cannot be answered by the host; use a profile without SCMP_ACT_NOTIFY");
}

static void empty_ones_pass(void **state)
{
	(void)state;
	assert_accepted("{\"vm\":{},\"windows\":null,\"hooks\":{\"createContainer\":[]},"
			"\"linux\":{\"intelRdt\":{\"closID\":\"\",\"enableMonitoring\":false},"
			"\"uidMappings\":[],\"netDevices\":{},\"memoryPolicy\":{\"flags\":[]}}}");
	assert_string_equal(noted, "");
}

static void unknown_ones_pass(void **state)
{
	(void)state;
	assert_accepted("{\"new\":{\"vm\":{\"a\":1}},\"linux.intelRdt\":{\"closID\":\"x\"},"
			"\"linux\":{\"new\":7},\"mounts[]\":{\"uidMappings\":[1]}}");
	assert_string_equal(noted, "");
}

static void ignored_ones_are_told(void **state)
{
	(void)state;
	assert_accepted("{\"process\":{\"apparmorProfile\":\"p\"},"
			"\"linux\":{\"resources\":{\"blockIO\":{\"weight\":500}}}}");
	assert_string_equal(
		noted,
		"process.apparmorProfile is ignored: policies of the host have no effect in a machine, which is the boundary itself\n"
		"! linux.resources.blockIO is ignored: the disks of a machine are files "
		"of the host, shared by virtiofs\n");
}

static void annotations_that_there_are_not(void **state)
{
	(void)state;
	assert_accepted("{\"annotations\":{\"io.microagent.memory\":\"512\",\"a\":\"b\","
			"\"io.microagent.cpus\":\"2\"}}");
	assert_string_equal(noted, "! annotations.io.microagent.memory is ignored: there is no "
				   "such annotation; microagent-oci(8) lists those that there "
				   "are\n");
}

static void a_tmpfs_that_is_to_be_filled(void **state)
{
	(void)state;
	assert_accepted("{\"mounts\":[{\"destination\":\"/t\",\"type\":\"tmpfs\",\"source\":"
			"\"tmpfs\",\"options\":[\"nosuid\",\"tmpcopyup\"]}]}");
	assert_string_equal(noted, "! mounts[0].options[1] tmpcopyup is ignored: the tmpfs begins "
				   "empty\n");
}

static void versions(void **state)

{
	static const char *const good[] = {"1.0.0", "1.0.2-dev", "1.3.0"};
	static const char *const bad[] = {"", "0.9.0", "2.0.0", "10.0.0", "1."};
	char more[64], text[256];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		snprintf(more, sizeof(more), "{\"ociVersion\":\"%s\"}", good[i]);
		assert_accepted(more);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		snprintf(more, sizeof(more), "{\"ociVersion\":\"%s\"}", bad[i]);
		snprintf(
			text, sizeof(text),
			"ociVersion %s is not supported: this program knows the versions from 1.0.0 to those before 2.0.0; use an engine that writes one of these",
			bad[i]);
		assert_refused(more, text);
	}
}

static void namespaces(void **state)
{
	static const struct {
		const char *list, *text;
	} rows[] = {
		{"network ipc",
		 "linux.namespaces without pid is not supported: a machine cannot have the host's "
		 "processes; run the container without the host's pid namespace"},
		{"pid ipc",
		 "linux.namespaces without network is not supported: a machine cannot have the "
		 "host's network; run the container without the host's network namespace"},
		{"pid network",
		 "linux.namespaces without ipc is not supported: a machine cannot have the host's "
		 "IPC objects; run the container without the host's ipc namespace"},
		{"pid network ipc time",
		 "linux.namespaces[3].type time is not supported: the guest's containers have no "
		 "time namespaces; run the container without a time namespace"},
		{"pid network ipc user",
		 "linux.namespaces[3].type user is not supported: the guest's containers have no user namespaces, because the machine confines them; run the container without a "
		 "user "
		 "namespace"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char more[512] = "{\"linux\":{\"namespaces\":[", list[64], *save = NULL;

		snprintf(list, sizeof(list), "%s", rows[i].list);
		for (char *word = strtok_r(list, " ", &save); word;
		     word = strtok_r(NULL, " ", &save)) {
			size_t used = strlen(more);

			snprintf(more + used, sizeof(more) - used, "%s{\"type\":\"%s\"}",
				 word == list ? "" : ",", word);
		}
		strcat(more, "]}}");
		assert_refused(more, rows[i].text);
	}
	assert_refused(
		"{\"linux\":{\"namespaces\":[{\"type\":\"pid\"},{\"type\":\"network\"},{\"type\":"
		"\"ipc\"},"
		"{\"type\":\"mount\",\"path\":\"/proc/1/ns/mnt\"}]}}",
		"linux.namespaces[3].path of type mount is not supported: each container has its own namespace of this type in the machine; leave the path out");
	assert_refused(
		"{\"linux\":{\"namespaces\":[{\"type\":\"cgroup\",\"path\":\"/proc/1/ns/cgroup\"},"
		"{\"type\":\"pid\"},{\"type\":\"network\"},{\"type\":\"ipc\"}]}}",
		"linux.namespaces[0].path of type cgroup is not supported: each container has its own namespace of this type in the machine; leave the path out");
	assert_accepted(
		"{\"linux\":{\"namespaces\":[{\"type\":\"pid\",\"path\":\"/proc/1/ns/pid\"},"
		"{\"type\":\"network\",\"path\":\"/run/netns/x\"},{\"type\":\"ipc\"},"
		"{\"type\":\"cgroup\"},{\"type\":\"uts\"}]}}");
}

#define MOUNT(members) "{\"mounts\":[{\"destination\":\"/v\"," members "}]}"

static void mounts(void **state)
{
	static const char *const shared[] = {"shared", "rshared", "slave", "rslave"};
	static const char *const types[] = {"proc",   "sysfs",	"tmpfs",  "devpts",
					    "mqueue", "cgroup", "cgroup2"};
	char more[256], text[512];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(shared); i++) {
		snprintf(more, sizeof(more),
			 MOUNT("\"source\":\"/s\",\"options\":[\"rbind\",\"%s\"]"), shared[i]);
		snprintf(
			text, sizeof(text),
			"mounts[0].options[1]: %s is not supported: a machine does not see what the host mounts later; use rprivate, or pass the annotation "
			"io.microagent.propagation=ignore",
			shared[i]);
		assert_refused(more, text);
		snprintf(more, sizeof(more), MOUNT("\"type\":\"tmpfs\",\"options\":[\"%s\"]"),
			 shared[i]);
		assert_accepted(more);
	}
	assert_accepted(
		"{\"annotations\":{\"io.microagent.propagation\":\"ignore\"},\"mounts\":["
		"{\"destination\":\"/v\",\"source\":\"/s\",\"options\":[\"bind\",\"rslave\"]}]}");
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		snprintf(more, sizeof(more), MOUNT("\"type\":\"%s\""), types[i]);
		assert_accepted(more);
	}
	assert_refused(
		MOUNT("\"type\":\"nfs\""),
		"mounts[0].type nfs is not supported: only the host can mount this file system; mount it on the host, and bind its directory");
	assert_refused(
		MOUNT("\"source\":\"/s\",\"options\":[\"bind\",\"rro\"]"),
		"mounts[0].options[1]: rro is not supported: a machine sees a tree of mounts as one mount; use the option for a single mount");
	assert_refused(MOUNT("\"source\":\"/s\",\"options\":[\"idmap\",\"bind\"]"),
		       "mounts[0].options[0]: idmap is not supported: a machine has no mounts with "
		       "mapped ids; give the volume the ids that the container wants");
}

static void where_a_root_is_written(void **state)
{
	(void)state;
	assert_refused(
		"{\"annotations\":{\"io.microagent.propagation\":\"x\"}}",
		"annotations.io.microagent.propagation \"x\" is not supported: the only value is ignore");
	assert_accepted("{\"annotations\":{\"io.microagent.rootfs\":\"virtiofs\"}}");
	assert_accepted("{\"annotations\":{\"io.microagent.rootfs\":\"overlay\"}}");

	assert_refused("{\"annotations\":{\"io.microagent.rootfs\":\"ext4\"}}",
		       "annotations.io.microagent.rootfs ext4 is not supported: what a container "
		       "writes goes to the host, or stays in its machine; use virtiofs for the "
		       "first, overlay for the second");
}

static void mounts_of_the_host(void **state)
{
	static const struct {
		const char *source, *clean, *directory;
	} shut[] = {
		{"/dev", "/dev", "/dev"},	  {"//dev/./", "/dev", "/dev"},
		{"/dev/sda", "/dev/sda", "/dev"}, {"/srv/../dev/../../proc/1", "/proc/1", "/proc"},
		{"/sys", "/sys", "/sys"},
	};
	static const char *const open[] = {"/devices", "/srv/dev", "dev", "proc/x", "/", "/dev/.."};
	char more[256], text[512];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(shut); i++) {
		snprintf(more, sizeof(more), MOUNT("\"type\":\"bind\",\"source\":\"%s\""),
			 shut[i].source);
		snprintf(text, sizeof(text),
			 "mounts[0].source %s is not supported: %s of the host means nothing in a "
			 "machine, which has its own; leave the mount out",
			 shut[i].clean, shut[i].directory);
		assert_refused(more, text);
	}
	for (size_t i = 0; i < ARRAY_SIZE(open); i++) {
		snprintf(more, sizeof(more), MOUNT("\"type\":\"bind\",\"source\":\"%s\""), open[i]);
		assert_accepted(more);
	}
	assert_accepted("{\"mounts\":[{\"destination\":\"/dev/shm\",\"source\":\"/dev/shm\","
			"\"options\":[\"bind\"]}]}");
}

static void sources(void **state)
{
	const struct oci_mount mount = {.source = "/s", .is_bind = true};
	const struct oci_mount shm = {.source = "/s", .is_bind = true, .is_shm = true};
	static const struct {
		mode_t mode;
		const char *text;
	} rows[] = {
		{S_IFSOCK, "it is a socket, to which no process of a machine can connect; let the "
			   "program listen on the network"},
		{S_IFBLK, "it is a device of the host, which a machine does not have; bind a "
			  "directory or a file"},
		{S_IFCHR, "it is a device of the host, which a machine does not have; bind a "
			  "directory or a file"},
		{S_IFIFO, "it is a pipe of the host, which a machine does not have; bind a "
			  "directory or a file"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct error err = {0};
		char text[256];

		snprintf(text, sizeof(text), "mounts[3].source /s is not supported: %s",
			 rows[i].text);
		assert_int_equal(oci_mount_source_check(&mount, 3, rows[i].mode, &err), -1);
		assert_string_equal(err.msg, text);
		assert_int_equal(err.code, ERR_UNSUPPORTED);
	}
	assert_int_equal(oci_mount_source_check(&mount, 0, S_IFREG | 0600, NULL), 0);
	assert_int_equal(oci_mount_source_check(&mount, 0, S_IFDIR | 0700, NULL), 0);
	assert_int_equal(oci_mount_source_check(&shm, 0, S_IFCHR, NULL), 0);
}

static void devices(void **state)
{
	(void)state;
	assert_accepted(
		"{\"linux\":{\"devices\":[{\"path\":\"/dev/null\",\"type\":\"c\",\"major\":1,"
		"\"minor\":3},{\"path\":\"/dev/console\",\"type\":\"c\"}]}}");
	assert_refused(
		"{\"linux\":{\"devices\":[{\"path\":\"/dev/null\",\"type\":\"c\",\"major\":1,"
		"\"minor\":3},{\"path\":\"/dev/fuse\",\"type\":\"c\",\"major\":10,"
		"\"minor\":229}]}}",
		"linux.devices[1] /dev/fuse is not supported: a machine has no devices of the "
		"host; run the container without it, and not as privileged");
	assert_refused(
		"{\"linux\":{\"devices\":[{\"path\":\"/dev/null\",\"type\":\"b\",\"major\":1,"
		"\"minor\":3}]}}",
		"linux.devices[0] /dev/null is not supported: a machine has no devices of the "
		"host; run the container without it, and not as privileged");
}

static void notifying_filters(void **state)
{
	(void)state;
	assert_refused("{\"linux\":{\"seccomp\":{\"defaultAction\":\"SCMP_ACT_NOTIFY\"}}}",
		       "linux.seccomp.defaultAction SCMP_ACT_NOTIFY is not supported: system calls "
		       "of a machine cannot be answered by the host; use a profile without it");
	assert_refused(
		"{\"linux\":{\"seccomp\":{\"defaultAction\":\"SCMP_ACT_ALLOW\","
		"\"syscalls\":[{\"action\":\"SCMP_ACT_LOG\"},"
		"{\"action\":\"SCMP_ACT_NOTIFY\"}]}}}",
		"linux.seccomp.syscalls[1].action SCMP_ACT_NOTIFY is not supported: system "
		"calls of a machine cannot be answered by the host; use a profile without it");
}

static void printed(void **state)
{
	autobuf struct buf text = BUF_INIT(0);
	size_t lines = 0, rows = 0;

	(void)state;
	assert_int_equal(oci_fields_print(&text, NULL), 0);
	for (const char *p = buf_string(&text); (p = strchr(p, '\n')); p++)
		lines++;
	while (oci_field_at(rows))
		rows++;
	assert_int_equal(lines, rows);
	assert_non_null(strstr(buf_string(&text),
			       "root.path                                  honoured  shared with"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_row),
		cmocka_unit_test(refused_fields),
		cmocka_unit_test(empty_ones_pass),
		cmocka_unit_test(unknown_ones_pass),
		cmocka_unit_test(ignored_ones_are_told),
		cmocka_unit_test(annotations_that_there_are_not),

		cmocka_unit_test(a_tmpfs_that_is_to_be_filled),
		cmocka_unit_test(versions),
		cmocka_unit_test(namespaces),
		cmocka_unit_test(mounts),
		cmocka_unit_test(where_a_root_is_written),
		cmocka_unit_test(mounts_of_the_host),
		cmocka_unit_test(sources),
		cmocka_unit_test(devices),
		cmocka_unit_test(notifying_filters),
		cmocka_unit_test(printed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
