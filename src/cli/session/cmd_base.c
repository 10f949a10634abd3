/* SPDX-License-Identifier: MIT */
/* base: what sessions are cloned from. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "cli/options/guest.h"
#include "cli/terminal/signals.h"
#include "microagent_session.h"

struct base_values {
	const char *image, *oci, *kernel, *ipsw, *put_agent;
	int64_t memory, cpus, size;
	const char *script, *arch, *backend, *accelerator, *network, *network_interface;
	struct cli_words stage, allow, run;
	bool unconfined, warm;
};

/* --- create ---------------------------------------------------------------------------------- */

struct creating {
	const struct cli *cli;
	struct progress *progress;
};

static void on_booted(void *data, const char *accelerator)
{
	const struct creating *creating = data;

	progress_end(creating->progress);
	guest_warn_accelerator(creating->cli, accelerator);
}

/* All of it on stderr: stdout has the answer. What the guest says is cleaned of what moves a
 * cursor. */
static void on_line(void *data, enum microagent_base_line kind, const char *text)
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

/* Each line is for a shell of the guest's. */
static int warm_base_in(struct microagent *agent, const char *name, const struct cli_words *lines,
			struct microagent_warm_spec *spec, json_t **base, struct error *err)
{
	autofree const char *(*words)[4] = calloc(lines->count + 1, sizeof(*words));
	autofree const char *const **run = calloc(lines->count + 1, sizeof(*run));

	if (!words || !run)
		return error_errno(err, ENOMEM, "base");
	for (size_t i = 0; i < lines->count; i++) {
		words[i][0] = "sh";
		words[i][1] = "-c";
		words[i][2] = lines->items[i];
		run[i] = words[i];
	}
	spec->run = run;
	return microagent_base_warm(agent, name, spec, base, err);
}

