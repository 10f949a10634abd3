/* SPDX-License-Identifier: MIT */
/* image: manages the images in the cache. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "cli/host/artifact.h"
#include "cli/options/guest.h"

#define SIZE_MIN_MIB 128

struct image_values {
	const char *arch;
	bool rebuild, unconfined;
	int64_t size;
};

/* Returns true if image `i` of the list is the first one for its architecture. Machines of that
 * architecture use this image by default. */
static bool is_default_image(const struct cache_images *list, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (list->items[j].architecture == list->items[i].architecture)
			return false;
	return true;
}

static json_t *describe_image(const struct cache_image *image, bool is_default, struct error *err)
{
	json_auto_t *entry = json_object();

	if (json_put_string(entry, "name", image->name, err) < 0 ||
	    json_put_string(entry, "path", image->path, err) < 0 ||
	    json_put_string(entry, "sha256", image->sha256, err) < 0 ||
	    json_put(entry, "default", json_boolean(is_default), err) < 0 ||
	    json_put_string(entry, "architecture", architecture_name(image->architecture), err) <
		    0 ||
	    json_put(entry, "sizeBytes", json_integer((json_int_t)image->size), err) < 0)
		return NULL;
	if (image->user && json_put_string(entry, "user", image->user, err) < 0)
		return NULL;
	if (image->source && json_put_string(entry, "source", image->source, err) < 0)
		return NULL;
	if (image->notes && json_put(entry, "notes", json_incref(image->notes), err) < 0)
		return NULL;
	return json_incref(entry);
}

static int print_images_json(const struct cache_images *list, struct error *err)
{
	json_auto_t *answer = json_object(), *images = json_array();

	for (size_t i = 0; i < list->count; i++) {
		json_t *entry = describe_image(&list->items[i], is_default_image(list, i), err);
		if (!entry)
			return -1;
		if (json_array_append_new(images, entry) < 0)
			return error_errno(err, ENOMEM, "answer");
	}
	if (json_put(answer, "images", json_incref(images), err) < 0)
		return -1;
	return cli_print_json(answer, err);
}

static int print_images(const struct cache_images *list, struct error *err)
{
	static const char *const heads[] = {"NAME", "ARCH",   "DEFAULT", "MIB",
					    "USER", "SHA256", "FROM",	 "PATH"};
	auto_table struct cli_table table = {0};
	const json_t *note;
	size_t n;

	if (cli_table_init(&table, ARRAY_SIZE(heads), heads, err) < 0)
		return -1;
	for (size_t i = 0; i < list->count; i++) {
		const struct cache_image *image = &list->items[i];
		char sha[13], size[24];

		snprintf(sha, sizeof(sha), "%.12s", image->sha256);
		snprintf(size, sizeof(size), "%" PRIu64, image->size >> 20);
		const char *const cells[] = {image->name,
					     architecture_name(image->architecture),
					     is_default_image(list, i) ? "*" : "",
					     size,
					     image->user,
					     sha,
					     image->source,
					     image->path};
		if (cli_table_row(&table, cells, err) < 0)
			return -1;
	}
	cli_table_print(&table, stdout);
	for (size_t i = 0; i < list->count; i++) {
		const struct cache_image *image = &list->items[i];

		json_array_foreach(image->notes, n, note)
		{
			if (json_is_string(note))
				cli_warn("%s: %s", image->name, json_string_value(note));
		}
	}
	if (list->count == 0)
		cli_warn("there is no image: `microagent image build busybox` makes one");
	return CLI_EXIT_OK;
}

static int run_image_list(struct cli *cli, const void *values, const struct cli_words *args,
			  struct error *err)
{
	struct cache_images list = {0};
	int code;

	(void)values;
	(void)args;
	if (cache_images(&list, err) < 0)
		return -1;
	code = cli->json ? print_images_json(&list, err) : print_images(&list, err);
	cache_images_free(&list);
	return code;
}

