/* SPDX-License-Identifier: MIT */
/*
 * setup: makes the files from which a machine boots, for the user who runs this command. Also
 * checks everything else that a machine needs. The command makes what `doctor` finds missing. The
 * work is done by microagent-artifact, as in `kernel install` and `image build`.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/architecture.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "channel/artifact_run.h"
#include "cli/host/doctor.h"
#include "cli/options/guest.h"
#include "cli/terminal/signals.h"
#include "store/cache.h"

/* The name that the image of the option --image gets in the cache. */
#define OWN_IMAGE "default"
#define STEP_WORDS 6

struct setup_values {
	const char *kernel, *image;
	bool check;
};

enum step_state { STEP_NONE, STEP_DUE, STEP_DONE, STEP_FAILED };
static const char *const step_states[] = {NULL, "due", "done", "failed"};

/* One step of the setup. `name` is the name of a check of `doctor`. It is also the name of the
 * option that selects another source for the file. */
struct step {
	const char *name;
	enum step_state state;
	const char *words[STEP_WORDS]; /* the words for microagent-artifact */
	/* a text that tells what the step does and what it fetches */
	char text[320];
	int64_t fetch_bytes; /* how many bytes the step fetches; -1: not known */
	/* true: the file exists already, and stays unchanged if the step fails */
	bool renews;
	struct error why;
};

static json_t *check_named(const json_t *found, const char *name)
{
	json_t *check;
	size_t i;

	json_array_foreach(json_object_get(found, "checks"), i, check)
	{
		if (strcmp(json_text(check, "name", ""), name) == 0)
			return check;
	}
	return NULL;
}

static bool check_has_failed(const json_t *found, const char *name)
{
	return strcmp(json_text(check_named(found, name), "status", ""), "failed") == 0;
}

/* --- the plan: which steps are needed --------------------------------------------------------- */

/* Plans the step that installs Debian's kernel. apt tells which kernel this is, and how many bytes
 * must be fetched. If apt cannot answer, the step has failed. */
static void plan_debian_kernel(struct step *step)
{
	static const char *const ask[] = {"kernel-install", "--plan", NULL};
	const struct artifact_wait wait = {0};
	json_auto_t *plan = NULL;

	*step = (struct step){.name = "kernel", .state = STEP_DUE, .words = {"kernel-install"}};
	if (artifact_run(ask, &wait, &plan, &step->why) < 0) {
		step->state = STEP_FAILED;
		return;
	}
	step->fetch_bytes = json_integer_value(json_object_get(plan, "bytes"));
	snprintf(step->text, sizeof(step->text),
		 "%.120s %.80s, of which apt fetches %" PRId64 " MiB",
		 json_text(plan, "package", ""), json_text(plan, "version", ""),
		 step->fetch_bytes >> 20);
}

static void plan_kernel(const struct setup_values *v, const json_t *found, struct step *step)
{
	const char *agent = json_text(check_named(found, "guest agent"), "reason", "");

	*step = (struct step){.name = "kernel"};
	if (v->kernel) {
		*step = (struct step){.name = "kernel",
				      .state = STEP_DUE,
				      .words = {"kernel-install", "--from", v->kernel}};
		snprintf(step->text, sizeof(step->text), "%.200s; nothing is fetched", v->kernel);
	} else if (check_has_failed(found, "kernel")) {
		plan_debian_kernel(step);
	} else if (error_reason_from_name(agent) == REASON_INITRD_OTHER) {
		*step = (struct step){.name = "kernel",
				      .state = STEP_DUE,
				      .words = {"kernel-refresh"},
				      .renews = true};
		snprintf(step->text, sizeof(step->text),
			 "the present guest agent into every initrd; nothing is fetched");
	}
}

static bool is_busybox_default(void)
{
	struct cache_image image = {0};
	bool busybox;

	if (cache_image_find(NULL, architecture_of_host(), &image, NULL) < 0)
		return false;
	busybox = strcmp(image.name, CACHE_DEFAULT_IMAGE) == 0;
	cache_image_free(&image);
	return busybox;
}

