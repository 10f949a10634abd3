/* SPDX-License-Identifier: MIT */
/* guest-bundle: packs the files that another host needs to run Linux guests, and installs such a
 * bundle. */
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "cli/options/guest.h"
#include "cli/terminal/signals.h"
#include "store/guest_bundle.h"

struct guest_bundle_values {
	const char *arch, *sha256;
	struct cli_words kernels, images;
};

static int print_bundle(struct cli *cli, json_t *answer, const char *done, struct error *err)
{
	static const char *const heads[] = {"PART", "NAME", "ARCH", "SHA256"};
	auto_table struct cli_table table = {0};
	json_t *entry;
	size_t i;

	if (cli->json)
		return cli_print_json(answer, err);
	if (cli_table_init(&table, ARRAY_SIZE(heads), heads, err) < 0)
		return -1;
	json_array_foreach(json_object_get(answer, "entries"), i, entry)
	{
		char sha[13];

		snprintf(sha, sizeof(sha), "%.12s", json_text(entry, "sha256", ""));
		const char *const cells[] = {json_text(entry, "part", ""),
					     json_text(entry, "name", ""),
					     json_text(entry, "architecture", ""), sha};
		if (cli_table_row(&table, cells, err) < 0)
			return -1;
	}
	cli_table_print(&table, stdout);
	/* Prints the entries that have replaced older entries with the same names. */
	json_array_foreach(json_object_get(answer, "entries"), i, entry)
	{
		const char *was = json_text(entry, "replacedSha256", "");
		bool image = strcmp(json_text(entry, "part", ""), "images") == 0;

		if (*was)
			printf("%s replaces another %s of that name, %.12s\n",
			       json_text(entry, "name", ""), image ? "image" : "kernel", was);
	}
	cli_print_safe(stdout, json_text(answer, "path", ""));
	printf(" %s; the manifest's digest is %s\n", done, json_text(answer, "sha256", ""));
	return CLI_EXIT_OK;
}

static int check_names(struct cli *cli, const char *option, const struct cli_words *names,
		       struct error *err)
{
	for (size_t i = 0; i < names->count; i++)
		if (guest_check_given(cli, option, names->items[i], err) < 0)
			return -1;
	return 0;
}

/* --- progress and signals while a bundle is processed ----------------------------------------- */

struct watching {
	struct progress progress;
	struct signals signals;
	struct guest_bundle_watch watch;
};

static void on_file(void *data, const char *file)
{
	struct watching *watching = data;

	progress_detail(&watching->progress, "%s", file);
}

/* Begins to watch for signals. A signal then ends the program only after the unfinished files are
 * removed. */
static int begin_watching(struct watching *out, const char *doing, struct error *err)
{
	if (signals_open_ending(&out->signals, err) < 0)
		return -1;
	progress_start(&out->progress, doing);
	out->watch = (struct guest_bundle_watch){out->signals.fd, on_file, out};
	return 0;
}

/* Stops watching for signals. Returns the exit code of the program, or -1 with an error. */
static int end_watching(struct cli *cli, struct watching *watching, int result, struct error *err)
{
	int code = result;

	progress_end(&watching->progress);
	if (result < 0)
		error_prefix(err, "guest bundle");
	if (result < 0 && signals_next(&watching->signals) > 0) {
		cli_warn_error(cli, "", err);
		code = 128 + signals_that_came(&watching->signals);
	}
	signals_close(&watching->signals);
	return code;
}

static int run_bundle_make(struct cli *cli, const void *values, const struct cli_words *args,
			   struct error *err)
{
	const struct guest_bundle_values *v = values;
	struct watching watching;
	json_auto_t *answer = NULL;
	int code;

