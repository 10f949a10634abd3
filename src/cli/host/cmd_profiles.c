/* SPDX-License-Identifier: MIT */
/* profiles: lists the sizes that the option --profile accepts. */
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/host/profile.h"

const struct profile profiles[] = {{"tiny", 256, 1, 512},
				   {"small", 512, 2, 1024},
				   {"medium", 2048, 2, 8192},
				   {"large", 4096, 4, 16384},
				   {0}};

const struct profile *profile_find(const char *name)
{
	for (const struct profile *p = profiles; p->name; p++)
		if (strcmp(p->name, name) == 0)
			return p;
	return NULL;
}

static int print_profiles_json(struct error *err)
{
	json_auto_t *answer = json_object();
	json_t *list = json_array();

	for (const struct profile *p = profiles; p->name; p++)
		json_array_append_new(list, json_pack("{s:s, s:I, s:I, s:I}", "name", p->name,
						      "memoryMiB", (json_int_t)p->memory_mib,
						      "cpuCount", (json_int_t)p->cpus, "diskMiB",
						      (json_int_t)p->disk_mib));
	if (json_put(answer, "profiles", list, err) < 0)
		return -1;
	return cli_print_json(answer, err);
}

static int print_profiles(struct error *err)
{
	static const char *const heads[] = {"NAME", "MIB", "CPUS"};
	auto_table struct cli_table table = {0};
	char memory[24], cpus[24];

	if (cli_table_init(&table, ARRAY_SIZE(heads), heads, err) < 0)
		return -1;
	for (const struct profile *p = profiles; p->name; p++) {
		const char *const cells[] = {p->name, memory, cpus};

		snprintf(memory, sizeof(memory), "%" PRId64, p->memory_mib);
		snprintf(cpus, sizeof(cpus), "%" PRId64, p->cpus);
		if (cli_table_row(&table, cells, err) < 0)
			return -1;
	}
	cli_table_print(&table, stdout);
	return CLI_EXIT_OK;
}

static int run_profiles(struct cli *cli, const void *values, const struct cli_words *args,
			struct error *err)
{
	(void)values;
	(void)args;
	return cli->json ? print_profiles_json(err) : print_profiles(err);
}

const struct cli_command cli_profiles = {
	.name = "profiles",
	.summary = "the sizes of machines that --profile knows",
	.help = "`run` and `create` take memory and processors from --profile, unless --memory or\n"
		"--cpus is given. The disk of a workspace is as large as its image. With --json,\n"
		"diskMiB is the size that an image for such a machine should have.\n",
	.group = CLI_GROUP_HOST,
	.run = run_profiles,
};
