/* SPDX-License-Identifier: MIT */
/*
 * Makes an image of Debian with a compiler and an interpreter, with the program mmdebstrap.
 * mmdebstrap runs as root, or as an ordinary user in a user namespace with that user's ids from
 * /etc/subuid. The packages come from the Debian archives for which the host's apt is configured.
 * Documentation is left out.
 */
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "artifact/digest.h"
#include "artifact/image.h"
#include "artifact/layer.h"
#include "artifact/progress.h"
#include "artifact/recipes.h"
#include "artifact/tool.h"
#include "base/cleanup.h"
#include "base/platform/linux/subids.h"

#define SUITE "bookworm"
#define TAR_FILE "root.tar"
#define BUILD_BYTES (3ull << 30)
#define SOURCES_BYTES (1u << 20)
#define MAX_SOURCES 16

static const struct image_spec debian_spec = {
	.name = "debian",
	.kind = "debian",
	.user = AGENT_NAME,
	.ext4 = {.label = "debian",
		 .uuid = "6d696372-6f61-4765-8e74-2d6465626961",
		 .size = 4ull << 30,
		 .journal_mib = 64,
		 .time = 1577836800},
};

/* Shell commands that mmdebstrap runs at the end, with the directory of the unpacked system as $1.
 * The commands add the user and the directory /workspace, and replace the names that mmdebstrap has
 * copied from this host's network settings. */
static const char *const hooks[] = {
	"chroot \"$1\" useradd --create-home --user-group --uid 1000 --shell /bin/bash agent",
	"mkdir \"$1/workspace\" && chroot \"$1\" chown agent:agent /workspace",
	"echo microagent >\"$1/etc/hostname\"",
	"printf '127.0.0.1\\tlocalhost\\n::1\\tlocalhost\\n' >\"$1/etc/hosts\"",
	"rm -f \"$1/etc/resolv.conf\" && : >\"$1/etc/resolv.conf\"",
};

static const char *const excluded[] = {
	"path-exclude=/usr/share/man/*",    "path-exclude=/usr/share/info/*",
	"path-exclude=/usr/share/doc/*",    "path-include=/usr/share/doc/*/copyright",
	"path-exclude=/usr/share/locale/*", "path-exclude=/usr/share/lintian/*",
};

static const char *const own_namespaces[] = {"unshare", "--mount",	"--pid",
					     "--fork",	"--kill-child", "--mount-proc"};

struct arguments {
	const char *argv[64];
	size_t count;
	struct buf texts[2 + ARRAY_SIZE(hooks) + ARRAY_SIZE(excluded) + MAX_SOURCES];
	size_t texts_used;
};

static void free_arguments(struct arguments *a)
{
	for (size_t i = 0; i < a->texts_used; i++)
		buf_free(&a->texts[i]);
}
#define auto_arguments __attribute__((cleanup(free_arguments)))

static int add_argument(struct arguments *a, struct error *err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static int add_argument(struct arguments *a, struct error *err, const char *fmt, ...)
{
	autofree char *text = NULL;
	va_list args;
	int n;

	va_start(args, fmt);
	n = vasprintf(&text, fmt, args);
	va_end(args);
	if (n < 0)
		text = NULL;
	if (n < 0 || a->count + 2 > ARRAY_SIZE(a->argv) || a->texts_used == ARRAY_SIZE(a->texts)) {
		return error_set(
			err, ERR_INTERNAL,
			"mmdebstrap was to get more arguments than there is room for: this is a bug of microagent");
	}
	if (buf_append(&a->texts[a->texts_used], text, (size_t)n, err) < 0)
		return -1;
	a->argv[a->count++] = buf_string(&a->texts[a->texts_used++]);
	return 0;
}

/* Adds the archives of SUITE for which the host's apt is configured. If apt has none, because the
 * host runs another release or has no lists yet, mmdebstrap uses its default archive. */
static int add_mirrors(struct arguments *a, struct error *err)
{
	const char *const argv[] = {"apt-get",
				    "indextargets",
				    "--format",
				    "$(ORIGIN)|$(CODENAME)|$(REPO_URI)|$(RELEASE)|$(COMPONENT)",
				    "Created-By: Packages",
				    NULL};
	static const char *const env[] = {"LC_ALL=C", NULL};
	static const char ours[] = "Debian|" SUITE; /* the beginning of a line of apt that describes
						     * an archive of Debian */
	autobuf struct buf list = BUF_INIT(SOURCES_BYTES);
	const struct tool tool = {.argv = argv, .env = env, .out = &list};
	autofree char *text = NULL;
	char *rest = NULL;

	if (tool_run(&tool, err) < 0)
		return -1;
	text = buf_steal_string(&list, err);
	if (!text)
		return -1;
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		const char *codename, *uri, *release, *component;
		char *fields = NULL;

		if (strncmp(line, ours, strlen(ours)) != 0)
			continue;
		strtok_r(line, "|", &fields);
		codename = strtok_r(NULL, "|", &fields);
		uri = strtok_r(NULL, "|", &fields);
		release = strtok_r(NULL, "|", &fields);
		component = strtok_r(NULL, "|", &fields);
		if (!codename || !component)
			continue;
		if (add_argument(a, err, "deb %s %s %s", uri, release, component) < 0)
			return -1;
	}
	return 0;
}

