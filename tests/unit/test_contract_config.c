/* SPDX-License-Identifier: MIT */
/* Tests the result of a config: defaults, the canonical form, records, and differences. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "contract/config_fields.h"
#include "contract/request.h"

#define LEAST "\"kernelPath\":\"/k\",\"rootfsPath\":\"/r\",\"stateDir\":\"/s\""

static const struct host_bounds bounds = {.memory_mib = 8192, .cpus = 4};

static struct request decode_for(const char *config, const struct host_bounds *host)
{
	struct request request = {0};
	struct error err = {0};
	char text[8192];

	snprintf(text, sizeof(text),
		 "{\"command\":\"prepare\",\"identity\":{\"requestID\":\"q\",\"runtimeID\":\"a\","
		 "\"role\":\"workload\",\"backend\":\"qemu\"},\"config\":{%s}}",
		 config);
	if (request_decode(text, strlen(text), "qemu", false, host, &request, &err) < 0)
		fail_msg("%s: %s", config, err.msg);
	return request;
}

static struct request decode(const char *config)
{
	return decode_for(config, &bounds);
}

static void assert_normalised(const char *config, const char *expected)
{
	struct request request = decode(config);
	autofree char *text = json_dumps(request.config.normalised, JSON_COMPACT);

	assert_string_equal(text, expected);
	request_free(&request);
}

static void defaults(void **state)
{
	struct request request = decode(LEAST);
	const struct config *c = &request.config;

	(void)state;
	assert_int_equal(request.command, COMMAND_PREPARE);
	assert_string_equal(request.identity.request_id, "q");
	assert_string_equal(request.identity.runtime_id, "a");
	assert_string_equal(request.identity.role, "workload");
	assert_string_equal(request.identity.backend, "qemu");
	assert_ptr_equal(request.identity.json, json_object_get(request.document, "identity"));
	assert_string_equal(c->kernel_path, "/k");
	assert_string_equal(c->initrd_path, "/k.initrd");
	assert_string_equal(c->rootfs_path, "/r");
	assert_string_equal(c->state_dir, "/s");
	assert_int_equal(c->memory_mib, 512);
	assert_int_equal(c->cpus, 0);
	assert_int_equal(c->accelerator, ACCELERATOR_AUTO);
	assert_int_equal(c->network_mode, NETWORK_NAT);
	assert_int_equal(c->timeout_seconds, 0);
	assert_null(c->network_interface);
	assert_null(c->command);
	assert_null(c->env);
	assert_null(c->user);
	assert_null(c->hostname);
	assert_null(c->port_forwards);
	assert_null(c->disks);
	assert_null(c->vsock_listeners);
	assert_null(c->mediation);
	assert_null(c->shares);
	assert_null(c->bundles);
	assert_null(c->outputs);
	assert_null(c->image);
	assert_null(c->cgroup);
	request_free(&request);
}

static void defaults_within_a_small_host(void **state)
{
	static const struct host_bounds small = {.memory_mib = 400, .cpus = 1};
	struct request request = decode_for(LEAST, &small);

	(void)state;
	assert_int_equal(request.config.memory_mib, 400);
	request_free(&request);
}

static void open_cpus_are_settled_once(void **state)
{
	static const struct {
		const char *more;
		enum accelerator accelerator;
		int64_t host, cpus;
	} rows[] = {
		{"", ACCELERATOR_KVM, 8, 2},  {"", ACCELERATOR_KVM, 1, 1},
		{"", ACCELERATOR_TCG, 8, 1},  {",\"cpuCount\":3", ACCELERATOR_TCG, 8, 3},
		{"", ACCELERATOR_AUTO, 8, 2}, /* nobody could tell */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct host_bounds here = {.memory_mib = 4096, .cpus = rows[i].host};
		char text[256];
		struct error err = {0};

		snprintf(text, sizeof(text), "%s%s", LEAST, rows[i].more);
		struct request request = decode_for(text, &here);

		assert_int_equal(
			config_settle_cpus(&request.config, rows[i].accelerator, &here, &err), 0);
		assert_int_equal(
			json_integer_value(json_object_get(request.config.normalised, "cpuCount")),
			rows[i].cpus);
		request_free(&request);
	}
}