/* The base is there, whatever becomes of its template. */
static int warm_created(struct microagent *agent, const struct base_values *v,
			const struct microagent_base_spec *made, json_t **base, struct error *err)
{
	struct microagent_warm_spec spec = {
		.accelerator = made->accelerator,
		.cancel = made->cancel,
		.booted = made->booted,
		.said = made->said,
		.data = made->data,
	};
	const char *name = json_text(*base, "name", NULL);
	json_t *warmed = NULL;

	if (warm_base_in(agent, name, &v->run, &spec, &warmed, err) < 0)
		return error_prefix(err, "base %s is made, and not warm", name);
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

/* Of what is said of a Linux guest and of the machine that provisions it. */
static int check_macos_values(struct cli *cli, const struct base_values *v, struct error *err)
{
	const struct {
		const char *name;
		bool given;
	} others[] = {{"--image", v->image != NULL},
		      {"--from-oci", v->oci != NULL},
		      {"--kernel", v->kernel != NULL},
		      {"--arch", v->arch != NULL},
		      {"--stage", v->stage.count > 0},
		      {"--allow", v->allow.count > 0},
		      {"--accelerator", v->accelerator != NULL},
		      {"--warm", v->warm},
		      {"--unconfined", v->unconfined}};

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (others[i].given)
			return cli_usage(cli, err,
					 "--from-ipsw makes a base of macOS: leave out %s",
					 others[i].name);
	return guest_take_backend(cli, v->backend, err);
}

/* The network is the provisioning machine's. */
static int check_values(struct cli *cli, const struct base_values *v, struct error *err)
{
	if (v->ipsw)
		return check_macos_values(cli, v, err);
	if (v->put_agent)
		return cli_usage(cli, err, "--put-agent belongs to --from-ipsw");
	if (v->run.count && !v->warm)
		return cli_usage(cli, err, "--run belongs to --warm");
	if (((v->network || v->network_interface || v->allow.count) && !is_provisioned(v)) ||
	    ((v->accelerator || v->backend || v->unconfined) && !is_booted(v)))
		return cli_usage(cli, err,
				 "nothing is booted without --provision, --stage, --size or "
				 "--from-oci: leave "
				 "out %s",
				 v->network		? "--network"
				 : v->network_interface ? "--network-interface"
				 : v->allow.count	? "--allow"
				 : v->accelerator	? "--accelerator"
				 : v->backend		? "--backend"
							: "--unconfined");
	if (guest_take_backend(cli, v->backend, err) < 0 ||
	    guest_check_arch(cli, v->arch, err) < 0 ||
	    guest_check_given(cli, "--image", v->image, err) < 0 ||
	    guest_check_given(cli, "--kernel", v->kernel, err) < 0)
		return -1;
	guest_warn_allow(cli, v->network, &v->allow);
	return 0;
}

/* What ended the making, if it was a signal: then that is our end too. */
static int end_base_by_signal(const struct cli *cli, struct signals *signals, int code,
			      const struct error *err)
{
	if (code < 0 && signals->fd >= 0 && signals_next(signals) > 0) {
		cli_warn_error(cli, "", err);
		code = 128 + signals_that_came(signals);
	}
	signals_close(signals);
	return code;
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
	/* A copy of an image ends with us; a machine is to be ended, and its log kept. */
	if (!agent || (is_booted(v) && signals_open_ending(&signals, err) < 0)) {
		microagent_close(agent);
		return -1;
	}
	const struct microagent_base_spec spec = {
		.image = v->image,
		.oci = v->oci,
		.ipsw = v->ipsw,
		.put_agent = v->put_agent,
		.kernel = v->kernel,
		.memory_mib = v->memory,
		.cpus = v->cpus,
		.script = v->script,
		.stage = v->stage.items,
		.size_mib = v->size,
		.architecture = guest_arch(v->arch),
		.accelerator = v->accelerator,
		.network = v->network,
		.network_interface = v->network_interface,
		.allow = v->allow.items,
		.cancel = signals.fd,
		.booted = on_booted,
		.said = on_line,
		.progressed = on_progress,
		.data = &creating,
	};

	if (v->unconfined)
		guest_unconfined(cli, agent);
	if (!v->ipsw)
		guest_warn_init(cli, v->kernel, v->arch);
	progress_start(&progress, "making the base");
	code = create_base_in(cli, agent, v, &spec, args->items[0], err);
	microagent_close(agent);
	progress_end(&progress);
	return end_base_by_signal(cli, &signals, code, err);
}

/* --- warm, cool ------------------------------------------------------------------------------ */

static int print_warm(const struct cli *cli, const json_t *base, struct error *err)
{
	const json_t *template = json_object_get(base, "template");

	if (cli->json)
		return cli_print_json(base, err);
	printf("%s: warm; %" PRIdMAX " MiB of memory and %" PRIdMAX " MiB of disk\n",
	       json_text(base, "name", NULL),
	       (intmax_t)json_integer_value(json_object_get(template, "residentBytes")) >> 20,
	       (intmax_t)json_integer_value(json_object_get(template, "bytes")) >> 20);
	return CLI_EXIT_OK;
}

static int run_base_warm(struct cli *cli, const void *values, const struct cli_words *args,
			 struct error *err)
{
	autoprogress struct progress progress = PROGRESS_INIT;
	const struct base_values *v = values;
	struct creating creating = {cli, &progress};
	struct signals signals = SIGNALS_NONE;
	json_auto_t *base = NULL;
	struct microagent *agent;
	int code;

	agent = guest_open(cli, &progress, err);
	if (!agent || signals_open_ending(&signals, err) < 0) {
		microagent_close(agent);
		return -1;
	}
	struct microagent_warm_spec spec = {
		.accelerator = v->accelerator,
		.cancel = signals.fd,
		.booted = on_booted,
		.said = on_line,
		.data = &creating,
	};

	if (v->unconfined)
		guest_unconfined(cli, agent);
	progress_start(&progress, "looking at the base");
	code = warm_base_in(agent, args->items[0], &v->run, &spec, &base, err);
	microagent_close(agent);
	progress_end(&progress);
	if (code == 0)
		code = print_warm(cli, base, err);
	return end_base_by_signal(cli, &signals, code, err);
}

/* --- list ------------------------------------------------------------------------------------ */

static int add_base_row(struct cli_table *table, const json_t *base, struct error *err)
{
	const json_t *disk = json_object_get(base, "disk");
	const char *sha256 = json_text(disk, "sha256", NULL);
	const json_t *template = json_object_get(base, "template");
	char mib[24] = "", digest[13] = "";

	if (disk)
		snprintf(mib, sizeof(mib), "%" PRIdMAX,
			 (intmax_t)json_integer_value(json_object_get(disk, "bytes")) >> 20);
	if (sha256)
		snprintf(digest, sizeof(digest), "%.12s", sha256);
	const char *const cells[] = {
		json_text(base, "name", NULL),
		json_text(base, "createdAt", NULL),
		json_text(base, "architecture", NULL),
		mib[0] ? mib : NULL,
		digest[0] ? digest : NULL,
		!template			     ? "no"
		: json_object_get(template, "error") ? "damaged"
						     : "yes",
		json_text(json_object_get(base, "source"), "ref", NULL),
		json_text(base, "error", NULL),
	};

	return cli_table_row(table, cells, err);
}

static int print_bases(const json_t *bases, struct error *err)
{
	static const char *const heads[] = {"NAME",   "CREATED", "ARCH",    "MIB",
					    "SHA256", "WARM",	 "MADE OF", "DETAIL"};
	auto_table struct cli_table table = {0};
	const json_t *base;
	size_t i;

	if (cli_table_init(&table, ARRAY_SIZE(heads), heads, err) < 0)
		return -1;
	json_array_foreach(bases, i, base)
	{
		if (add_base_row(&table, base, err) < 0)
			return -1;
	}
	cli_table_print(&table, stdout);
	if (json_array_size(bases) == 0)
		cli_warn("there is no base: `microagent base create NAME` makes one");
	return CLI_EXIT_OK;
}

static int run_base_list(struct cli *cli, const void *values, const struct cli_words *args,
			 struct error *err)
{
	const struct guest_list list = {microagent_base_list, "bases", print_bases};

	(void)values;
	(void)args;
	return guest_print_list(cli, &list, err);
}

/* --- show, verify, delete -------------------------------------------------------------------- */

static int run_base_show(struct cli *cli, const void *values, const struct cli_words *args,
			 struct error *err)
{
	struct microagent *agent = guest_open(cli, NULL, err);
	json_auto_t *base = NULL;
	autofree char *text = NULL;

	(void)values;
	if (!agent)
		return -1;
	base = microagent_base_show(agent, args->items[0], err);
	microagent_close(agent);
	if (!base)
		return -1;
	if (cli->json)
		return cli_print_json(base, err);
	text = json_pretty(base, err);
	if (text)
		printf("%s\n", text);
	return CLI_EXIT_OK;
}

static int print_checks(const json_t *answer, struct error *err)
{
	static const char *const heads[] = {"STATUS", "FILE", "DETAIL"};
	auto_table struct cli_table table = {0};
	const json_t *check;
	size_t i;

	if (cli_table_init(&table, ARRAY_SIZE(heads), heads, err) < 0)
		return -1;
	json_array_foreach(json_object_get(answer, "checks"), i, check)
	{
		const char *error = json_text(check, "error", NULL);
		const char *status = error				   ? "DIFFERS"
				     : json_object_get(check, "refreshed") ? "refreshed"
									   : "ok";
		const char *const cells[] = {status, json_text(check, "what", "?"),
					     error ? error : json_text(check, "file", NULL)};

		if (cli_table_row(&table, cells, err) < 0)
			return -1;
	}
	cli_table_print(&table, stdout);
	return json_is_true(json_object_get(answer, "ok")) ? CLI_EXIT_OK : CLI_EXIT_FAILED;
}

static int run_base_verify(struct cli *cli, const void *values, const struct cli_words *args,
			   struct error *err)
{
	struct microagent *agent = guest_open(cli, NULL, err);
	json_auto_t *answer = NULL;

	(void)values;
	if (!agent)
		return -1;
	answer = microagent_base_verify(agent, args->items[0], err);
	microagent_close(agent);
	if (!answer)
		return -1;
	if (!cli->json)
		return print_checks(answer, err);
	if (cli_print_json(answer, err) < 0)
		return -1;
	return json_is_true(json_object_get(answer, "ok")) ? CLI_EXIT_OK : CLI_EXIT_FAILED;
}

typedef int base_fn(struct microagent *agent, const char *word, struct error *err);

static int run_on_base(struct cli *cli, const char *name, base_fn *fn, const char *done,
		       struct error *err)
{
	struct microagent *agent = guest_open(cli, NULL, err);
	int status;

	if (!agent)
		return -1;
	status = fn(agent, name, err);
	microagent_close(agent);
	if (status < 0)
		return -1;
	if (cli->json) {
		json_auto_t *answer = json_pack("{s:b,s:s}", "ok", 1, "name", name);

		return cli_print_json(answer, err);
	}
	printf("%s: %s\n", name, done);
	return CLI_EXIT_OK;
}

static int run_base_delete(struct cli *cli, const void *values, const struct cli_words *args,
			   struct error *err)
{
	(void)values;
	return run_on_base(cli, args->items[0], microagent_base_delete, "deleted", err);
}

static int run_base_cool(struct cli *cli, const void *values, const struct cli_words *args,
			 struct error *err)
{
	(void)values;
	return run_on_base(cli, args->items[0], microagent_base_cool, "cool", err);
}

static const struct cli_option create_options[] = {
	{"image", 0, CLI_OPTION_STRING, offsetof(struct base_values, image), "IMAGE",
	 "name in the cache, or path of a raw ext4 file (default: busybox)", 0, 0},
	{"from-oci", 0, CLI_OPTION_STRING, offsetof(struct base_values, oci), "REF",
	 "import it, as `image import` does: a layout, an archive, or a registry's", 0, 0},
	{"from-ipsw", 0, CLI_OPTION_STRING, offsetof(struct base_values, ipsw), "FILE|URL",
	 "macOS, on a Mac: a restore image, or its address at Apple", 0, 0},
	{"put-agent", 0, CLI_OPTION_STRING, offsetof(struct base_values, put_agent), "PROGRAM",
	 "puts the agent on the disk of macOS (default: microagent-put-macos-agent)", 0, 0},
	{"kernel", 0, CLI_OPTION_STRING, offsetof(struct base_values, kernel), "KERNEL",
	 "name in the cache, or path (default: the tuned one, else Debian's)", 0, 0},
	GUEST_ARCH(struct base_values, "amd64 or arm64 (default: this host's)"),
	{"memory", 0, CLI_OPTION_INT, offsetof(struct base_values, memory), "MIB",
	 "memory of its sessions (default: 256; of macOS what it needs)", 1, INT32_MAX},
	{"cpus", 0, CLI_OPTION_INT, offsetof(struct base_values, cpus), "N",
	 "processors of its sessions (default: 1; of macOS what it needs)", 1, INT32_MAX},
	{"provision", 0, CLI_OPTION_STRING, offsetof(struct base_values, script), "SCRIPT",
	 "run it as root in a machine that has the base's disk", 0, 0},
	{"stage", 0, CLI_OPTION_LIST, offsetof(struct base_values, stage), "FILE",
	 "a file that SCRIPT finds in $MICROAGENT_STAGE; may be given again", 0, 0},
	{"size", 0, CLI_OPTION_INT, offsetof(struct base_values, size), "MIB",
	 "size of the disk (default: the image's and 1024, but at most 4096; of macOS 65536)", 1,
	 INT32_MAX},
	{"network", 0, CLI_OPTION_STRING, offsetof(struct base_values, network), "MODE",
	 "while SCRIPT runs: nat (default), isolated or bridged", 0, 0},
	{"network-interface", 0, CLI_OPTION_STRING, offsetof(struct base_values, network_interface),
	 "BRIDGE", "the bridge of bridged", 0, 0},
	{"allow", 0, CLI_OPTION_LIST, offsetof(struct base_values, allow), "PREFIX",
	 "open an IPv4 prefix that nat keeps the machine from", 0, 0},
	{"accelerator", 0, CLI_OPTION_STRING, offsetof(struct base_values, accelerator), "HOW",
	 "auto, kvm or tcg (default: auto)", 0, 0},
	GUEST_BACKEND(struct base_values),
	GUEST_UNCONFINED(struct base_values),
	{"warm", 0, CLI_OPTION_FLAG, offsetof(struct base_values, warm), NULL,
	 "make its template too, as `base warm` does", 0, 0},
	{"run", 0, CLI_OPTION_LIST, offsetof(struct base_values, run), "LINE",
	 "of --warm, as of `base warm`", 0, 0},
	{NULL, 0, CLI_OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

static const struct cli_option warm_options[] = {
	{"run", 0, CLI_OPTION_LIST, offsetof(struct base_values, run), "LINE",
	 "run it by the guest's shell before the machine is saved; may be given again", 0, 0},
	{"accelerator", 0, CLI_OPTION_STRING, offsetof(struct base_values, accelerator), "HOW",
	 "auto, kvm or tcg (default: auto)", 0, 0},
	GUEST_UNCONFINED(struct base_values),
	{NULL, 0, CLI_OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

static const struct cli_command base_create = {
	.name = "create",
	.args = "NAME",
	.summary = "make the next version of a base and seal it",
	.help = "The version is NAME-v1, NAME-v2 and so on; NAME alone means the newest one.\n"
		"With --provision, --stage or --size the image is booted once: its file system "
		"grows,\n"
		"the user `agent` is made, SCRIPT is run, and what `agent` could write beside\n"
		"/workspace, /tmp and his home is taken from him. Lines of SCRIPT's output that "
		"begin\n"
		"with \"### \" name its steps. When it fails there is no base, but a log of it.\n"
		"Without these the base is the image as it is, and nothing is booted.\n"
		"With --from-ipsw the base is macOS: installed from Apple's restore image, which "
		"it "
		"keeps,\n"
		"given its agent by `PROGRAM DISK` on this host, and booted once; SCRIPT is run by "
		"sh -e "
		"then.\n",
	.options = create_options,
	.values_size = sizeof(struct base_values),
	.min_args = 1,
	.max_args = 1,
	.check_name = microagent_base_check_name,
	.run = run_base_create,
};

static const struct cli_command base_warm = {
	.name = "warm",
	.args = "NAME",
	.summary = "save a booted machine of a base, for its sessions to begin from",
	.help = "A machine of the base is booted, each LINE is run in it by its user, and its "
		"memory and\n"
		"devices are saved. `session create --network isolated` with the base's memory "
		"and\n"
		"processors then restores that machine instead of booting one, unless --cold or "
		"anything\n"
		"else is asked for that it does not have. `base show` tells of it, `base cool` "
		"drops it.\n",
	.options = warm_options,
	.values_size = sizeof(struct base_values),
	.min_args = 1,
	.max_args = 1,
	.check_name = microagent_base_check_name,
	.run = run_base_warm,
};

static const struct cli_command base_cool = {
	.name = "cool",
	.args = "NAME",
	.summary = "drop what `base warm` has saved",
	.min_args = 1,
	.max_args = 1,
	.check_name = microagent_base_check_name,
	.run = run_base_cool,
};

static const struct cli_command base_list = {
	.name = "list",
	.summary = "the bases and what they were made of",
	.run = run_base_list,
};

static const struct cli_command base_show = {
	.name = "show",
	.args = "NAME",
	.summary = "what is recorded of a base",
	.min_args = 1,
	.max_args = 1,
	.check_name = microagent_base_check_name,
	.run = run_base_show,
};

static const struct cli_command base_verify = {
	.name = "verify",
	.args = "NAME",
	.summary = "compare a base with its recorded digests",
	.help = "Ends with 1 when a file differs or is missing.\n",
	.min_args = 1,
	.max_args = 1,
	.check_name = microagent_base_check_name,
	.run = run_base_verify,
};

static const struct cli_command base_delete = {
	.name = "delete",
	.args = "NAME-vN",
	.summary = "remove a base of which no session is made",
	.min_args = 1,
	.max_args = 1,
	.check_name = microagent_base_check_name,
	.run = run_base_delete,
};

static const struct cli_command *const base_commands[] = {
	&base_create, &base_list, &base_show,	&base_verify,
	&base_warm,   &base_cool, &base_delete, NULL,
};

const struct cli_command cli_base = {
	.name = "base",
	.args = "COMMAND",
	.summary = "the sealed disks that sessions are cloned from",
	.group = CLI_GROUP_HOST,
	.sub = base_commands,
};