static int command_line(struct arguments *a, const char *tar, struct error *err)
{
	autobuf struct buf packages = BUF_INIT(0);

	/* If root runs mmdebstrap, it runs in separate namespaces. In the host's namespaces, its
	 * mounts and processes would stay if it is killed; in separate namespaces, they end with
	 * mmdebstrap. There it is the first process of a pid namespace, so the kernel drops a
	 * SIGTERM for mmdebstrap until it has a handler. */
	if (geteuid() == 0)
		for (size_t i = 0; i < ARRAY_SIZE(own_namespaces); i++)
			a->argv[a->count++] = own_namespaces[i];
	a->argv[a->count++] = "mmdebstrap";
	a->argv[a->count++] = geteuid() == 0 ? "--mode=root" : "--mode=unshare";
	a->argv[a->count++] = "--variant=minbase";
	a->argv[a->count++] = "--aptopt=Acquire::Languages \"none\"";
	a->argv[a->count++] = "--aptopt=APT::Install-Recommends \"false\"";
	/* The packages of the recipe, separated by commas. */
	for (const char *line = recipe_debian_packages; *line;) {
		size_t n = strcspn(line, "\n");
		if (n > 0 && line[0] != '#' &&
		    buf_printf(&packages, err, "%s%.*s", packages.len ? "," : "", (int)n, line) < 0)
			return -1;
		line += n + (line[n] == '\n');
	}
	if (add_argument(a, err, "--include=%s", buf_string(&packages)) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(excluded); i++)
		if (add_argument(a, err, "--dpkgopt=%s", excluded[i]) < 0)
			return -1;
	for (size_t i = 0; i < ARRAY_SIZE(hooks); i++)
		if (add_argument(a, err, "--customize-hook=%s", hooks[i]) < 0)
			return -1;
	a->argv[a->count++] = SUITE;
	a->argv[a->count++] = tar;
	return add_mirrors(a, err);
}

/* Computes the digest of the recipe from what decides the contents of the image. Archives and paths
 * are left out, because they depend on this host. */
static int debian_recipe(char out[DIGEST_TEXT], struct error *err)
{
	autobuf struct buf text = BUF_INIT(0);

	if (buf_printf(&text, err, "%s %s %llu", SUITE, recipe_debian_packages,
		       (unsigned long long)debian_spec.ext4.size) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(excluded); i++)
		if (buf_printf(&text, err, "%s\n", excluded[i]) < 0)
			return -1;
	for (size_t i = 0; i < ARRAY_SIZE(hooks); i++)
		if (buf_printf(&text, err, "%s\n", hooks[i]) < 0)
			return -1;
	return digest_bytes(buf_bytes(&text), text.len, out, err);
}

