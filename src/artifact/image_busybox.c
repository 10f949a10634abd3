/* SPDX-License-Identifier: MIT */
/*
 * The default image: one static program, its names, and the few files that programs look for. Made
 * in a second, by any user, and always the same bytes for the same busybox.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "artifact/digest.h"
#include "artifact/elf.h"
#include "artifact/image.h"
#include "artifact/progress.h"
#include "artifact/tool.h"
#include "base/cleanup.h"
#include "base/path.h"

#define LIST_BYTES (1u << 20)

static const struct image_spec busybox_spec = {
	.name = "busybox",
	.kind = "busybox",
	.user = AGENT_NAME,
	.ext4 = {.label = "busybox",
		 .uuid = "6d696372-6f61-4765-8e74-2d6275737962",
		 .size = 256ull << 20,
		 .journal_mib = 8,
		 .time = 1577836800}, /* 2020-01-01 */
};

static const struct {
	const char *path;
	mode_t mode;
	uid_t owner;
} dirs[] = {
	{"/", 0755, 0},
	{"/bin", 0755, 0},
	{"/dev", 0755, 0},
	{"/etc", 0755, 0},
	{"/home", 0755, 0},
	{"/home/agent", 0755, AGENT_UID},
	{"/lib", 0755, 0},
	{"/lib64", 0755, 0},
	{"/media", 0755, 0},
	{"/mnt", 0755, 0},
	{"/opt", 0755, 0},
	{"/proc", 0555, 0},
	{"/root", 0700, 0},
	{"/run", 0755, 0},
	{"/sbin", 0755, 0},
	{"/srv", 0755, 0},
	{"/sys", 0555, 0},
	{"/tmp", 01777, 0},
	{"/usr", 0755, 0},
	{"/usr/bin", 0755, 0},
	{"/usr/lib", 0755, 0},
	{"/usr/local", 0755, 0},
	{"/usr/local/bin", 0755, 0},
	{"/usr/sbin", 0755, 0},
	{"/usr/share", 0755, 0},
	{"/var", 0755, 0},
	{"/var/cache", 0755, 0},
	{"/var/lib", 0755, 0},
	{"/var/log", 0755, 0},
	{"/var/spool", 0755, 0},
	{"/var/tmp", 01777, 0},
	{"/workspace", 0755, AGENT_UID},
};

static const struct {
	const char *path;
	mode_t mode;
	const char *text;
} files[] = {
	{"/etc/passwd", 0644,
	 "root:x:0:0:root:/root:/bin/sh\n"
	 "nobody:x:65534:65534:nobody:/nonexistent:/bin/false\n"
	 "agent:x:1000:1000:agent:/home/agent:/bin/sh\n"},
	{"/etc/group", 0644, "root:x:0:\ntty:x:5:\nagent:x:1000:\nnogroup:x:65534:\n"},
	{"/etc/shadow", 0600,
	 "root:*:18262:0:99999:7:::\nnobody:*:18262:0:99999:7:::\n"
	 "agent:*:18262:0:99999:7:::\n"},
	{"/etc/hostname", 0644, "microagent\n"},
	{"/etc/hosts", 0644, "127.0.0.1\tlocalhost\n::1\tlocalhost\n"},
	{"/etc/resolv.conf", 0644, ""},
	{"/etc/nsswitch.conf", 0644,
	 "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n"},
	{"/etc/shells", 0644, "/bin/sh\n/bin/ash\n"},
	{"/etc/profile", 0644,
	 "export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n"
	 "[ -n \"$PS1\" ] && PS1='\\u@\\h:\\w\\$ '\n"},
	{"/etc/os-release", 0644,
	 "ID=microagent-busybox\nNAME=\"microagent busybox\"\n"
	 "PRETTY_NAME=\"microagent's busybox image\"\n"},
};

/* "bin/busybox" of PATH that needs no library; the dynamic one has the same name. */
static char *find_busybox(struct error *err)
{
	static const char *const names[] = {"busybox", NULL};
	const char *path = getenv("PATH");
	char file[1024];

	if (tool_require("image build busybox", names, err) < 0)
		return NULL;
	for (; path && *path; path += strcspn(path, ":"), path += *path == ':') {
		snprintf(file, sizeof(file), "%.*s/busybox", (int)strcspn(path, ":"), path);
		if (access(file, X_OK) != 0)
			continue;
		if (elf_require_static(file, err) < 0) {
			error_prefix(err, "install busybox-static in place of busybox");
			return NULL;
		}
		return path_absolute(file, err);
	}
	error_set(err, ERR_NOT_FOUND, "busybox: `apt-get install busybox-static`");
	return NULL;
}

/* What goes into the image, and a line about each file, of which the recipe's digest is made. */
struct contents {
	struct rootfs *fs;
	struct buf lines;
};

static int add_recipe_line(struct contents *c, const char *path, mode_t mode, uid_t owner,
			   const char *digest, struct error *err)
{
	return buf_printf(&c->lines, err, "%s %o %u %u %lld %s\n", path, mode, owner, owner,
			  (long long)busybox_spec.ext4.time, digest);
}

/* text: NULL for a directory. */
static int add_to_image(struct contents *c, const char *path, mode_t mode, uid_t owner,
			const char *text, struct error *err)
{
	char digest[DIGEST_TEXT] = "";

	if (text && digest_bytes(text, strlen(text), digest, err) < 0)
		return -1;
	return add_recipe_line(c, path, mode, owner, digest, err) < 0
		       ? -1
		       : rootfs_add(c->fs, path, mode, owner, text, err);
}

