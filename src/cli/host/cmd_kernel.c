/* SPDX-License-Identifier: MIT */
/* kernel: manages the kernels in the cache. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "cli/host/artifact.h"
#include "cli/options/guest.h"

struct kernel_values {
	const char *from, *name, *arch;
	bool upgrade, rebuild, for_pvm, unconfined;
};

/* Returns true if kernel `i` of the list is the first one for its architecture. Machines of that
 * architecture use this kernel by default. */
static bool is_default_kernel(const struct cache_kernels *list, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (list->items[j].architecture == list->items[i].architecture)
			return false;
	return true;
}

static json_t *describe_kernel(const struct cache_kernel *kernel, bool is_default,
			       struct error *err)
{
	json_auto_t *entry = json_object();

	if (json_put_string(entry, "name", kernel->name, err) < 0 ||
	    json_put_string(entry, "path", kernel->path, err) < 0 ||
	    json_put(entry, "initrd", kernel->initrd ? json_string(kernel->initrd) : json_null(),
		     err) < 0 ||
	    json_put_string(entry, "sha256", kernel->sha256, err) < 0 ||
	    json_put(entry, "default", json_boolean(is_default), err) < 0 ||
	    json_put_string(entry, "architecture", architecture_name(kernel->architecture), err) <
		    0 ||
	    json_put_string(entry, "kind", kernel_kind_name(kernel->kind), err) < 0 ||
	    json_put(entry, "forPvm", json_boolean(kernel->for_pvm), err) < 0)
		return NULL;
	if (kernel->version && *kernel->version &&
	    json_put_string(entry, "version", kernel->version, err) < 0)
		return NULL;
	return json_incref(entry);
}

static int print_kernels_json(const struct cache_kernels *list, struct error *err)
{
	json_auto_t *answer = json_object(), *kernels = json_array();

	for (size_t i = 0; i < list->count; i++) {
		json_t *entry = describe_kernel(&list->items[i], is_default_kernel(list, i), err);
		if (!entry)
			return -1;
		if (json_array_append_new(kernels, entry) < 0)
			return error_errno(err, ENOMEM, "answer");
	}
	if (json_put(answer, "kernels", json_incref(kernels), err) < 0)
		return -1;
	return cli_print_json(answer, err);
}

static int print_kernels(const struct cache_kernels *list, struct error *err)
{
	static const char *const heads[] = {"NAME", "ARCH", "DEFAULT", "INITRD", "SHA256", "PATH"};
	auto_table struct cli_table table = {0};

	if (cli_table_init(&table, ARRAY_SIZE(heads), heads, err) < 0)
		return -1;
	for (size_t i = 0; i < list->count; i++) {
		const struct cache_kernel *kernel = &list->items[i];
		char sha[13];

		snprintf(sha, sizeof(sha), "%.12s", kernel->sha256);
		const char *const cells[] = {kernel->name,
					     architecture_name(kernel->architecture),
					     is_default_kernel(list, i) ? "*" : "",
					     kernel->initrd ? "yes" : "missing",
					     sha,
					     kernel->path};
		if (cli_table_row(&table, cells, err) < 0)
			return -1;
	}
	cli_table_print(&table, stdout);
	if (list->count == 0)
		cli_warn("there is no kernel: `microagent kernel install` fetches one");
	return CLI_EXIT_OK;
}

static int run_kernel_list(struct cli *cli, const void *values, const struct cli_words *args,
			   struct error *err)
{
	struct cache_kernels list = {0};
	int code;

	(void)values;
	(void)args;
	if (cache_kernels(&list, err) < 0)
		return -1;
	code = cli->json ? print_kernels_json(&list, err) : print_kernels(&list, err);
	cache_kernels_free(&list);
	return code;
}

/* The largest number of files of one kernel: the kernel, its initrd, and the unpacked kernel if the
 * record has one. */
#define KERNEL_FILES 3

static size_t list_checks(const struct cache_kernel *kernel, struct artifact_check *out,
			  char *paths[KERNEL_FILES])
{
	const struct {
		const char *what, *end, *sha256;
	} files[KERNEL_FILES] = {{"kernel", "", kernel->sha256},
				 {"initrd", ".initrd", kernel->initrd_sha256},
				 {"vmlinux", ".vmlinux", kernel->vmlinux_sha256}};
	size_t n = *kernel->vmlinux_sha256 ? KERNEL_FILES : KERNEL_FILES - 1;

	for (size_t i = 0; i < n; i++) {
		if (asprintf(&paths[i], "%s%s", kernel->path, files[i].end) < 0)
			paths[i] = NULL;
		out[i] = (struct artifact_check){kernel->name, files[i].what,
						 paths[i] ? paths[i] : "", files[i].sha256};
	}
	return n;
}