/* Plans the step that makes the image. The step is due even if a busybox image exists. It builds
 * that image again only if the recipe has changed. The check of the recipe takes almost no time. */
static void plan_image(const struct setup_values *v, const json_t *found, struct step *step)
{
	bool missing = check_has_failed(found, "image");

	*step = (struct step){.name = "image"};
	if (v->image) {
		*step = (struct step){.name = "image",
				      .state = STEP_DUE,
				      .fetch_bytes = -1,
				      .words = {"image-import", "--", OWN_IMAGE, v->image}};
		snprintf(step->text, sizeof(step->text), "%.200s, as \"" OWN_IMAGE "\"", v->image);
	} else if (missing || is_busybox_default()) {
		*step = (struct step){.name = "image",
				      .state = STEP_DUE,
				      .words = {"image-build", "--", "busybox"},
				      .renews = !missing};
		snprintf(step->text, sizeof(step->text),
			 "busybox, of this host's program; nothing is fetched");
	}
}

/* Prints the steps that are due. Does not print a step that renews an existing file: only the step
 * itself finds out if the file must be made again. */
static void say_plan(const struct step *steps, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (steps[i].state == STEP_DUE && !steps[i].renews) {
			printf("%s: ", steps[i].name);
			cli_print_safe(stdout, steps[i].text);
			putchar('\n');
		}
	fflush(stdout);
}

/* --- the execution of the steps --------------------------------------------------------------- */

static void tick_setup(void *progress)
{
	progress_tick(progress);
}

/* Does one step. Returns -1 if a signal has ended the step. The caller then ends the whole
 * setup. */
static int do_step(struct step *step, const struct signals *signals, struct error *err)
{
	autoprogress struct progress progress = PROGRESS_INIT;
	const struct artifact_wait wait = {signals->fd, tick_setup, &progress};
	char what[64];

	snprintf(what, sizeof(what), "making the %s", step->name);
	progress_start(&progress, what);
	step->state =
		artifact_run(step->words, &wait, NULL, &step->why) < 0 ? STEP_FAILED : STEP_DONE;
	if (step->state == STEP_FAILED && signals_have_come(signals)) {
		error_copy(err, &step->why);
		return -1;
	}
	return 0;
}

static int do_steps(struct step *steps, size_t count, const struct signals *signals,
		    struct error *err)
{
	for (size_t i = 0; i < count; i++)
		if (steps[i].state == STEP_DUE && do_step(&steps[i], signals, err) < 0)
			return -1;
	return 0;
}

/* --- the output of the command ---------------------------------------------------------------- */

static bool has_place(void)
{
	autoclose int cache = cache_open(true, NULL);

	return cache >= 0;
}

/* Adds to the check the reason why the step has failed, and what the user can do next. */
static int put_failure(json_t *found, const struct step *step, struct error *err)
{
	json_t *check = check_named(found, step->name);
	char remedy[128];

	if (step->why.code == ERR_DENIED && !has_place())
		snprintf(
			remedy, sizeof(remedy),
			"MICROAGENT_CACHE_DIR=DIR microagent setup, with a DIR that is yours, and export the variable");
	else
		snprintf(remedy, sizeof(remedy), "microagent setup, again or with --%s %s",
			 step->name,
			 cli_option_find(&cli_setup, step->name, strlen(step->name))->value);
	json_object_del(check, "reason");
	if (json_put_string(check, "status", "failed", err) < 0 ||
	    json_put(check, "detail", json_string_lossy(step->why.msg, strlen(step->why.msg)),
		     err) < 0 ||
	    json_put_string(check, "remedy", remedy, err) < 0 ||
	    json_put_string(found, "verdict", "failed", err) < 0)
		return -1;
	return json_put(found, "ok", json_false(), err);
}