static void without_host_bounds(void **state)
{
	struct request request = decode_for(LEAST ",\"memoryMiB\":1048576,\"cpuCount\":512", NULL);

	(void)state;
	assert_int_equal(request.config.memory_mib, 1048576);
	assert_int_equal(request.config.cpus, 512);
	request_free(&request);
}

static void everything_given(void **state)
{
	struct request request = decode(
		LEAST
		",\"initrdPath\":\"/i\",\"memoryMiB\":64,\"cpuCount\":4,\"accelerator\":\"kvm\","
		"\"command\":[\"a\",\"\"],\"env\":{\"A\":\"\"},\"user\":\"u\",\"hostname\":\"h\","
		"\"cwd\":\"/w\","
		"\"timeoutSeconds\":9,\"cgroup\":\"/g/\",\"limits\":{\"diskBytesPerSecond\":7,"
		"\"diskOpsPerSecond\":8,\"netBytesPerSecond\":9},\"image\":{\"imageRef\":\"i\"},"
		"\"network\":{\"mode\":\"bridged\",\"interface\":\"br0\"}");
	const struct config *c = &request.config;

	(void)state;
	assert_string_equal(c->initrd_path, "/i");
	assert_int_equal(c->memory_mib, 64);
	assert_int_equal(c->cpus, 4);
	assert_int_equal(c->accelerator, ACCELERATOR_KVM);
	assert_int_equal(json_array_size(c->command), 2);
	assert_int_equal(json_object_size(c->env), 1);
	assert_string_equal(c->user, "u");
	assert_string_equal(c->hostname, "h");
	assert_string_equal(c->cwd, "/w");
	assert_int_equal(c->timeout_seconds, 9);
	assert_string_equal(c->cgroup, "/g");
	assert_int_equal(c->limits.disk_bytes, 7);
	assert_int_equal(c->limits.disk_ops, 8);
	assert_int_equal(c->limits.net_bytes, 9);
	assert_int_equal(json_object_size(c->image), 1);
	assert_int_equal(c->network_mode, NETWORK_BRIDGED);
	assert_string_equal(c->network_interface, "br0");
	request_free(&request);
}

static void canonical_form(void **state)
{
	static const char bare[] =
		"{\"kernelPath\":\"/k\",\"rootfsPath\":\"/r\",\"stateDir\":\"/s\","
		"\"memoryMiB\":512,\"network\":{\"mode\":\"nat\"},"
		"\"initrdPath\":\"/k.initrd\",\"accelerator\":\"auto\",\"timeoutSeconds\":0}";

	(void)state;
	assert_normalised(LEAST, bare);
	assert_normalised("\"stateDir\":\"//s/./\",\"rootfsPath\":\"/r\",\"kernelPath\":\"/k\"",
			  bare);
	assert_normalised(LEAST
			  ",\"disks\":[],\"shares\":[],\"bundles\":[],\"outputs\":[],"
			  "\"vsockListeners\":[],\"network\":{\"portForwards\":[],\"allow\":[]}",
			  bare);
	assert_normalised(LEAST ",\"env\":{},\"image\":{},\"mediation\":{\"enabled\":false}", bare);
	assert_normalised(LEAST ",\"mediation\":{\"port\":0,\"target\":\"\"},\"timeoutSeconds\":0",
			  bare);
}

