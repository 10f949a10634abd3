/* SPDX-License-Identifier: MIT */
/*
 * Makes a base. The directory of an unfinished base is <state>/bases/.making-XXXXXX. The process
 * that makes the base holds an exclusive flock on the directory, and the kernel releases the flock
 * when the process exits. So a directory without a flock was left by a killed process. The next
 * process that makes a base removes it. A sealed base gets its name by a rename that never replaces
 * another base.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/machine.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "channel/artifact_run.h"
#include "channel/hasher.h"
#include "channel/own_initrd.h"
#include "contract/request.h"
#include "session/bases/base_making.h"
#include "session/macos/macos.h"

#define MAKING ".making-"
/* ROOM_BYTES is the free space in bytes that a provisioned base gets in addition to its image. A
 * disk is not made larger than ROOM_MOST_BYTES for this free space. */
#define ROOM_BYTES (1ull << 30)
#define ROOM_MOST_BYTES (4ull << 30)

#define MAKING_NONE                         \
	{                                   \
		.dir = {.fd = -1}, .fd = -1 \
	}

/* --- the directory --------------------------------------------------------------------------- */

/* Removes the directories of unfinished bases that no living process makes. Appends their names to
 * removed, which may be NULL. The caller has locked the directory of all bases. */
static void sweep_locked(const struct state_dir *dir, json_t *removed)
{
	int own = openat(dir->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autodir DIR *entries = own >= 0 ? fdopendir(own) : NULL;
	const struct dirent *entry;

	if (own >= 0 && !entries)
		close(own);
	while (entries && (entry = readdir(entries))) {
		const char *name = entry->d_name;
		autofree char *path = NULL;
		autoclose int fd = -1;

		if (strncmp(name, MAKING, strlen(MAKING)) != 0)
			continue;
		fd = openat(dir->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		path = path_join(dir->path, name, NULL);
		if (fd < 0 || !path || flock(fd, LOCK_EX | LOCK_NB) < 0)
			continue;
		provision_wait_gone(path);
		base_clear_immutable(fd);
		if (path_remove_tree_at(dir->fd, name, NULL) == 0 && removed)
			json_array_append_new(removed, json_string(name));
	}
}

static int lock_bases(const struct state_dir *dir, struct error *err)
{
	autoclose int bases = openat(dir->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (bases < 0 || flock(bases, LOCK_EX) < 0)
		return error_errno(err, errno, "%s", dir->path);
	return steal_fd(&bases);
}

void bases_sweep(const struct microagent *agent, json_t *removed)
{
	auto_state_dir struct state_dir dir = {0};

	if (state_sub_open(agent, BASES_DIR, false, &dir, NULL) < 0)
		return;
	autoclose int lock = lock_bases(&dir, NULL);
	if (lock >= 0)
		sweep_locked(&dir, removed);
}

int base_remove(const struct microagent *agent, const struct base *base, struct error *err)
{
	auto_state_dir struct state_dir dir = {0};
	char file[sizeof(base->name.full) + 8], gone[sizeof(file) + 16];

	if (state_sub_open(agent, BASES_DIR, false, &dir, err) < 0)
		return -1;
	snprintf(file, sizeof(file), "%s" BUNDLE_SUFFIX, base->name.full);
	snprintf(gone, sizeof(gone), MAKING "%s", file);
	/* The bundle is renamed before it is removed. Otherwise a killed removal would leave an
	 * incomplete bundle with a final name. */
	if (renameat(dir.fd, file, dir.fd, gone) < 0)
		return error_errno(err, errno, "%s", base->path);
	base_clear_immutable(base->fd);
	return path_remove_tree_at(dir.fd, gone, err);
}

/* Makes and locks the directory of the new base. Meanwhile the directory of all bases is locked, so
 * no other process sees the new directory before it is locked. */
static int make_base_directory(struct making *m, struct error *err)
{
	autoclose int lock = lock_bases(&m->dir, err);
	autofree char *path = NULL;

	if (lock < 0)
		return -1;
	sweep_locked(&m->dir, NULL);
	if (asprintf(&path, "%s/" MAKING "XXXXXX", m->dir.path) < 0) {
		path = NULL;
		return error_errno(err, ENOMEM, "base");
	}
	if (!mkdtemp(path))
		return error_errno(err, errno, "%s", m->dir.path);
	snprintf(m->name, sizeof(m->name), "%s", strrchr(path, '/') + 1);
	m->fd = openat(m->dir.fd, m->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (m->fd < 0 || flock(m->fd, LOCK_EX | LOCK_NB) < 0)
		return error_errno(err, errno, "%s", path);
	return 0;
}

static void making_end(struct making *m)
{
	if (m->fd >= 0) {
		close(m->fd);
		if (m->name[0])
			path_remove_tree_at(m->dir.fd, m->name, NULL);
	}
	cache_kernel_free(&m->kernel);
	cache_image_free(&m->image);
	json_decref(m->provisioning);
	json_decref(m->macos);
	free(m->fetched);
	free(m->fetched_from);
	if (m->dir.path)
		state_dir_close(&m->dir);
	*m = (struct making)MAKING_NONE;
}

/* --- the disk -------------------------------------------------------------------------------- */

static int find_parts(struct making *m, struct error *err)
{
	const struct microagent_base_spec *spec = m->spec;

	if (spec_architecture(spec->machine.architecture, &m->architecture, err) < 0)
		return -1;

	if (spec->oci && spec->image)
		return error_set(
			err, ERR_INVALID,
			"a base is made of one image, but image \"%.128s\" and %.128s are given: leave one of them out",
			spec->image, spec->oci);
	if (cache_kernel_find(spec->kernel, m->architecture, &m->kernel, err) < 0 ||
	    kernel_check(m->kernel.path, err) < 0 ||
	    (!spec->oci && cache_image_find(spec->image, m->architecture, &m->image, err) < 0))
		return -1;
	if (!m->kernel.initrd)
		m->kernel.initrd = own_initrd(m->kernel.path, m->architecture, err);
	return m->kernel.initrd ? 0 : -1;
}

/* Imports the image spec->oci into the cache with microagent-artifact. If a base is later made of
 * the same image, it uses the imported image in the cache. Sets m->image to the imported image. */
static int import_image(struct making *m, struct error *err)
{
	const struct microagent_base_spec *spec = m->spec;
	const char *words[9] = {"image-import", "--arch", architecture_name(m->architecture)};
	const struct artifact_wait wait = {spec->cancel, m->agent->wait_fn, m->agent->wait_data};
	char name[BASE_NAME_MAX + 8], size[24], text[512];
	size_t n = 3;

	/* An image's name has only small letters, and may end with the name of an architecture.
	 * "-base" is appended, because the image's name would otherwise be misread if the base's
	 * name ended with such a word. */
	snprintf(name, sizeof(name), "%s-base", m->base.name);
	for (char *c = name; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	if (spec->size_mib) {
		snprintf(size, sizeof(size), "%" PRId64, spec->size_mib);
		words[n++] = "--size";
		words[n++] = size;
	}
	words[n++] = "--";
	words[n++] = name;
	words[n] = spec->oci;
	snprintf(text, sizeof(text), "importing %s", spec->oci);
	if (spec->said)
		spec->said(spec->data, MICROAGENT_BASE_DOING, text);
	if (artifact_run(words, &wait, NULL, err) < 0)
		return error_prefix(err, "%s", spec->oci);
	return cache_image_find(name, m->architecture, &m->image, err);
}

/* Returns the largest size in MiB that a file can have on this file system. The caller knows that a
 * file of `fits` MiB is possible, and that a file of `does_not` MiB is not. No system call returns
 * this size, so this function tries sizes with the file `fd`. The caller then removes the file. */
static uint64_t largest_mib(int fd, uint64_t fits, uint64_t does_not)
{
	while (does_not - fits > 1) {
		uint64_t middle = fits + (does_not - fits) / 2;

		if (ftruncate(fd, (off_t)(middle << 20)) == 0)
			fits = middle;
		else
			does_not = middle;
	}
	return fits;
}

/* Copies the image to the base's disk, and gives the disk the requested size. If no size was
 * requested and the base will be provisioned, the disk gets some free space. An imported image
 * already has free space, so it gets no more. The guest later makes the file system as large as the
 * disk. */
static int copy_base_disk(const struct making *m, struct error *err)
{
	autoclose int image = image_open(&m->image, err);
	uint64_t had, size, wanted = (uint64_t)m->spec->size_mib << 20;
	autoclose int disk = -1;
	struct stat st;

	if (image < 0)
		return -1;
	if (fstat(image, &st) < 0)
		return error_errno(err, errno, "image %s", m->image.path);
	had = size = (uint64_t)st.st_size;
	if (wanted && wanted < had)
		return error_set(
			err, ERR_INVALID,
			"base.size: a disk of %lld MiB is too small: image %s has %llu MiB; choose a larger size",
			(long long)m->spec->size_mib, m->image.path,
			(unsigned long long)(had + (1 << 20) - 1) >> 20);
	if (wanted)
		size = wanted;
	else if (provision_is_asked(m->spec) && !m->image.source && had < ROOM_MOST_BYTES)
		size = had + ROOM_BYTES < ROOM_MOST_BYTES ? had + ROOM_BYTES : ROOM_MOST_BYTES;
	if (clone_with_digest(image, m->fd, BASE_DISK, NULL, err) < 0)
		return error_prefix(err, "image %s cannot be copied", m->image.path);
	if (size <= had)
		return 0;
	disk = openat(m->fd, BASE_DISK, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	if (disk >= 0 && ftruncate(disk, (off_t)size) == 0)
		return 0;
	if (disk < 0 || errno != EFBIG)
		return error_errno(err, errno, BASE_DISK);
	return error_set(
		err, ERR_INVALID,
		"base.size: a disk of %llu MiB is too large: a file in %s has at most %llu MiB; choose a smaller size",
		(unsigned long long)size >> 20, m->dir.path,
		(unsigned long long)largest_mib(disk, had >> 20, size >> 20));
}

static int make_macos_base(struct making *m, json_t **base, struct error *err)
{
	int status = -1;

	m->architecture = architecture_of_host();
	if (macos_base_check(m, err) < 0 ||
	    state_sub_open(m->agent, BASES_DIR, true, &m->dir, err) < 0 ||
	    macos_base_fetch(m, err) < 0)
		return -1;
	if (make_base_directory(m, err) == 0 && macos_base_install(m, err) == 0)
		status = base_seal(m, base, err);
	return macos_base_end(m, status == 0, err);
}

static int make_base(struct making *m, json_t **base, struct error *err)
{
	if (m->spec->ipsw)
		return make_macos_base(m, base, err);
	if (find_parts(m, err) < 0 || (m->spec->oci && import_image(m, err) < 0) ||
	    state_sub_open(m->agent, BASES_DIR, true, &m->dir, err) < 0 ||
	    make_base_directory(m, err) < 0 || copy_base_disk(m, err) < 0)
		return -1;
	if (provision_is_asked(m->spec) && provision(m, err) < 0)
		return -1;
	return base_seal(m, base, err);
}

int microagent_base_create(struct microagent *agent, const char *word,
			   const struct microagent_base_spec *spec, json_t **base,
			   struct error *err)
{
	const struct host_bounds bounds = host_bounds();
	struct making m = MAKING_NONE;
	int status, before;

	if (base_name_parse(word, &m.base, err) < 0)
		return -1;
	if (m.base.version)
		return error_set(
			err, ERR_INVALID,
			"\"%s\" has a version in it, but microagent chooses the version itself: name the base %s",
			word, m.base.name);
	if (machine_check(&spec->machine, MACHINE_BASE, err) < 0)
		return -1;
	/* A sealed base cannot be changed. So a value that no session could use is refused before
	 * the base is made. */
	if (spec->size_mib < 0 || spec->size_mib > INT64_MAX >> 20)
		return error_set(err, ERR_INVALID,
				 "the size of a disk must be between 1 and %lld MiB, and is %lld",
				 (long long)(INT64_MAX >> 20), (long long)spec->size_mib);
	if ((spec->machine.memory_mib &&
	     config_check_memory(spec->machine.memory_mib, &bounds, err) < 0) ||
	    (spec->machine.cpus && config_check_cpus(spec->machine.cpus, &bounds, err) < 0))
		return -1;
	m.agent = agent;
	m.spec = spec;
	before = digest_cancel_by(spec->cancel > 0 ? spec->cancel : -1);
	status = make_base(&m, base, err);
	digest_cancel_by(before);
	making_end(&m);
	return status;
}