static int add_step(json_t *list, const struct step *step, struct error *err)
{
	json_t *entry = json_object();

	if (json_array_append_new(list, entry) < 0)
		return error_errno(err, ENOMEM, "steps");
	if (json_put_string(entry, "name", step->name, err) < 0 ||
	    json_put_string(entry, "state", step_states[step->state], err) < 0 ||
	    json_put_string(entry, "text", step->text, err) < 0)
		return -1;
	return step->fetch_bytes < 0
		       ? 0
		       : json_put(entry, "fetchBytes", json_integer(step->fetch_bytes), err);
}

static int tell_steps(const struct cli *cli, json_t *found, const struct step *steps, size_t count,
		      struct error *err)
{
	json_t *list = json_array();

	if (json_put(found, "steps", list, err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		bool failed = steps[i].state == STEP_FAILED;

		if (failed && steps[i].renews)
			cli_warn_error(cli, "the one that is there stays: ", &steps[i].why);
		else if (failed && put_failure(found, &steps[i], err) < 0)
			return -1;
		if (steps[i].state != STEP_NONE && add_step(list, &steps[i], err) < 0)
			return -1;
	}
	return doctor_print(cli, found, false, err);
}

/* --- the command ------------------------------------------------------------------------------ */

static json_t *look(const struct cli *cli, struct error *err)
{
	return guest_ask(cli, "looking at this host", microagent_doctor, err);
}

static int set_up(struct cli *cli, const struct setup_values *v, const struct signals *signals,
		  struct error *err)
{
	struct step steps[2];
	json_auto_t *before = look(cli, err), *after = NULL;
	char itself[CLI_ITSELF];
	bool ok;

	if (!before)
		return -1;
	plan_kernel(v, before, &steps[0]);
	plan_image(v, before, &steps[1]);
	if (!cli->json)
		say_plan(steps, ARRAY_SIZE(steps));
	if (v->check)
		after = json_incref(before);
	else if (do_steps(steps, ARRAY_SIZE(steps), signals, err) < 0)
		return -1;
	if (!after && !(after = look(cli, err)))
		return -1;
	if (tell_steps(cli, after, steps, ARRAY_SIZE(steps), err) < 0)
		return -1;
	ok = json_is_true(json_object_get(after, "ok"));
	if (ok && !cli->json)
		printf("`%s run -- true` tries it\n", cli_itself(cli, itself));
	return ok ? CLI_EXIT_OK : CLI_EXIT_FAILED;
}

static int run_setup(struct cli *cli, const void *values, const struct cli_words *args,
		     struct error *err)
{
	const struct setup_values *v = values;
	struct signals signals = SIGNALS_NONE;

	(void)args;
	if (guest_check_given(cli, "--kernel", v->kernel, err) < 0 ||
	    guest_check_given(cli, "--image", v->image, err) < 0 ||
	    signals_open_ending(&signals, err) < 0)
		return -1;
	return signals_end_command(cli, &signals, set_up(cli, v, &signals, err), err);
}

static const struct cli_option setup_options[] = {
	{"kernel", 0, CLI_OPTION_STRING, offsetof(struct setup_values, kernel), "FILE",
	 "a kernel file, or a linux-image package, instead of Debian's by apt", 0, 0},
	{"image", 0, CLI_OPTION_STRING, offsetof(struct setup_values, image), "REF",
	 "image to import instead of busybox, as `image import` takes it", 0, 0},
	{"check", 0, CLI_OPTION_FLAG, offsetof(struct setup_values, check), NULL,
	 "say what is missing and what would be done; change nothing", 0, 0},
	{NULL, 0, CLI_OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

const struct cli_command cli_setup = {
	.name = "setup",
	.summary = "what machines boot from, and a look at all else that they need",
	.help = "As an ordinary user, into the user's own cache: Debian's kernel, fetched by apt and\n"
		"not installed on this host, and the busybox image. What is there is kept, so that\n"
		"it may be run again. Then the checks of `microagent doctor`, each with what fixes\n"
		"it; exit code 1 where no machine runs yet.\n",
	.group = CLI_GROUP_HOST,
	.options = setup_options,
	.values_size = sizeof(struct setup_values),
	.run = run_setup,
};