static void canonical_lists(void **state)
{
	(void)state;
	assert_normalised(
		LEAST
		",\"disks\":[{\"mode\":\"rw\",\"mountpoint\":\"//d/\",\"path\":\"/p\","
		"\"name\":\"d\"}],\"shares\":[{\"mode\":\"ro\",\"path\":\"/h//x/\",\"tag\":\"t\","
		"\"mountpoint\":\"/m\"}],\"mediation\":{\"target\":\"h:1\",\"port\":7,"
		"\"enabled\":true},\"network\":{\"allow\":[\"10.0.0.1\",\"10.0.0.0/8\"],"
		"\"portForwards\":[{\"guestPort\":80,\"hostPort\":8080}]}",
		"{\"kernelPath\":\"/k\",\"rootfsPath\":\"/r\",\"stateDir\":\"/"
		"s\",\"memoryMiB\":512,"
		"\"disks\":[{\"name\":\"d\",\"path\":\"/p\",\"mountpoint\":\"/d\","
		"\"mode\":\"rw\"}],\"network\":{\"mode\":\"nat\",\"portForwards\":[{\"protocol\":"
		"\"tcp\",\"host\":\"127.0.0.1\",\"hostPort\":8080,\"guestPort\":80}],\"allow\":["
		"\"10.0.0.1/32\",\"10.0.0.0/"
		"8\"]},\"mediation\":{\"enabled\":true,\"required\":false,"
		"\"port\":7,\"target\":\"h:1\",\"failClosed\":false},\"initrdPath\":\"/k.initrd\","
		"\"accelerator\":\"auto\",\"timeoutSeconds\":0,\"shares\":[{\"tag\":\"t\",\"path\":"
		"\"/h/x\",\"mountpoint\":\"/m\",\"mode\":\"ro\"}]}");
}