static int verify_kernels(struct cli *cli, const struct cache_kernel *kernels, size_t count,
			  struct error *err)
{
	autofree struct artifact_check *checks = calloc(KERNEL_FILES * count + 1, sizeof(*checks));
	autofree char **paths = calloc(KERNEL_FILES * count + 1, sizeof(*paths));
	size_t n = 0;
	int code;

	if (!checks || !paths)
		return error_errno(err, ENOMEM, "kernels");
	for (size_t i = 0; i < count; i++)
		n += list_checks(&kernels[i], &checks[n], &paths[KERNEL_FILES * i]);
	code = artifact_verify(cli, "kernels", checks, n, err);
	for (size_t i = 0; i < KERNEL_FILES * count; i++)
		free(paths[i]);
	return code;
}

static int run_kernel_verify(struct cli *cli, const void *values, const struct cli_words *args,
			     struct error *err)
{
	struct cache_kernels list = {0};
	struct cache_kernel one = {0};
	const struct kernel_values *v = values;
	int code;

	if (guest_check_arch(cli, v->arch, err) < 0)
		return -1;
	if (args->count == 1) {
		if (guest_check_given(cli, "the name of the kernel", args->items[0], err) < 0 ||
		    cache_kernel_find(args->items[0], guest_arch_wanted(v->arch), &one, err) < 0)
			return -1;
		code = verify_kernels(cli, &one, 1, err);
		cache_kernel_free(&one);
		return code;
	}
	if (cache_kernels(&list, err) < 0)
		return -1;
	code = verify_kernels(cli, list.items, list.count, err);
	cache_kernels_free(&list);
	return code;
}

/* Replaces this process by microagent-artifact, with the command and the options that the user
 * gave. */
static int become_kernel_command(struct cli *cli, const char *command,
				 const struct kernel_values *v, struct error *err)
{
	const char *words[ARTIFACT_WORDS + 1] = {command};
	size_t n = 1;

	if (v->from) {
		words[n++] = "--from";
		words[n++] = v->from;
	}
	if (v->arch) {
		words[n++] = "--arch";
		words[n++] = v->arch;
	}
	if (v->name) {
		words[n++] = "--name";
		words[n++] = v->name;
	}
	if (v->upgrade)
		words[n++] = "--upgrade";
	if (v->rebuild)
		words[n++] = "--rebuild";
	if (v->for_pvm)
		words[n++] = "--for-pvm";
	if (v->unconfined) {
		guest_warn(
			cli,
			"the programs that read the package run without a cell and with your rights: a package that takes them over can do all that you can do");
		words[n++] = "--unconfined";
	}
	words[n] = NULL;
	return artifact_become(cli, words, err);
}

static int run_install(struct cli *cli, const void *values, const struct cli_words *args,
		       struct error *err)
{
	const struct kernel_values *v = values;

	struct error why = {0};

	(void)args;
	if (v->name && !v->from)
		return cli_usage(
			cli, err,
			"--name needs --from: it is the name of a kernel file that --from installs");
	if (v->for_pvm && !v->from)
		return cli_usage(
			cli, err,
			"--for-pvm needs --from: it is about the kernel that --from installs");
	if (guest_check_arch(cli, v->arch, err) < 0)
		return -1;
	if (v->name && cache_kernel_check_name(v->name, guest_arch_wanted(v->arch), &why) < 0)
		return cli_usage_error(cli, &why, err);
	return become_kernel_command(cli, "kernel-install", v, err);
}

static int run_kernel_build(struct cli *cli, const void *values, const struct cli_words *args,
			    struct error *err)
{
	const struct kernel_values *v = values;

	(void)args;
	if (guest_check_arch(cli, v->arch, err) < 0)
		return -1;
	return become_kernel_command(cli, "kernel-build", v, err);
}

static int run_refresh(struct cli *cli, const void *values, const struct cli_words *args,
		       struct error *err)
{
	const char *const words[] = {"kernel-refresh", NULL};

	(void)values;
	(void)args;
	return artifact_become(cli, words, err);
}

#define OPTION(field) offsetof(struct kernel_values, field)

