/* SPDX-License-Identifier: MIT */
/* create: makes a workspace, which stays until it is deleted. */
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "cli/options/guest.h"
#include "store/cache.h"

/* Returns the accelerator that "auto" selects for the kernel; NULL if the supervisor does not
 * report one. The supervisor's report (`host`) is about the default kernel. On a host with
 * paravirtual KVM, only a kernel that was built for it can use KVM, so the given kernel is looked
 * up. */
static const char *auto_accelerator(const json_t *host, const char *kernel)
{
	struct cache_kernel found = {0};
	bool for_pvm;

	if (strcmp(json_text(host, "kvmKernels", ""), "pvm") != 0 ||
	    cache_kernel_find(kernel, architecture_of_host(), &found, NULL) < 0)
		return json_text(host, "accelerator", NULL);
	for_pvm = found.for_pvm;
	cache_kernel_free(&found);
	return for_pvm ? "kvm" : "tcg";
}

/* Warns about the accelerator, if it is known before the machine runs. */
static void warn_accelerator(const struct cli *cli, struct microagent *agent,
			     const struct guest_values *values)
{
	json_auto_t *response = NULL;
	const char *name = values->machine.asked.accelerator;

	if (values->machine.arch &&
	    architecture_from_word(values->machine.arch) != architecture_of_host())
		name = "tcg";
	else if ((!name || strcmp(name, "auto") == 0) &&
		 microagent_host(agent, &response, NULL) == 0)
		name = auto_accelerator(json_object_get(response, "host"), values->kernel);
	if (name)
		guest_warn_accelerator(cli, name);
}

static int create_workspace_in(struct cli *cli, struct microagent *agent,
			       const struct guest_values *values, const struct env_list *env,
			       const struct cli_words *args, struct error *err)
{
	const char *name = args->items[0];
	const struct microagent_spec spec =
		guest_spec(values, env, args->count > 1 ? args->items + 1 : NULL);
	json_auto_t *response = NULL;
	char itself[CLI_ITSELF];

	if (microagent_create(agent, name, &spec, &response, err) < 0)
		return -1;
	if (!values->initrd)
		guest_warn_init(cli, values->kernel, values->machine.arch);
	warn_accelerator(cli, agent, values);
	if (cli->json)
		return cli_print_json(response, err);
	printf("%s: prepared; `%s start %s` boots it\n", name, cli_itself(cli, itself), name);
	return CLI_EXIT_OK;
}

static int run_create(struct cli *cli, const void *values, const struct cli_words *args,
		      struct error *err)
{
	autoprogress struct progress progress = PROGRESS_INIT;
	const struct guest_values *v = values;
	auto_env struct env_list env = {0};
	struct microagent *agent;
	int code;

	if (guest_check(cli, v, args->items[0], &env, err) < 0 ||
	    guest_check_command(cli, args->items + 1, err) < 0)
		return -1;
	agent = guest_open(cli, &progress, err);
	if (!agent)
		return -1;
	if (v->machine.unconfined)
		guest_unconfined(cli, agent);
	progress_start(&progress, "preparing");
	code = create_workspace_in(cli, agent, values, &env, args, err);
	microagent_close(agent);
	return code;
}

const struct cli_command cli_create = {
	.name = "create",
	.args = "NEW [[--] CMD [WORD...]]",
	.summary = "make a workspace that stays",
	.help = "Clones the image and records kernel, memory, processors and command. Nothing runs\n"
		"yet. CMD is run at every start, and the machine ends with CMD. Without CMD the\n"
		"entrypoint of an imported image is run. If there is none, the machine waits for\n"
		"`microagent exec`.\n",
	.group = CLI_GROUP_LIFECYCLE,
	.options = guest_options,
	.machine = MACHINE_OPTIONS_OF_RUN,
	.values_size = sizeof(struct guest_values),
	.min_args = 1,
	.max_args = SIZE_MAX,
	.takes_command = true,
	.plain_args = 1,
	.run = run_create,
};
