/* SPDX-License-Identifier: MIT */
/*
 * Makes the default image: the static program busybox with all its names, and the few files that
 * programs expect. Any user can make this image in a second, and the same busybox always gives the
 * same bytes. For machines of another architecture, busybox comes from Debian's package. This
 * busybox cannot run on the host, so it cannot print its names. The names of the host's busybox are
 * used, because Debian builds both programs with the same configuration.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "artifact/apt.h"
#include "artifact/digest.h"
#include "artifact/elf.h"
#include "artifact/image.h"
#include "artifact/progress.h"
#include "artifact/tool.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "base/program.h"

#define LIST_BYTES (1u << 20)
#define PROGRAM_BYTES (16u << 20)
#define UNPACK_BYTES (16ull << 20)
#define PACKAGE "busybox-static"
#define BUSYBOX "/bin/busybox" /* the path of busybox in the image */

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

/* Finds busybox in PATH and checks that it needs no library. The check is needed because Debian
 * also has a busybox that needs libraries, with the same file name. */
static char *find_busybox(struct error *err)
{
	static const char *const names[] = {"busybox", NULL};
	autofree char *found = NULL;
	char *program;

	if (tool_require("image build busybox", names, err) < 0)
		return NULL;
	found = program_in_path(names[0]);
	if (!found) {
		error_set(err, ERR_NOT_FOUND,
			  "busybox is not installed: `apt-get install busybox-static` installs it");
		return NULL;
	}
	if (elf_require_static(found, architecture_of_host(), err) < 0) {
		error_prefix(
			err,
			"this host's busybox cannot run alone in a guest, because it needs libraries: install busybox-static in place of busybox");
		return NULL;
	}
	/* On some systems the name in PATH is a link, but the image needs the regular file. */
	program = realpath(found, NULL);
	if (!program)
		error_errno(err, errno, "%s", found);
	return program;
}

/* The contents of the image, and a text with one line about each file. The digest of the recipe is
 * computed from this text. */
struct contents {
	struct rootfs *fs;
	struct buf lines;
	/* Name and version of the package from which busybox comes. The recipe contains this text
	 * if it is set, and the digest of the program's bytes if it is NULL. */
	const char *package;
};
#define CONTENTS_NONE                \
	{                            \
		.lines = BUF_INIT(0) \
	}

static void contents_free(struct contents *c)
{
	rootfs_free(c->fs);
	buf_free(&c->lines);
}
#define auto_contents __attribute__((cleanup(contents_free)))

static int add_recipe_line(struct contents *c, const char *path, mode_t mode, uid_t owner,
			   const char *digest, struct error *err)
{
	return buf_printf(&c->lines, err, "%s %o %u %u %lld %s\n", path, mode, owner, owner,
			  (long long)busybox_spec.ext4.time, digest);
}

/* Adds a file to the image and to the recipe. `text` is the contents of a file, the target of a
 * link, or NULL for a directory. */
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

/* Puts all files of the image into `c`. `program` is the path of the busybox that the image gets.
 * `host` is the path of the busybox that this host runs to get the names. */
static int describe_busybox(struct contents *c, const char *program, const char *host,
			    struct error *err)
{
	const char *const argv[] = {host, "--list-full", NULL};
	autobuf struct buf list = BUF_INIT(LIST_BYTES);
	const struct tool tool = {.argv = argv, .out = &list};
	autofree char *names = NULL;
	char digest[DIGEST_TEXT], *rest = NULL;

	c->fs = rootfs_new(-1, busybox_spec.ext4.time, &rootfs_unbounded, err);
	if (!c->fs)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		if (add_to_image(c, dirs[i].path, S_IFDIR | dirs[i].mode, dirs[i].owner, NULL,
				 err) < 0)
			return -1;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (add_to_image(c, files[i].path, S_IFREG | files[i].mode, 0, files[i].text, err) <
		    0)
			return -1;
	if (add_to_image(c, "/var/run", S_IFLNK | 0777, 0, "/run", err) < 0 ||
	    digest_file(program, digest, err) < 0 ||
	    add_recipe_line(c, BUSYBOX, S_IFREG | 0755, 0, c->package ? c->package : digest, err) <
		    0 ||
	    rootfs_add_copy(c->fs, BUSYBOX, 0755, program, err) < 0 || tool_run(&tool, err) < 0)
		return -1;
	names = buf_steal_string(&list, err);
	if (!names)
		return -1;
	/* Each name of the program, such as "usr/bin/env", becomes a link. A name is skipped if its
	 * directory is not in the image, or if the image has another file with this name. */
	for (char *name = strtok_r(names, "\n", &rest); name; name = strtok_r(NULL, "\n", &rest)) {
		autofree char *path = NULL, *dir = NULL;
		char *slash;

		if (asprintf(&path, "/%s", name) < 0 || !(dir = strdup(path)))
			return error_errno(err, ENOMEM, "image");
		slash = strrchr(dir, '/');
		/* A name in the root is skipped. The only one is linuxrc, which is not needed. */
		if (slash == dir)
			continue;
		*slash = '\0';
		if (!rootfs_find(c->fs, path) && rootfs_find(c->fs, dir) &&
		    add_to_image(c, path, S_IFLNK | 0777, 0, BUSYBOX, err) < 0)
			return -1;
	}
	return 0;
}