static int verify_images(struct cli *cli, const struct cache_image *images, size_t count,
			 struct error *err)
{
	autofree struct artifact_check *checks = calloc(count + 1, sizeof(*checks));

	if (!checks)
		return error_errno(err, ENOMEM, "images");
	for (size_t i = 0; i < count; i++)
		checks[i] = (struct artifact_check){images[i].name, "image", images[i].path,
						    images[i].sha256};
	return artifact_verify(cli, "images", checks, count, err);
}

static int run_image_verify(struct cli *cli, const void *values, const struct cli_words *args,
			    struct error *err)
{
	struct cache_images list = {0};
	struct cache_image one = {0};
	const struct image_values *v = values;
	int code;

	if (guest_check_arch(cli, v->arch, err) < 0)
		return -1;
	if (args->count == 1) {
		if (guest_check_given(cli, "the name of the image", args->items[0], err) < 0 ||
		    cache_image_find(args->items[0], guest_arch_wanted(v->arch), &one, err) < 0)
			return -1;
		code = verify_images(cli, &one, 1, err);
		cache_image_free(&one);
		return code;
	}
	if (cache_images(&list, err) < 0)
		return -1;
	code = verify_images(cli, list.items, list.count, err);
	cache_images_free(&list);
	return code;
}

static size_t add_arch(const struct image_values *v, const char **words, size_t n)
{
	if (v->arch) {
		words[n++] = "--arch";
		words[n++] = v->arch;
	}
	return n;
}

static int run_image_build(struct cli *cli, const void *values, const struct cli_words *args,
			   struct error *err)
{
	const struct image_values *v = values;
	const char *words[7] = {"image-build"};
	size_t n = 1;

	if (guest_check_arch(cli, v->arch, err) < 0)
		return -1;
	if (strcmp(args->items[0], "busybox") != 0 && strcmp(args->items[0], "debian") != 0)
		return cli_usage(cli, err,
				 "there is no recipe for an image \"%s\": choose busybox or debian",
				 args->items[0]);
	n = add_arch(v, words, n);
	if (v->rebuild)
		words[n++] = "--rebuild";
	words[n++] = "--";
	words[n] = args->items[0];
	return artifact_become(cli, words, err);
}

static int run_import(struct cli *cli, const void *values, const struct cli_words *args,
		      struct error *err)
{
	const struct image_values *v = values;
	const char *words[11] = {"image-import"};
	struct error why = {0};
	char size[24];
	size_t n = 1;

	enum architecture machine =
		v->arch ? architecture_from_word(v->arch) : architecture_of_host();

	if (guest_check_arch(cli, v->arch, err) < 0)
		return -1;
	if (cache_image_check_name(args->items[0], machine, &why) < 0)
		return cli_usage_error(cli, &why, err);
	if (v->size && v->size < SIZE_MIN_MIB)
		return cli_usage(
			cli, err,
			"--size is %lld MiB, but must be at least %d MiB: the file system needs a part of the disk for itself",
			(long long)v->size, SIZE_MIN_MIB);
	if (v->size) {
		snprintf(size, sizeof(size), "%" PRId64, v->size);
		words[n++] = "--size";
		words[n++] = size;
	}
	n = add_arch(v, words, n);
	if (v->rebuild)
		words[n++] = "--rebuild";
	if (v->unconfined) {
		guest_warn(
			cli,
			"skopeo runs without a cell and with your rights: an image that takes over skopeo can do all that you can do");
		words[n++] = "--unconfined";
	}
	words[n++] = "--"; /* after "--" no word counts as an option */
	words[n++] = args->items[0];
	words[n] = args->items[1];
	return artifact_become(cli, words, err);
}

static int run_remove(struct cli *cli, const void *values, const struct cli_words *args,
		      struct error *err)
{
	const struct image_values *v = values;
	const char *words[6] = {"image-remove"};
	size_t n = 1;

