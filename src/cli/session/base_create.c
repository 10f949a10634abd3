/* SPDX-License-Identifier: MIT */
/* base create: makes a base. */
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "cli/session/base.h"

void base_on_booted(void *data, const char *accelerator)
{
	const struct creating *creating = data;

	progress_end(creating->progress);
	guest_warn_accelerator(creating->cli, accelerator);
}

/* Prints a line about the making of a base on stderr, since stdout is for the answer. Replaces
 * control bytes in the guest's text, which could move the cursor. */
void base_on_line(void *data, enum microagent_base_line kind, const char *text)
{
	const struct creating *creating = data;
	bool bold = kind != MICROAGENT_BASE_OUTPUT && cli_colour(stderr);

	progress_end(creating->progress);
	fputs(bold ? "\033[1m" : "", stderr);
	fputs(kind == MICROAGENT_BASE_DOING ? "==> " : "", stderr);
	fputs(kind == MICROAGENT_BASE_STEP ? "### " : "", stderr);
	cli_print_safe(stderr, text);
	fputs(bold ? "\033[0m\n" : "\n", stderr);
	if (kind == MICROAGENT_BASE_DOING)
		progress_start(creating->progress, text);
}

static void on_progress(void *data, uint64_t done, uint64_t total)
{
	const struct creating *creating = data;

	progress_set(creating->progress, done, total);
	if (!total)
		progress_detail(creating->progress, "%" PRIu64 " MiB", done >> 20);
}

/* Makes the template of a new base. If this fails, the base is kept without a template. */
static int warm_created(struct microagent *agent, const struct base_values *v,
			const struct microagent_base_spec *made, json_t **base, struct error *err)
{
	struct microagent_warm_spec spec = {
		.machine.accelerator = made->machine.accelerator,
		.cancel = made->cancel,
		.booted = made->booted,
		.said = made->said,
		.data = made->data,
	};
	const char *name = json_text(*base, "name", NULL);
	json_t *warmed = NULL;

	if (base_warm_in(agent, name, &v->run, &spec, &warmed, err) < 0)
		return error_prefix(err, "base %s is made, but its template is not", name);
	json_decref(*base);
	*base = warmed;
	return 0;
}

static int create_base_in(struct cli *cli, struct microagent *agent, const struct base_values *v,
			  const struct microagent_base_spec *spec, const char *name,
			  struct error *err)
{
	json_auto_t *base = NULL;
	char itself[CLI_ITSELF];

	if (microagent_base_create(agent, name, spec, &base, err) < 0 ||
	    (v->warm && warm_created(agent, v, spec, &base, err) < 0))
		return -1;
	if (cli->json)
		return cli_print_json(base, err);
	printf("%s: sealed%s; `%s session create --base %s` makes a session of it\n",
	       json_text(base, "name", NULL), v->warm ? " and warm" : "", cli_itself(cli, itself),
	       name);
	return CLI_EXIT_OK;
}

static bool is_provisioned(const struct base_values *v)
{
	return v->script || v->oci || v->ipsw || v->size || v->stage.count > 0;
}

static bool is_booted(const struct base_values *v)
{
	return is_provisioned(v) || v->warm;
}

static const char *egress_option(const struct base_values *v)
{
	return v->machine.egress.names.count  ? "--egress"
	       : v->machine.egress.from.count ? "--egress-from"
	       : v->machine.egress.sni	      ? "--egress-sni"
	       : v->machine.egress.dry_run    ? "--egress-dry-run"
					      : NULL;
}

/* Checks the options for a macOS base. Refuses the options that are only for a Linux guest, or only
 * for the machine that provisions it. */
static int check_macos_values(struct cli *cli, const struct base_values *v, struct error *err)
{
	const struct {
		const char *name;
		bool given;
	} others[] = {{"--image", v->image != NULL},
		      {"--from-oci", v->oci != NULL},
		      {"--kernel", v->kernel != NULL},
		      {"--arch", v->machine.arch != NULL},
		      {"--stage", v->stage.count > 0},
		      {"--allow", v->machine.allow.count > 0},
		      {egress_option(v), egress_option(v) != NULL},
		      {"--accelerator", v->machine.asked.accelerator != NULL},
		      {"--warm", v->warm},
		      {"--unconfined", v->machine.unconfined}};

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (others[i].given)
			return cli_usage(
				cli, err,
				"--from-ipsw makes a base of macOS, which takes no %s: leave it out",
				others[i].name);
	return guest_take_backend(cli, v->machine.backend, err);
}

/* Checks the options for a base. The options for the network apply to the machine that provisions
 * the base. */
static int check_values(struct cli *cli, const struct base_values *v, struct error *err)
{
	if (v->ipsw)
		return check_macos_values(cli, v, err);
	if (v->put_agent)
		return cli_usage(
			cli, err,
			"--put-agent needs --from-ipsw: give both, or leave --put-agent out");
	if (v->run.count && !v->warm)
		return cli_usage(cli, err, "--run needs --warm: give both, or leave --run out");
	if (((v->machine.asked.network || v->machine.asked.network_interface ||
	      v->machine.allow.count || egress_option(v)) &&
	     !is_provisioned(v)) ||
	    ((v->machine.asked.accelerator || v->machine.backend || v->machine.unconfined) &&
	     !is_booted(v)))
		return cli_usage(
			cli, err,
			"no machine is booted without --provision, --stage, --size or --from-oci: leave out %s",
			v->machine.asked.network	     ? "--network"
			: v->machine.asked.network_interface ? "--network-interface"
			: v->machine.allow.count	     ? "--allow"
			: egress_option(v)		     ? egress_option(v)
			: v->machine.asked.accelerator	     ? "--accelerator"
			: v->machine.backend		     ? "--backend"
							     : "--unconfined");
	if (machine_check_values(cli, &v->machine, err) < 0 ||
	    guest_check_given(cli, "--image", v->image, err) < 0 ||
	    guest_check_given(cli, "--kernel", v->kernel, err) < 0)
		return -1;
	machine_warn(cli, &v->machine);
	return 0;
}