/* Computes the digest of the recipe: the files, and the settings of the file system. */
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

/* Returns the known faults of this busybox, for the image's record. Otherwise a user might search
 * for the cause of such a fault in the network. The version is searched in the program's bytes,
 * because a program for another architecture cannot be run. */
static json_t *known_faults(const char *program, struct error *err)
{
	static const char first[] = "BusyBox v1.35.", of[] = "(Debian ";
	autobuf struct buf bytes = BUF_INIT(PROGRAM_BYTES);

	if (path_read_file_at(AT_FDCWD, program, &bytes, err) < 0)
		return NULL;
	if (!memmem(buf_bytes(&bytes), bytes.len, first, strlen(first)) ||
	    !memmem(buf_bytes(&bytes), bytes.len, of, strlen(of)))
		return json_object();
	return json_pack(
		"{s:[s]}", "notes",
		"wget -T ends by signal 11 in Debian's busybox 1.35: `timeout SECONDS wget` does what it should");
}

static int publish_busybox(const struct place *place, const char *name,
			   enum architecture architecture, const char *program, struct contents *c,
			   struct error *err)
{
	struct image_spec spec = busybox_spec;
	char recipe[DIGEST_TEXT];
	json_auto_t *faults = known_faults(program, err);

	spec.name = name;
	spec.architecture = architecture;
	spec.extra = faults;
	if (!faults || busybox_recipe(c, recipe, err) < 0)
		return -1;
	return image_publish(place, &spec, c->fs, recipe, err);
}

/* Makes the image for another architecture, with the program from Debian's package. */
static int make_foreign(const char *name, enum architecture architecture, const char *package,
			const char *host, struct error *err)
{
	static const char *const wanted[] = {"bin/busybox", NULL};
	auto_contents struct contents contents = CONTENTS_NONE;
	auto_place struct place place = {0};
	auto_apt struct apt apt = {0};
	auto_deb struct deb deb = {0};
	autofree char *program = NULL;
	autoclose int root = -1;

	contents.package = package;
	if (place_open(CACHE_IMAGES, "image-busybox", &place, err) < 0)
		return -1;
	root = place_subdir(&place, "root", err);
	program = root < 0 ? NULL : place_scratch(&place, "root/bin/busybox", err);
	if (!program || place_require_space(&place, UNPACK_BYTES, err) < 0 ||
	    apt_open(architecture, place.scratch, &apt, err) < 0 ||
	    apt_find(&apt, PACKAGE, &deb, err) < 0 ||
	    apt_fetch(&apt, &deb, place.scratch, err) < 0 ||
	    deb_unpack(&deb, root, wanted, err) < 0 ||
	    elf_require_static(program, architecture, err) < 0)
		return -1;
	progress_stage("building the busybox image");
	if (describe_busybox(&contents, program, host, err) < 0)
		return -1;
	return publish_busybox(&place, name, architecture, program, &contents, err);
}

/* Makes the image if the cache does not have it. For another architecture, an image from any
 * version of the package is enough; with --rebuild, the newest version is downloaded. */
int image_build_busybox(const struct artifact_options *opts, enum architecture architecture,
			struct error *err)
{
	bool foreign = architecture != architecture_of_host();
	autofree char *host = find_busybox(err);
	autofree char *name = cache_entry_name(busybox_spec.name, architecture, err);
	auto_contents struct contents contents = CONTENTS_NONE;
	char recipe[DIGEST_TEXT], package[32];

	snprintf(package, sizeof(package), PACKAGE ":%s", architecture_name(architecture));
	contents.package = foreign ? package : NULL;
	if (!host || !name || describe_busybox(&contents, host, host, err) < 0 ||
	    busybox_recipe(&contents, recipe, err) < 0)
		return -1;
	if (!opts->rebuild && image_is_built(name, architecture, recipe))
		return image_answer(opts, name, "is built", err);
	if (foreign) {
		if (make_foreign(name, architecture, package, host, err) < 0)
			return -1;
	} else {
		auto_place struct place place = {0};

		progress_stage("building the busybox image");
		if (place_open(CACHE_IMAGES, "image-busybox", &place, err) < 0 ||
		    publish_busybox(&place, name, architecture, host, &contents, err) < 0)
			return -1;
	}
	return image_answer(opts, name, "is built", err);
}