#define KERNEL_UNCONFINED                                                                           \
	{                                                                                           \
		.name = "unconfined", .kind = CLI_OPTION_FLAG, .offset = OPTION(unconfined),        \
		.help = "run the programs that read FILE without a cell, if the host can make none" \
	}

static const struct cli_option verify_options[] = {
	GUEST_ARCH(struct kernel_values, "architecture of NAME, if there are both: amd64 or arm64"),
	{0},
};

static const struct cli_option install_options[] = {
	GUEST_ARCH(
		struct kernel_values,
		"architecture of its machines: amd64 or arm64 (default: FILE's, or this host's)"),
	{.name = "from",
	 .kind = CLI_OPTION_STRING,
	 .offset = OPTION(from),
	 .value = "FILE",
	 .help = "a kernel file, or a linux-image package, instead of fetching one"},
	{.name = "name",
	 .kind = CLI_OPTION_STRING,
	 .offset = OPTION(name),
	 .value = "NEW",
	 .help = "name in the cache, for a kernel file"},
	{.name = "for-pvm",
	 .kind = CLI_OPTION_FLAG,
	 .offset = OPTION(for_pvm),
	 .help = "FILE is built for a paravirtual KVM (kvm_pvm), if microagent does not see that itself"},
	{.name = "upgrade",
	 .kind = CLI_OPTION_FLAG,
	 .offset = OPTION(upgrade),
	 .help = "look for a newer one even if one is there"},
	{.name = "rebuild",
	 .kind = CLI_OPTION_FLAG,
	 .offset = OPTION(rebuild),
	 .help = "install it even if it is there already"},
	KERNEL_UNCONFINED,
	{0},
};

static const struct cli_option build_options[] = {
	GUEST_ARCH(struct kernel_values,
		   "architecture of its machines: amd64 or arm64 (default: this host's)"),
	{.name = "from",
	 .kind = CLI_OPTION_STRING,
	 .offset = OPTION(from),
	 .value = "FILE",
	 .help = "a linux-source package instead of fetching one"},
	{.name = "upgrade",
	 .kind = CLI_OPTION_FLAG,
	 .offset = OPTION(upgrade),
	 .help = "look for a newer version even if one is built"},
	{.name = "rebuild",
	 .kind = CLI_OPTION_FLAG,
	 .offset = OPTION(rebuild),
	 .help = "build it even if it is there already"},
	KERNEL_UNCONFINED,
	{0},
};

static const struct cli_command kernel_list = {
	.name = "list",
	.summary = "the kernels of the cache, the default first",
	.run = run_kernel_list,
};

static const struct cli_command kernel_verify = {
	.name = "verify",
	.args = "[KERNEL]",
	.summary = "compare kernels and initrds with their recorded digests",
	.help = "Ends with 1 if a kernel or an initrd differs or is missing.\n",
	.options = verify_options,
	.values_size = sizeof(struct kernel_values),
	.max_args = 1,
	.run = run_kernel_verify,
};

static const struct cli_command kernel_install = {
	.name = "install",
	.summary = "install Debian's cloud kernel, or one of yours",
	.help = "apt fetches Debian's kernel. It is unpacked, and not installed on this host. If one is\n"
		"in the cache nothing is fetched. A kernel file must have the drivers that it needs\n"
		"built in: virtio (mmio or PCI), block, console, vsock and ext4.\n",
	.options = install_options,
	.values_size = sizeof(struct kernel_values),
	.run = run_install,
};

static const struct cli_command kernel_build = {
	.name = "build",
	.summary = "build the tuned kernel, which boots in a third of the time",
	.help = "apt fetches Debian's kernel source. The build takes about ten minutes on two\n"
		"processors, and 4 GiB of space until it ends. The kernel becomes the default. A build\n"
		"that was interrupted goes on where it stopped.\n",
	.options = build_options,
	.values_size = sizeof(struct kernel_values),
	.run = run_kernel_build,
};

static const struct cli_command kernel_refresh = {
	.name = "refresh",
	.summary = "put the present microagent-init into every initrd",
	.help = "`kernel install` and `kernel build` do this too.\n",
	.run = run_refresh,
};

static const struct cli_command *const kernel_commands[] = {
	&kernel_list, &kernel_verify, &kernel_install, &kernel_build, &kernel_refresh, NULL,
};

const struct cli_command cli_kernel = {
	.name = "kernel",
	.args = "COMMAND",
	.summary = "kernels, from which guests boot",
	.group = CLI_GROUP_HOST,
	.sub = kernel_commands,
};
