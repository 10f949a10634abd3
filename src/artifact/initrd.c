/* SPDX-License-Identifier: MIT */
#include "artifact/initrd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "artifact/artifact.h"
#include "artifact/cpio.h"
#include "artifact/digest.h"
#include "artifact/elf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "store/cache.h"

/* Directories in the initramfs. microagent-init mounts file systems on them before it mounts the
 * root file system. The entries of an initramfs must be sorted by name, so there are two lists: the
 * names before "init" and those after it. */
static const struct {
	const char *name;
	mode_t mode;
} before_init[] = {{"dev", 0755}}, after_init[] = {{"mnt", 0755}, {"proc", 0755}, {"root", 0700},
						   {"run", 0755}, {"sys", 0755},  {"tmp", 01777}};

static int copy_segment(int to, const char *path, struct error *err)
{
	autoclose int from = open(path, O_RDONLY | O_CLOEXEC);
	autofree char *block = malloc(1 << 20);

	if (!block)
		return error_errno(err, ENOMEM, "%s", path);
	if (from < 0)
		return error_errno(err, errno, "%s", path);
	for (;;) {
		ssize_t n = read(from, block, 1 << 20);
		if (n < 0)
			return error_errno(err, errno, "%s", path);
		if (n == 0)
			return 0;
		if (fd_write_all(to, block, (size_t)n, err) < 0)
			return -1;
	}
}

static int write_init(struct cpio *cpio, const char *init, struct error *err)
{
	autoclose int fd = open(init, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return error_errno(err, errno, "%s", init);
	for (size_t i = 0; i < ARRAY_SIZE(before_init); i++)
		if (cpio_dir(cpio, before_init[i].name, before_init[i].mode, err) < 0)
			return -1;
	/* An earlier segment of the initramfs may contain an init that has a second name. The
	 * kernel would then write the new init into this file, and so change the file with the
	 * second name too. To prevent this, a symbolic link is unpacked first, which replaces only
	 * the name "init". */
	if (cpio_link(cpio, "init", "init", err) < 0)
		return -1;
	if (cpio_file(cpio, "init", 0755, fd, err) < 0)
		return error_prefix(err, "%s", init);
	for (size_t i = 0; i < ARRAY_SIZE(after_init); i++)
		if (cpio_dir(cpio, after_init[i].name, after_init[i].mode, err) < 0)
			return -1;
	return 0;
}

int initrd_write(int fd, const char *init, enum architecture architecture, const char *modules,
		 struct error *err)
{
	struct cpio *cpio;

	if (elf_require_static(init, architecture, err) < 0)
		return -1;
	if (modules && copy_segment(fd, modules, err) < 0)
		return -1;
	cpio = cpio_open(fd, err);
	if (!cpio)
		return -1;
	if (write_init(cpio, init, err) < 0) {
		cpio_abandon(cpio);
		return -1;
	}
	return cpio_close(cpio, err);
}

int initrd_make(const struct place *place, const char *init, enum architecture architecture,
		const char *modules, struct error *err)
{
	autoclose int fd = openat(place->scratch_fd, INITRD_FILE,
				  O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);

	if (fd < 0)
		return error_errno(err, errno, "%s/" INITRD_FILE, place->scratch);
	return initrd_write(fd, init, architecture, modules, err);
}

/* Makes the initrd and publishes it under the digest of its init. Fails if another process has
 * replaced the file `init` meanwhile, so that its digest differs. */
static int publish_initrd(const struct place *place, const char *init, const char *sha256,
			  enum architecture architecture, struct error *err)
{
	char after[DIGEST_TEXT];

	if (initrd_make(place, init, architecture, NULL, err) < 0 ||
	    digest_file(init, after, err) < 0)
		return -1;
	if (strcmp(sha256, after) != 0)
		return error_set(err, ERR_UNAVAILABLE,
				 "%s was replaced while it was packed into an initrd: try again",
				 init);
	return place_publish(place, INITRD_FILE, sha256, ".initrd", err);
}

/* Puts an initrd into the cache. The cache has one initrd for each microagent-init. */
static int keep_initrd(const struct artifact_options *opts, const char *init,
		       enum architecture architecture, struct error *err)
{
	auto_place struct place place = {0};
	json_auto_t *answer = NULL;
	autofree char *path = NULL;
	char sha256[DIGEST_TEXT];

	if (opts->modules)
		return error_set(err, ERR_INVALID, "--modules needs --out");
	if (digest_file(init, sha256, err) < 0 ||
	    place_open(CACHE_INITRDS, "initrd", &place, err) < 0)
		return -1;
	/* Another process may have made the initrd while this process waited for the lock. */
	path = cache_initrd_find(sha256, NULL);
	if (!path && publish_initrd(&place, init, sha256, architecture, err) < 0)
		return error_prefix(err, "%s", place.dir);
	if (!path)
		path = cache_initrd_find(sha256, err);
	answer = path ? json_pack("{s:s}", "path", path) : NULL;
	if (!answer)
		return path ? error_errno(err, ENOMEM, "answer") : -1;
	return artifact_answer(opts, answer, err, "%s", path);
}

int artifact_initrd(const struct artifact_options *opts, struct error *err)
{
	enum architecture architecture;
	autofree char *init = NULL;
	autoclose int fd = -1;

	if (artifact_architecture(opts, architecture_of_host(), &architecture, err) < 0 ||
	    !(init = artifact_init_path(opts, architecture, err)))
		return -1;
	if (!opts->out)
		return keep_initrd(opts, init, architecture, err);
	fd = open(opts->out, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0)
		return error_errno(err, errno, "%s", opts->out);
	if (initrd_write(fd, init, architecture, opts->modules, err) < 0) {
		unlink(opts->out);
		return error_prefix(err, "%s", opts->out);
	}
	return 0;
}
