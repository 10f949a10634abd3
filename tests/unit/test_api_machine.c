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

#define SET(field, value)              \
	{                              \
#field,                \
		{                      \
			.field = value \
		}                      \
	}
static const struct {
	const char *field;
	struct microagent_machine machine;
} set[] = {
	SET(architecture, "arm64"), SET(accelerator, "kvm"),
	SET(memory_mib, 1),	    SET(cpus, 1),
	SET(network, "nat"),	    SET(network_interface, "br0"),
	SET(allow, words),	    SET(egress.names, none),
	SET(egress.from, none),	    SET(egress.sni_off, true),
	SET(egress.dry_run, true),  SET(publish, words),
	SET(mediation, "1=a:1"),    SET(mediation_optional, true),
	SET(vsock, words),	    SET(disks, words),
	SET(shares, words),	    SET(share_anyway, true),
	SET(share_git, true),	    SET(rates.disk_bytes, 1),
	SET(rates.disk_ops, 1),	    SET(rates.net_bytes, 1),
};

/* The accepted fields, each between two spaces. */
static void assert_takes(enum machine_kind kind, const char *what, const char *taken)
{
	for (size_t i = 0; i < ARRAY_SIZE(set); i++) {
		char word[64], refused[128];
		struct error err = {0};
		bool takes;

		snprintf(word, sizeof(word), " %s ", set[i].field);
		snprintf(refused, sizeof(refused),
			 "machine.%s: %s does not have this setting: leave it out", set[i].field,
			 what);
		takes = strstr(taken, word) != NULL;
		assert_int_equal(machine_check(&set[i].machine, kind, &err), takes ? 0 : -1);
		assert_string_equal(err.msg, takes ? "" : refused);
	}
}

static void each_kind_takes_its_own(void **state)
{
	(void)state;
	assert_takes(MACHINE_SESSION, "a session",
		     " accelerator memory_mib cpus network network_interface allow egress.names "
		     "egress.from egress.sni_off egress.dry_run publish mediation "
		     "mediation_optional vsock shares share_anyway share_git rates.disk_bytes "
		     "rates.disk_ops rates.net_bytes ");
	assert_takes(MACHINE_BASE, "a base",
		     " architecture accelerator memory_mib cpus network network_interface allow "
		     "egress.names egress.from egress.sni_off egress.dry_run ");
	assert_takes(MACHINE_TEMPLATE, "a template", " accelerator ");
	assert_takes(MACHINE_POOL, "a pool", " memory_mib cpus network ");
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
		cmocka_unit_test(a_list_of_none_is_not_set),
		cmocka_unit_test(a_config_has_what_is_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
