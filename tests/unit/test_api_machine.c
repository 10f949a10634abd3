/* SPDX-License-Identifier: MIT */
/* Tests that a field which a kind of machine does not have is refused by its name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/machine.h"
#include "base/cleanup.h"

static const char *const words[] = {"a", NULL}, *const none[] = {NULL};

#define HAS(kind) (1u << MACHINE_##kind)

/* Some fields of each form, with the kinds of machine that have them. */
static const struct {
	const char *field;
	struct microagent_machine machine;
	unsigned kinds;
} set[] = {
	{"architecture", {.architecture = "arm64"}, HAS(BASE)},
	{"accelerator", {.accelerator = "kvm"}, HAS(SESSION) | HAS(BASE) | HAS(TEMPLATE)},
	{"memory_mib", {.memory_mib = 1}, HAS(SESSION) | HAS(BASE) | HAS(POOL)},
	{"allow", {.allow = words}, HAS(SESSION) | HAS(BASE)},
	{"egress.names", {.egress.names = none}, HAS(SESSION) | HAS(BASE)},
	{"mediation_optional", {.mediation_optional = true}, HAS(SESSION)},
	{"disks", {.disks = words}, 0},
	{"rates.net_bytes", {.rates.net_bytes = 1}, HAS(SESSION)},
};
static const char *const kinds[] = {
	[MACHINE_SESSION] = "a session",
	[MACHINE_BASE] = "a base",
	[MACHINE_TEMPLATE] = "a template",
	[MACHINE_POOL] = "a pool",
};

static void each_kind_takes_its_own(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(set); i++)
		for (size_t kind = 0; kind < ARRAY_SIZE(kinds); kind++) {
			bool takes = set[i].kinds & 1u << kind;
			struct error err = {0};
			char refused[128];

			snprintf(refused, sizeof(refused),
				 "machine.%s: %s does not have this setting: leave it out",
				 set[i].field, kinds[kind]);
			assert_int_equal(
				machine_check(&set[i].machine, (enum machine_kind)kind, &err),
				takes ? 0 : -1);
			assert_string_equal(err.msg, takes ? "" : refused);
		}
}

static void what_no_restored_machine_has(void **state)
{
	const struct microagent_machine plain = {.accelerator = "kvm", .memory_mib = 1};
	const struct microagent_machine published = {.publish = words};
	struct error err = {0};

	(void)state;
	assert_int_equal(machine_check_saved(&plain, &err), 0);
	assert_int_equal(machine_check_saved(&published, &err), -1);
	assert_int_equal(err.code, ERR_CONFLICT);
	assert_string_equal(err.msg, "it publishes ports");
}

static void a_list_of_none_is_not_set(void **state)
{
	const struct microagent_machine machine = {.publish = none, .disks = none, .shares = none};

	(void)state;
	assert_int_equal(machine_check(&machine, MACHINE_POOL, NULL), 0);
}

static void a_config_has_what_is_set(void **state)
{
	const struct microagent_machine machine = {.accelerator = "tcg",
						   .memory_mib = 300,
						   .rates = {.disk_bytes = 5, .net_bytes = 7}};
	json_auto_t *config = json_pack("{s:s}", "kernelPath", "/k");
	json_auto_t *whole = json_pack("{s:s, s:s, s:i, s:{s:i, s:i}}", "kernelPath", "/k",
				       "accelerator", "tcg", "memoryMiB", 300, "limits",
				       "diskBytesPerSecond", 5, "netBytesPerSecond", 7);
	json_auto_t *nothing = json_object();
	struct error err = {0};

	(void)state;
	assert_int_equal(machine_put(config, &machine, &err), 0);
	assert_true(json_equal(config, whole));
	assert_int_equal(machine_put(nothing, &(struct microagent_machine){0}, &err), 0);
	assert_int_equal(json_object_size(nothing), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kind_takes_its_own),
		cmocka_unit_test(what_no_restored_machine_has),
		cmocka_unit_test(a_list_of_none_is_not_set),
		cmocka_unit_test(a_config_has_what_is_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