static int run_base_create(struct cli *cli, const void *values, const struct cli_words *args,
			   struct error *err)
{
	autoprogress struct progress progress = PROGRESS_INIT;
	const struct base_values *v = values;
	struct creating creating = {cli, &progress};
	struct signals signals = SIGNALS_NONE;
	struct microagent *agent;
	int code;

	if (check_values(cli, v, err) < 0)
		return -1;
	agent = guest_open(cli, &progress, err);
	/* Handles signals only if a machine is booted. Then this program must end the machine and
	 * save the machine's log before it exits. Without a machine this program only copies an
	 * image, and nothing remains to be ended. */
	if (!agent || (is_booted(v) && signals_open_ending(&signals, err) < 0)) {
		microagent_close(agent);
		return -1;
	}
	const struct microagent_base_spec spec = {
		.machine = machine_asked(&v->machine),
		.image = v->image,
		.oci = v->oci,
		.ipsw = v->ipsw,
		.put_agent = v->put_agent,
		.kernel = v->kernel,
		.script = v->script,
		.stage = v->stage.items,
		.size_mib = v->size,
		.cancel = signals.fd,
		.booted = base_on_booted,
		.said = base_on_line,
		.progressed = on_progress,
		.data = &creating,
	};

	if (v->machine.unconfined)
		guest_unconfined(cli, agent);
	if (!v->ipsw)
		guest_warn_init(cli, v->kernel, v->machine.arch);
	progress_start(&progress, "making the base");
	code = create_base_in(cli, agent, v, &spec, args->items[0], err);
	microagent_close(agent);
	progress_end(&progress);
	return signals_end_command(cli, &signals, code, err);
}

static const struct cli_option create_options[] = {
	{"image", 0, CLI_OPTION_STRING, offsetof(struct base_values, image), "IMAGE",
	 "name in the cache, or path of a raw ext4 file (default: busybox)", 0, 0},
	{"from-oci", 0, CLI_OPTION_STRING, offsetof(struct base_values, oci), "REF",
	 "import this image, as `image import` does: a layout, an archive, or a registry's", 0, 0},
	{"from-ipsw", 0, CLI_OPTION_STRING, offsetof(struct base_values, ipsw), "FILE|URL|latest",
	 "macOS, on a Mac: a restore image, its address at Apple, or the newest", 0, 0},
	{"put-agent", 0, CLI_OPTION_STRING, offsetof(struct base_values, put_agent), "PROGRAM",
	 "program that puts the agent on macOS's disk (default: microagent-put-macos-agent)", 0, 0},
	{"kernel", 0, CLI_OPTION_STRING, offsetof(struct base_values, kernel), "KERNEL",
	 "name in the cache, or path (default: the tuned one, else Debian's)", 0, 0},
	{"provision", 0, CLI_OPTION_STRING, offsetof(struct base_values, script), "SCRIPT",
	 "script to run as root in a machine that has the base's disk", 0, 0},
	{"stage", 0, CLI_OPTION_LIST, offsetof(struct base_values, stage), "FILE",
	 "file that SCRIPT finds in $MICROAGENT_STAGE; may be given again", 0, 0},
	{"size", 0, CLI_OPTION_INT, offsetof(struct base_values, size), "MIB",
	 "size of the disk (default: the image's plus 1024, at most 4096; for macOS 65536)", 1,
	 INT32_MAX},
	{"warm", 0, CLI_OPTION_FLAG, offsetof(struct base_values, warm), NULL,
	 "make the base's template too, as `base warm` does", 0, 0},
	{"run", 0, CLI_OPTION_LIST, offsetof(struct base_values, run), "LINE",
	 "for --warm, like --run of `base warm`", 0, 0},
	{NULL, 0, CLI_OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

const struct cli_command base_create = {
	.name = "create",
	.args = "BASE",
	.summary = "make the next version of a base and seal it",
	.help = "The version is NAME-v1, NAME-v2 and so on; NAME alone means the newest one.\n"
		"With --provision, --stage or --size the image is booted once: its file system grows,\n"
		"the user `agent` is made, SCRIPT is run, and then `agent` may write only in /workspace,\n"
		"/tmp and its home. Lines of SCRIPT's output that begin with \"### \" name its steps. If\n"
		"SCRIPT fails no base is made, and a log of it is kept.\n"
		"Without these options the base is the image as it is, and nothing is booted.\n"
		"With --from-ipsw the base is macOS: it is installed from Apple's restore image, which is\n"
		"kept, `PROGRAM DISK` on this host puts the agent on its disk, and it is booted once. sh -e\n"
		"runs SCRIPT then.\n",
	.options = create_options,
	.machine = MACHINE_OPTIONS_OF_BASE,
	.values_size = sizeof(struct base_values),
	.min_args = 1,
	.max_args = 1,
	.check_name = microagent_base_check_name,
	.run = run_base_create,
};