static int require_debian_tools(struct error *err)
{
	static const char *const for_root[] = {"mmdebstrap", "apt-get", NULL};
	static const char *const for_user[] = {"mmdebstrap", "apt-get", "newuidmap", NULL};
	const bool root = geteuid() == 0;
	struct passwd entry, *user = NULL;
	char texts[4096];

	if (tool_require("image build debian", root ? for_root : for_user, err) < 0)
		return -1;
	if (root)
		return 0;
	/* Files of the image belong to several users. An ordinary user can make such files only
	 * with subordinate user ids. */
	if (getpwuid_r(geteuid(), &entry, texts, sizeof(texts), &user) != 0 || !user)
		return error_set(err, ERR_NOT_FOUND, "user %u has no entry in /etc/passwd: add one",
				 geteuid());
	if (subids_own("/etc/subuid") && subids_own("/etc/subgid"))
		return 0;
	return error_set(
		err, ERR_DENIED,
		"user %s has no range in /etc/subuid and /etc/subgid: as root run `usermod " SUBIDS_TEXT
		" %s`, or build as root",
		user->pw_name, user->pw_name);
}

static int build_debian(const struct place *place, const char *name, const char *recipe,
			struct error *err)
{
	static const struct layer_bounds any = {.bytes = UINT64_MAX, .count = UINT64_MAX};
	auto_arguments struct arguments arguments = {0};
	autobuf struct buf tmp = BUF_INIT(0);
	const char *env[] = {"LC_ALL=C", "DEBIAN_FRONTEND=noninteractive", NULL, NULL};
	const struct tool mmdebstrap = {
		.argv = arguments.argv, .env = env, .sealed = geteuid() == 0};
	autofree char *tar = place_scratch(place, TAR_FILE, err);
	autoclose int data = place_subdir(place, "data", err);
	autoclose int archive = -1;
	auto_rootfs struct rootfs *fs = NULL;
	struct image_spec spec = debian_spec;

	if (!tar || data < 0 || place_require_space(place, BUILD_BYTES, err) < 0 ||
	    command_line(&arguments, tar, err) < 0 ||
	    buf_printf(&tmp, err, "TMPDIR=%s", place->scratch) < 0)
		return -1;
	/* If root runs mmdebstrap, it uses the scratch directory, so that the next run removes the
	 * files of a killed run. If an ordinary user runs mmdebstrap, it uses the host's directory
	 * for temporary files, because processes with the subordinate ids must be able to enter
	 * it. */
	if (geteuid() == 0)
		env[2] = buf_string(&tmp);
	progress_stage("installing Debian's packages into the image");
	if (tool_run(&mmdebstrap, err) < 0)
		return -1;
	fs = rootfs_new(data, debian_spec.ext4.time, &rootfs_unbounded, err);
	progress_stage("unpacking the image's files");
	archive = open(tar, O_RDONLY | O_CLOEXEC);
	if (archive < 0)
		return error_errno(err, errno, "%s", tar);
	if (!fs || layer_unpack(fs, archive, tar, &any, err) < 0)
		return -1;
	if (unlink(tar) < 0)
		return error_errno(err, errno, "%s", tar);
	spec.name = name;
	spec.architecture = architecture_of_host();
	return image_publish(place, &spec, fs, recipe, err);
}

/* Makes the image. The installation runs programs from Debian's packages, so the image must be for
 * the host's architecture. */
int image_build_debian(const struct artifact_options *opts, enum architecture architecture,
		       struct error *err)
{
	autofree char *name = cache_entry_name(debian_spec.name, architecture, err);
	auto_place struct place place = {0};
	char recipe[DIGEST_TEXT];

	if (!name)
		return -1;
	if (architecture != architecture_of_host())
		return error_set(
			err, ERR_UNSUPPORTED,
			"the installation of packages for %s runs programs for %s, which this host cannot run: import Debian's image from a registry instead",
			architecture_name(architecture), architecture_name(architecture));
	if (debian_recipe(recipe, err) < 0)
		return -1;
	if (!opts->rebuild && image_is_built(name, architecture, recipe))
		return image_answer(opts, name, "is built", err);
	if (require_debian_tools(err) < 0 ||
	    place_open(CACHE_IMAGES, "image-debian", &place, err) < 0)
		return -1;
	/* Another process may have built the image while this process waited for the lock. */
	if ((opts->rebuild || !image_is_built(name, architecture, recipe)) &&
	    build_debian(&place, name, recipe, err) < 0)
		return -1;
	return image_answer(opts, name, "is built", err);
}