	if (guest_check_arch(cli, v->arch, err) < 0)
		return -1;
	n = add_arch(v, words, n);
	words[n++] = "--";
	words[n] = args->items[0];
	if (!path_is_safe_basename(args->items[0]))
		return cli_usage(cli, err,
				 "\"%s\" cannot be an image's name: give a name without a slash",
				 args->items[0]);
	return artifact_become(cli, words, err);
}

#define IMAGE_ARCH(text) GUEST_ARCH(struct image_values, text)

static const struct cli_option named_options[] = {
	IMAGE_ARCH("architecture of NAME, if there are both: amd64 or arm64"),
	{0},
};

static const struct cli_option import_options[] = {
	IMAGE_ARCH("architecture of its machines: amd64 or arm64 (default: this host's)"),
	{"size", 0, CLI_OPTION_INT, offsetof(struct image_values, size), "MIB",
	 "size of the disk (default: the contents plus 1024, at most 4096)", 1, INT64_C(16) << 20},
	{"rebuild", 0, CLI_OPTION_FLAG, offsetof(struct image_values, rebuild), NULL,
	 "import it even if it is there already", 0, 0},
	{"unconfined", 0, CLI_OPTION_FLAG, offsetof(struct image_values, unconfined), NULL,
	 "run skopeo without a cell, if the host can make none", 0, 0},
	{0},
};

static const struct cli_option build_options[] = {
	IMAGE_ARCH("architecture of its machines: amd64 or arm64 (default: this host's)"),
	{.name = "rebuild",
	 .kind = CLI_OPTION_FLAG,
	 .offset = offsetof(struct image_values, rebuild),
	 .help = "build it even if it is there already"},
	{0},
};

static const struct cli_command image_list = {
	.name = "list",
	.summary = "the images of the cache, the default first",
	.run = run_image_list,
};

static const struct cli_command image_verify = {
	.name = "verify",
	.args = "[IMAGE]",
	.summary = "compare images with their recorded digests",
	.help = "Ends with 1 if an image differs or is missing.\n",
	.options = named_options,
	.values_size = sizeof(struct image_values),
	.max_args = 1,
	.run = run_image_verify,
};

static const struct cli_command image_build = {
	.name = "build",
	.args = "busybox|debian",
	.summary = "make an image",
	.help = "busybox: one static program with many names. It takes seconds and needs no root. It\n"
		"is the default.\n"
		"debian: Debian with python3, git, gcc and make, made by mmdebstrap. It takes minutes.\n"
		"An ordinary user needs newuidmap (uidmap) and a range in /etc/subuid for it.\n",
	.options = build_options,
	.values_size = sizeof(struct image_values),
	.min_args = 1,
	.max_args = 1,
	.run = run_image_build,
};

static const struct cli_command image_import = {
	.name = "import",
	.args = "NEW REF",
	.summary = "make an image from an image of the OCI or of Docker",
	.help = "REF is an OCI layout (a directory) or an archive (of a layout, or of `docker save`), with\n"
		":TAG behind it if it holds several images; or it is a registry's image, like\n"
		"docker.io/library/debian:12. skopeo fetches it; this needs no root. An image that is\n"
		"there already is not fetched again.\n",
	.options = import_options,
	.values_size = sizeof(struct image_values),
	.min_args = 2,
	.max_args = 2,
	.run = run_import,
};

static const struct cli_command image_remove = {
	.name = "remove",
	.args = "IMAGE",
	.summary = "remove an image from the cache",
	.help = "Workspaces have their own copies and are not affected.\n",
	.options = named_options,
	.values_size = sizeof(struct image_values),
	.min_args = 1,
	.max_args = 1,
	.run = run_remove,
};

static const struct cli_command *const image_commands[] = {
	&image_list, &image_verify, &image_build, &image_import, &image_remove, NULL,
};

const struct cli_command cli_image = {
	.name = "image",
	.args = "COMMAND",
	.summary = "images, which guests have as their root disks",
	.group = CLI_GROUP_HOST,
	.sub = image_commands,
};