/* A list is a set, and a rule has one form. An empty list is kept. */
static void canonical_egress(void **state)
{
	static const struct {
		const char *given, *canonical;
	} cases[] = {
		{"{}", "{\"sni\":\"required\"}"},
		{"{\"names\":[],\"prefixes\":[],\"dryRun\":false}", "{\"sni\":\"required\"}"},
		{"{\"dryRun\":true,\"sni\":\"off\",\"prefixes\":[\"192.0.2.1\",\"192.0.2.1/"
		 "32\"],\"names\":["
		 "\"PyPI.org\",\"pypi.org:443,80\",\"*.X.org:8443,443,443\",\"pypi.org:22\"]}",
		 "{\"names\":[\"pypi.org\",\"*.x.org:443,8443\",\"pypi.org:22\"],\"prefixes\":["
		 "\"192.0.2.1/32\"],\"sni\":\"off\",\"dryRun\":true}"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char given[400], canonical[600];

		snprintf(given, sizeof(given), LEAST ",\"network\":{\"egress\":%s}",
			 cases[i].given);
		snprintf(canonical, sizeof(canonical),
			 "{\"kernelPath\":\"/k\",\"rootfsPath\":\"/r\",\"stateDir\":\"/s\","
			 "\"memoryMiB\":512,\"network\":{\"mode\":\"nat\",\"egress\":%s},"
			 "\"initrdPath\":\"/"
			 "k.initrd\",\"accelerator\":\"auto\",\"timeoutSeconds\":0}",
			 cases[i].canonical);
		assert_normalised(given, canonical);
	}
}

static void prefixes_of_too_many(void **state)
{
	json_auto_t *allow = json_array();
	json_auto_t *network = json_pack("{s:O}", "allow", allow);
	struct error err = {0};
	json_t *decoded;

	(void)state;
	for (int i = 0; i < 256; i++)
		json_array_append_new(allow, json_sprintf("10.0.%d.0/24", i));
	json_array_append_new(allow, json_string("10.0.7.0/24")); /* there already */
	decoded = network_decode(network, &err);
	assert_non_null(decoded);
	assert_int_equal(json_array_size(json_object_get(decoded, "allow")), 256);
	json_decref(decoded);
	json_array_append_new(allow, json_string("10.1.0.0/24"));
	assert_null(network_decode(network, &err));
	assert_string_equal(err.msg, "config.network.allow: 257 entries are given, but at most 256 "
				     "are allowed: leave some out");
}

static void egress_of_too_many(void **state)
{
	json_auto_t *names = json_array();
	json_auto_t *network = json_pack("{s:{s:O}}", "egress", "names", names);
	struct error err = {0};
	json_t *decoded;

	(void)state;
	for (int i = 0; i < 256; i++)
		json_array_append_new(names, json_sprintf("n%d.example", i));
	json_array_append_new(names, json_string("N7.example")); /* there already */
	decoded = network_decode(network, &err);
	assert_non_null(decoded);
	json_decref(decoded);
	json_array_append_new(names, json_string("n256.example"));
	assert_null(network_decode(network, &err));
	assert_string_equal(err.msg, "config.network.egress.names: 257 entries are given, but at "
				     "most 256 are allowed: leave some out");
}

static void state_dir_alone(void **state)
{
	static const char text[] =
		"{\"command\":\"stop\",\"identity\":{\"requestID\":\"q\",\"runtimeID\":\"a\","
		"\"role\":\"workload\",\"backend\":\"qemu\"},"
		"\"config\":{\"stateDir\":\"/s/\",\"memoryMiB\":\"not looked at\"}}";
	struct request request = {0};
	struct error err = {0};

	(void)state;
	assert_int_equal(request_decode(text, strlen(text), "qemu", false, &bounds, &request, &err),
			 0);
	assert_int_equal(request.command, COMMAND_STOP);
	assert_string_equal(request.config.state_dir, "/s");
	assert_null(request.config.kernel_path);
	assert_int_equal(request.config.memory_mib, 0);
	request_free(&request);
}

/* --- records --------------------------------------------------------------------------------- */

static struct config from_record(const char *text)
{
	json_auto_t *json = json_loads(text, 0, NULL);
	struct config config = {0};
	struct error err = {0};

	if (config_from_record(json, &config, &err) < 0)
		fail_msg("%s", err.msg);
	return config; /* lives on without json */
}

/* A backend that gives no card: a request without a mode means isolated, and its ports are
 * published. */
static void isolated_is_the_default_of_some(void **state)
{
	static const struct host_bounds no_card = {
		.memory_mib = 8192, .cpus = 4, .isolated_only = true};
	static const char *const askings[] = {LEAST, LEAST ",\"network\":{}",
					      LEAST ",\"network\":{\"mode\":\"isolated\"}"};
	static const char ports[] = LEAST ",\"network\":{\"portForwards\":[{\"hostPort\":1,"
					  "\"guestPort\":2}]}";

	(void)state;
	for (size_t i = 0; i < sizeof(askings) / sizeof(askings[0]); i++) {
		struct request request = decode_for(askings[i], &no_card);

		assert_int_equal(request.config.network_mode, NETWORK_ISOLATED);
		request_free(&request);
	}
	struct request request = decode_for(ports, &no_card);
	autofree char *text = json_dumps(request.config.normalised, 0);
	struct config recorded = from_record(text);

	assert_int_equal(json_array_size(recorded.port_forwards), 1);
	assert_int_equal(recorded.network_mode, NETWORK_ISOLATED);
	config_free(&recorded);
	request_free(&request);
	request = decode_for(LEAST ",\"network\":{\"mode\":\"nat\"}", &no_card);
	assert_int_equal(request.config.network_mode, NETWORK_NAT);
	request_free(&request);
}

static void a_record_is_what_was_given(void **state)
{
	struct request request = decode(LEAST ",\"command\":[\"x\"],\"network\":{\"mode\":"
					      "\"isolated\"}");
	autofree char *text = json_dumps(request.config.normalised, 0);
	struct config recorded = from_record(text);
	struct error err = {0};

	(void)state;
	/* If the number of CPUs is not given, it is the recorded one. */
	assert_int_equal(json_object_del(recorded.normalised, "cpuCount"), 0);
	assert_true(json_equal(recorded.normalised, request.config.normalised));
	assert_int_equal(config_compare(&request.config, &recorded, &err), 0);
	assert_int_equal(recorded.network_mode, NETWORK_ISOLATED);
	request_free(&request);
	config_free(&recorded);
	config_free(&recorded); /* a freed one is empty */
}

static void a_newer_record_is_read(void **state)
{
	struct config recorded = from_record(
		"{" LEAST ",\"later\":1,\"network\":{\"mode\":\"nat\",\"later\":{}},\"disks\":[{"
		"\"name\":\"n\",\"path\":\"/p\",\"mountpoint\":\"/"
		"m\",\"mode\":\"ro\",\"later\":[]}]}");
	struct request request = decode(LEAST ",\"disks\":[{\"name\":\"n\",\"path\":\"/p\","
					      "\"mountpoint\":\"/m\",\"mode\":\"ro\"}]");
	struct error err = {0};

	(void)state;
	assert_int_equal(config_compare(&request.config, &recorded, &err), 0);
	request_free(&request);
	config_free(&recorded);
}

/* A workspace that was recorded on a bigger host can still be read (and deleted) on this one. */
static void a_record_knows_no_host(void **state)
{
	struct config recorded = from_record("{" LEAST ",\"memoryMiB\":1000000,\"cpuCount\":4000}");

	(void)state;
	assert_int_equal(recorded.memory_mib, 1000000);
	config_free(&recorded);
}

static void a_damaged_record_is_refused(void **state)
{
	static const char *const rows[][2] = {
		{"[]", "config must be an object"},
		{"{}", "config.kernelPath is required"},
		{"{" LEAST ",\"memoryMiB\":\"x\"}", "config.memoryMiB must be an integer"},
		{"{" LEAST ",\"network\":{\"mode\":\"x\"}}", "config.network.mode must be"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		json_auto_t *json = json_loads(rows[i][0], 0, NULL);
		struct config config = {.memory_mib = 77};
		struct error err = {0};

		assert_int_equal(config_from_record(json, &config, &err), -1);
		assert_non_null(strstr(err.msg, rows[i][1]));
		assert_int_equal(config.memory_mib, 77);
		assert_null(config.normalised);
	}
}

static void differences_are_named(void **state)
{
	static const char *const rows[][3] = {
		/* given, recorded, path (NULL: none) */
		{"", "", NULL},
		{"\"memoryMiB\":512", "", NULL},
		{"", "\"cpuCount\":2,\"accelerator\":\"auto\"", NULL},
		/* The caller of start says whether it may do without a cell. */
		{"\"confinement\":\"seccomp\"", "", NULL},
		{"\"confinement\":\"cell\"", "\"confinement\":\"seccomp\"", NULL},
		{"\"network\":{\"mode\":\"nat\"}", "", NULL},
		{"\"initrdPath\":\"/k.initrd\"", "", NULL},
		{"", "\"cpuCount\":1", NULL},
		{"\"cpuCount\":1", "\"cpuCount\":2", "config.cpuCount"},
		{"\"console\":\"shell\"", "", "config.console"},
		/* A group that is named has limits, and a group that is looked for may have
		 * none. */
		{"\"cgroup\":\"/g\"", "\"cgroup\":\"/g\",\"cgroupLimits\":\"required\"", NULL},
		{"\"cgroup\":\"/g\"", "\"cgroup\":\"/g\",\"cgroupLimits\":\"optional\"",
		 "config.cgroupLimits"},
		{"", "\"cgroupLimits\":\"optional\"", NULL},
		{"", "\"cgroupLimits\":\"required\"", "config.cgroupLimits"},
		{"\"memoryMiB\":256", "", "config.memoryMiB"},
		{"", "\"memoryMiB\":256", "config.memoryMiB"},
		{"\"network\":{\"mode\":\"isolated\"}", "", "config.network.mode"},
		{"\"command\":[\"a\",\"b\"]", "\"command\":[\"a\",\"c\"]", "config.command[1]"},
		{"\"command\":[\"a\"]", "", "config.command"},
		{"", "\"command\":[\"a\"]", "config.command"},
		{"\"env\":{\"A\":\"1\"}", "\"env\":{\"A\":\"2\"}", "config.env.A"},
		{"\"initrdPath\":\"/other\"", "", "config.initrdPath"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[2][512];
		struct request given, recorded;
		struct error err = {0};
		int result;

		for (size_t side = 0; side < 2; side++)
			snprintf(text[side], sizeof(text[side]), "%s%s%s", LEAST,
				 *rows[i][side] ? "," : "", rows[i][side]);
		given = decode(text[0]);
		recorded = decode(text[1]);
		result = config_compare(&given.config, &recorded.config, &err);
		assert_int_equal(result, rows[i][2] ? -1 : 0);
		if (rows[i][2]) {
			char words[128];

			snprintf(words, sizeof(words),
				 "%s differs from the value with which the workspace was prepared",
				 rows[i][2]);
			assert_int_equal(err.code, ERR_CONFLICT);
			if (!strstr(err.msg, words))
				fail_msg("\"%s\" has not \"%s\"", err.msg, words);
		}
		request_free(&given);
		request_free(&recorded);
	}
}

static void a_macos_guest(void **state)
{
	struct request request = decode(
		"\"macos\":{\"machineIdentifierPath\":\"/i\",\"hardwareModelPath\":\"/h\","
		"\"auxiliaryStoragePath\":\"/a\"},\"rootfsPath\":\"/r\",\"stateDir\":\"/s\"");
	const struct config *c = &request.config;

	(void)state;
	assert_string_equal(c->macos.hardware_model, "/h");
	assert_string_equal(c->macos.auxiliary_storage, "/a");
	assert_string_equal(c->macos.machine_identifier, "/i");
	assert_string_equal(c->rootfs_path, "/r");
	assert_null(c->kernel_path);
	assert_null(c->initrd_path);
	request_free(&request);
}

static void another_spelling_of_the_state_directory(void **state)
{
	struct request given = decode(LEAST);
	struct config recorded = from_record(
		"{\"kernelPath\":\"/k\",\"rootfsPath\":\"/r\",\"stateDir\":\"/link/s\"}");
	struct error err = {0};

	(void)state;
	assert_int_equal(config_compare(&given.config, &recorded, &err), 0);
	/* The comparison has removed nothing from the configs. */
	assert_non_null(json_object_get(recorded.normalised, "stateDir"));
	request_free(&given);
	config_free(&recorded);
}

/* Returns the config of a machine that could be saved but for `count` reviewed directories. */
static void config_with_reviews(size_t count, char *out, size_t room)
{
	int len = snprintf(
		out, room,
		LEAST ",\"rootfsBase\":\"/b\",\"hotplug\":true,\"network\":{\"mode\":\"isolated\"},"
		      "\"bundles\":[");

	for (size_t i = 0; i < count; i++)
		len += snprintf(out + len, room - (size_t)len,
				"%s{\"name\":\"r%zu\",\"kind\":\"review\",\"path\":\"/d\","
				"\"mountpoint\":\"/m%zu\"}",
				i ? "," : "", i, i);
	snprintf(out + len, room - (size_t)len, "]");
}

/* The disks of bundles are plugged into a restored machine, whose port has room for eight. */
static void bundles_come_later(void **state)
{
	static const struct {
		size_t count;
		const char *saved, *restored;
	} rows[] = {
		{1, "a bundle", NULL},
		{8, "a bundle", NULL},
		{9, "a bundle", "more bundles than a running machine can get"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char config[4096];
		struct request request;
		const char *restored;

		config_with_reviews(rows[i].count, config, sizeof(config));
		request = decode(config);
		assert_string_equal(config_saving_obstacle(request.config.normalised, false),
				    rows[i].saved);
		restored = config_saving_obstacle(request.config.normalised, true);
		if (rows[i].restored)
			assert_string_equal(restored, rows[i].restored);
		else
			assert_null(restored);
		request_free(&request);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bundles_come_later),
		cmocka_unit_test(defaults),
		cmocka_unit_test(defaults_within_a_small_host),
		cmocka_unit_test(open_cpus_are_settled_once),
		cmocka_unit_test(without_host_bounds),
		cmocka_unit_test(isolated_is_the_default_of_some),
		cmocka_unit_test(everything_given),
		cmocka_unit_test(canonical_form),
		cmocka_unit_test(canonical_lists),
		cmocka_unit_test(canonical_egress),
		cmocka_unit_test(prefixes_of_too_many),
		cmocka_unit_test(egress_of_too_many),
		cmocka_unit_test(state_dir_alone),
		cmocka_unit_test(a_record_is_what_was_given),
		cmocka_unit_test(a_newer_record_is_read),
		cmocka_unit_test(a_record_knows_no_host),
		cmocka_unit_test(a_damaged_record_is_refused),
		cmocka_unit_test(differences_are_named),
		cmocka_unit_test(a_macos_guest),
		cmocka_unit_test(another_spelling_of_the_state_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