	if (guest_check_arch(cli, v->arch, err) < 0 ||
	    check_names(cli, "--kernel", &v->kernels, err) < 0 ||
	    check_names(cli, "--image", &v->images, err) < 0)
		return -1;
	const struct guest_bundle_spec spec = {.kernels = v->kernels.items,
					       .kernel_count = v->kernels.count,
					       .images = v->images.items,
					       .image_count = v->images.count,
					       .architecture = guest_arch_wanted(v->arch)};
	if (begin_watching(&watching, "making the bundle", err) < 0)
		return -1;
	code = guest_bundle_make(args->items[0], &spec, &watching.watch, &answer, err);
	code = end_watching(cli, &watching, code, err);
	return code == 0 ? print_bundle(cli, answer, "is made", err) : code;
}

static int run_bundle_import(struct cli *cli, const void *values, const struct cli_words *args,
			     struct error *err)
{
	const struct guest_bundle_values *v = values;
	json_auto_t *answer = NULL;
	enum architecture wanted = guest_arch_wanted(v->arch);
	struct watching watching;
	int code;

	if (guest_check_arch(cli, v->arch, err) < 0)
		return -1;
	if (v->sha256 && (strlen(v->sha256) != 64 || strspn(v->sha256, "0123456789abcdef") != 64))
		return cli_usage(
			cli, err,
			"--sha256 \"%s\" is not a digest: a digest has 64 digits of 0-9 and a-f",
			v->sha256);
	if (wanted == ARCHITECTURE_COUNT)
		wanted = architecture_of_host();
	if (begin_watching(&watching, "looking at the bundle", err) < 0)
		return -1;
	code = guest_bundle_import(args->items[0], wanted, v->sha256, &watching.watch, &answer,
				   err);
	code = end_watching(cli, &watching, code, err);
	return code == 0 ? print_bundle(cli, answer, "is in the cache", err) : code;
}

#define BUNDLE(field) offsetof(struct guest_bundle_values, field)

static const struct cli_option make_options[] = {
	GUEST_ARCH(struct guest_bundle_values,
		   "architecture of the machines: amd64 or arm64 (default: all in the cache)"),
	{.name = "kernel",
	 .kind = CLI_OPTION_LIST,
	 .offset = BUNDLE(kernels),
	 .value = "KERNEL",
	 .help = "a kernel of the cache (default: each architecture's default); repeatable"},
	{.name = "image",
	 .kind = CLI_OPTION_LIST,
	 .offset = BUNDLE(images),
	 .value = "IMAGE",
	 .help = "an image of the cache (default: busybox); repeatable"},
	{0},
};

static const struct cli_option import_options[] = {
	GUEST_ARCH(struct guest_bundle_values,
		   "architecture to take: amd64 or arm64 (default: this host's)"),
	{.name = "sha256",
	 .kind = CLI_OPTION_STRING,
	 .offset = BUNDLE(sha256),
	 .value = "DIGEST",
	 .help = "refuse the bundle unless its manifest has this digest"},
	{0},
};

static const struct cli_command bundle_make = {
	.name = "make",
	.args = "DIR",
	.summary = "put kernels and images of the cache into a directory",
	.options = make_options,
	.values_size = sizeof(struct guest_bundle_values),
	.min_args = 1,
	.max_args = 1,
	.run = run_bundle_make,
};

static const struct cli_command bundle_import = {
	.name = "import",
	.args = "DIR",
	.summary = "take the kernels and images of such a directory into the cache",
	.help = "Each file is copied, and the copy is compared with the manifest. If one differs,\n"
		"nothing is taken. It needs no other program.\n",
	.options = import_options,
	.values_size = sizeof(struct guest_bundle_values),
	.min_args = 1,
	.max_args = 1,
	.run = run_bundle_import,
};

static const struct cli_command *const bundle_commands[] = {&bundle_make, &bundle_import, NULL};

const struct cli_command cli_guest_bundle = {
	.name = "guest-bundle",
	.args = "COMMAND",
	.summary = "kernels and images for a host that cannot build them, like a Mac",
	.group = CLI_GROUP_HOST,
	.sub = bundle_commands,
};