static int add_program(struct contents *c, const char *path, const char *from, struct error *err)
{
	char digest[DIGEST_TEXT];

	if (digest_file(from, digest, err) < 0 ||
	    add_recipe_line(c, path, S_IFREG | 0755, 0, digest, err) < 0)
		return -1;
	return rootfs_add_copy(c->fs, path, 0755, from, err);
}

/* "usr/bin/env": a name of the program, in a directory of ours. */
static int add_applet(struct contents *c, const char *name, struct error *err)
{
	autofree char *path = NULL, *dir = NULL;
	char *slash;

	if (asprintf(&path, "/%s", name) < 0 || !(dir = strdup(path)))
		return error_errno(err, ENOMEM, "image");
	slash = strrchr(dir, '/');
	/* Nothing belongs into the root: that is linuxrc. */
	if (slash == dir)
		return 0;
	*slash = '\0';
	if (rootfs_find(c->fs, path) || !rootfs_find(c->fs, dir))
		return 0;
	return add_to_image(c, path, S_IFLNK | 0777, 0, "/bin/busybox", err);
}

static int add_applets(struct contents *c, const char *busybox, struct error *err)
{
	const char *const argv[] = {busybox, "--list-full", NULL};
	autobuf struct buf list = BUF_INIT(LIST_BYTES);
	const struct tool tool = {.argv = argv, .out = &list};
	autofree char *text = NULL;
	char *rest = NULL;

	if (tool_run(&tool, err) < 0)
		return -1;
	text = buf_steal_string(&list, err);
	if (!text)
		return -1;
	for (char *name = strtok_r(text, "\n", &rest); name; name = strtok_r(NULL, "\n", &rest))
		if (add_applet(c, name, err) < 0)
			return -1;
	return 0;
}

static int describe_busybox(struct contents *c, const char *busybox, struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		if (add_to_image(c, dirs[i].path, S_IFDIR | dirs[i].mode, dirs[i].owner, NULL,
				 err) < 0)
			return -1;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (add_to_image(c, files[i].path, S_IFREG | files[i].mode, 0, files[i].text, err) <
		    0)
			return -1;
	if (add_to_image(c, "/var/run", S_IFLNK | 0777, 0, "/run", err) < 0 ||
	    add_program(c, "/bin/busybox", busybox, err) < 0)
		return -1;
	return add_applets(c, busybox, err);
}

/* A change of the file system's own settings is a change of the recipe too. */
static int busybox_recipe(const struct contents *c, char out[DIGEST_TEXT], struct error *err)
{
	const struct ext4_spec *ext4 = &busybox_spec.ext4;
	autobuf struct buf text = BUF_INIT(0);
	char digest[DIGEST_TEXT];

	if (digest_bytes(buf_bytes(&c->lines), c->lines.len, digest, err) < 0 ||
	    buf_printf(&text, err, "%s %s %llu %u", digest, ext4->uuid,
		       (unsigned long long)ext4->size, ext4->journal_mib) < 0)
		return -1;
	return digest_bytes(buf_bytes(&text), text.len, out, err);
}

/* Whoever meets it looks for the mistake in his own network. */
static json_t *known_faults(const char *busybox, struct error *err)
{
	static const char first[] = "BusyBox v1.35.", of[] = "(Debian ";
	const char *const argv[] = {busybox, NULL};
	autobuf struct buf said = BUF_INIT(LIST_BYTES);
	const struct tool tool = {.argv = argv, .out = &said};
	const char *text;

	if (tool_run(&tool, err) < 0)
		return NULL;
	text = buf_string(&said);
	if (strncmp(text, first, strlen(first)) != 0 || !strstr(text, of))
		return json_object();
	return json_pack("{s:[s]}", "notes",
			 "wget -T ends by signal 11 in Debian's busybox 1.35: `timeout SECONDS "
			 "wget` does what it should");
}

static int build_busybox(const struct artifact_options *opts, struct contents *c, struct error *err)
{
	autofree char *busybox = find_busybox(err);
	struct image_spec spec = busybox_spec;
	auto_place struct place place = {0};
	json_auto_t *faults = NULL;
	char recipe[DIGEST_TEXT];

	if (!busybox || describe_busybox(c, busybox, err) < 0 || busybox_recipe(c, recipe, err) < 0)
		return -1;
	if (!opts->rebuild && image_is_built(busybox_spec.name, recipe))
		return image_answer(opts, busybox_spec.name, "is built", err);
	progress_stage("building the busybox image");
	spec.extra = faults = known_faults(busybox, err);
	if (!faults || place_open(CACHE_IMAGES, "image-busybox", &place, err) < 0 ||
	    image_publish(&place, &spec, c->fs, recipe, err) < 0)
		return -1;
	return image_answer(opts, busybox_spec.name, "is built", err);
}

int image_build_busybox(const struct artifact_options *opts, struct error *err)
{
	auto_rootfs struct rootfs *fs =
		rootfs_new(-1, busybox_spec.ext4.time, &rootfs_unbounded, err);
	struct contents contents = {.fs = fs, .lines = BUF_INIT(0)};
	int result = fs ? build_busybox(opts, &contents, err) : -1;

	buf_free(&contents.lines);
	return result;
}
