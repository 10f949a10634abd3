/* SPDX-License-Identifier: MIT */
/*
 * A base in the making is <state>/bases/.making-XXXXXX, with an exclusive flock on it that goes
 * with its maker: what is held by nobody was left by one that was killed, and the next one removes
 * it. Sealed, it gets its name by a rename that replaces nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/machine.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "channel/hasher.h"
#include "channel/own_initrd.h"
#include "contract/request.h"
#include "session/bases/base_making.h"
#include "session/macos/macos.h"

#define MAKING ".making-"
/* The room that a provisioned base has beyond its image, and how large a disk it may make. */
#define ROOM_BYTES (1ull << 30)
#define ROOM_MOST_BYTES (4ull << 30)

#define MAKING_NONE                         \
	{                                   \
		.dir = {.fd = -1}, .fd = -1 \
	}

/* --- the directory --------------------------------------------------------------------------- */

static bool remove_abandoned_base(const struct state_dir *dir, const char *name)
{
	autoclose int fd = openat(dir->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	autofree char *path = path_join(dir->path, name, NULL);

	if (fd < 0 || !path || flock(fd, LOCK_EX | LOCK_NB) < 0)
		return false;
	provision_wait_gone(path);
	base_clear_immutable(fd);
	return path_remove_tree_at(dir->fd, name, NULL) == 0;
}

/* bases is locked. */
static void sweep_locked(const struct state_dir *dir, json_t *removed)
{
	int own = openat(dir->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autodir DIR *entries = own >= 0 ? fdopendir(own) : NULL;
	const struct dirent *entry;

	if (own >= 0 && !entries)
		close(own);
	while (entries && (entry = readdir(entries)))
		if (strncmp(entry->d_name, MAKING, strlen(MAKING)) == 0 &&
		    remove_abandoned_base(dir, entry->d_name) && removed)
			json_array_append_new(removed, json_string(entry->d_name));
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
	struct state_dir dir;

	if (state_sub_open(agent, BASES_DIR, false, &dir, NULL) < 0)
		return;
	autoclose int lock = lock_bases(&dir, NULL);
	if (lock >= 0)
		sweep_locked(&dir, removed);
	state_dir_close(&dir);
}

/* It loses its name first: a bundle under its name is whole. */
static int remove_bundle(const struct state_dir *dir, const struct base *base, struct error *err)
{
	char file[sizeof(base->name.full) + 8], gone[sizeof(file) + 16];

	snprintf(file, sizeof(file), "%s" BUNDLE_SUFFIX, base->name.full);
	snprintf(gone, sizeof(gone), MAKING "%s", file);
	if (renameat(dir->fd, file, dir->fd, gone) < 0)
		return error_errno(err, errno, "%s", base->path);
	base_clear_immutable(base->fd);
	return path_remove_tree_at(dir->fd, gone, err);
}

int base_remove(const struct microagent *agent, const struct base *base, struct error *err)
{
	struct state_dir dir;
	int status;

	if (state_sub_open(agent, BASES_DIR, false, &dir, err) < 0)
		return -1;
	status = remove_bundle(&dir, base, err);
	state_dir_close(&dir);
	return status;
}

static int make_locked(struct making *m, struct error *err)
{
	autofree char *path = NULL;

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

/* bases itself is locked meanwhile: nobody sees a directory that is not locked yet. */
static int make_base_directory(struct making *m, struct error *err)
{
	autoclose int lock = lock_bases(&m->dir, err);

	if (lock < 0)
		return -1;
	sweep_locked(&m->dir, NULL);
	return make_locked(m, err);
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
		return error_set(err, ERR_INVALID,
				 "a base is made of image \"%.128s\" or of %.128s, not of both",
				 spec->image, spec->oci);
	if (cache_kernel_find(spec->kernel, m->architecture, &m->kernel, err) < 0 ||
	    kernel_check(m->kernel.path, err) < 0 ||
	    (!spec->oci && cache_image_find(spec->image, m->architecture, &m->image, err) < 0))
		return -1;
	if (!m->kernel.initrd)
		m->kernel.initrd = own_initrd(m->kernel.path, m->architecture, err);
	return m->kernel.initrd ? 0 : -1;
}

/* Of the disk; it is the guest that makes its file system as large. An imported image was given
 * that room when it was imported. */
static int decide_size(const struct making *m, uint64_t image, uint64_t *size, struct error *err)
{
	uint64_t wanted = (uint64_t)m->spec->size_mib << 20;

	if (wanted && wanted < image)
		return error_set(
			err, ERR_INVALID,
			"base.size: a disk of %lld MiB is too small: image %s has %llu MiB",
			(long long)m->spec->size_mib, m->image.path,
			(unsigned long long)(image + (1 << 20) - 1) >> 20);
	*size = image;
	if (wanted)
		*size = wanted;
	else if (provision_is_asked(m->spec) && !m->image.source && image < ROOM_MOST_BYTES)
		*size = image + ROOM_BYTES < ROOM_MOST_BYTES ? image + ROOM_BYTES : ROOM_MOST_BYTES;
	return 0;
}

/* No interface tells how large a file may be here; a file that is about to be removed can try. */
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

static int enlarge(const struct making *m, uint64_t image, uint64_t size, struct error *err)
{
	autoclose int fd = openat(m->fd, BASE_DISK, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 && ftruncate(fd, (off_t)size) == 0)
		return 0;
	if (fd < 0 || errno != EFBIG)
		return error_errno(err, errno, BASE_DISK);
	return error_set(
		err, ERR_INVALID,
		"base.size: a disk of %llu MiB is too large: a file in %s has at most %llu MiB; "
		"choose a smaller size",
		(unsigned long long)size >> 20, m->dir.path,
		(unsigned long long)largest_mib(fd, image >> 20, size >> 20));
}

static int copy_base_disk(const struct making *m, struct error *err)
{
	autoclose int image = image_open(&m->image, err);
	struct stat st;
	uint64_t size = 0;

	if (image < 0)
		return -1;
	if (fstat(image, &st) < 0)
		return error_errno(err, errno, "image %s", m->image.path);
	if (decide_size(m, (uint64_t)st.st_size, &size, err) < 0)
		return -1;
	if (clone_with_digest(image, m->fd, BASE_DISK, NULL, err) < 0)
		return error_prefix(err, "cannot copy image %s", m->image.path);
	return size > (uint64_t)st.st_size ? enlarge(m, (uint64_t)st.st_size, size, err) : 0;
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
	if (find_parts(m, err) < 0 || (m->spec->oci && base_import(m, err) < 0) ||
	    state_sub_open(m->agent, BASES_DIR, true, &m->dir, err) < 0 ||
	    make_base_directory(m, err) < 0 || copy_base_disk(m, err) < 0)
		return -1;
	if (provision_is_asked(m->spec) && provision(m, err) < 0)
		return -1;
	return base_seal(m, base, err);
}

/* A base is sealed for good: what none of its sessions could have is refused before. */
static int check_sizes(const struct microagent_base_spec *spec, struct error *err)
{
	const struct host_bounds bounds = host_bounds();

	if (spec->size_mib < 0 || spec->size_mib > INT64_MAX >> 20)
		return error_set(err, ERR_INVALID,
				 "the size of a disk must be between 1 and %lld MiB, and is %lld",
				 (long long)(INT64_MAX >> 20), (long long)spec->size_mib);
	if (spec->machine.memory_mib &&
	    config_check_memory(spec->machine.memory_mib, &bounds, err) < 0)
		return -1;
	return spec->machine.cpus ? config_check_cpus(spec->machine.cpus, &bounds, err) : 0;
}

int microagent_base_create(struct microagent *agent, const char *word,
			   const struct microagent_base_spec *spec, json_t **base,
			   struct error *err)
{
	struct making m = MAKING_NONE;
	int status, before;

	if (base_name_parse(word, &m.base, err) < 0)
		return -1;
	if (m.base.version)
		return error_set(err, ERR_INVALID,
				 "\"%s\": the version is given by microagent; name it %s", word,
				 m.base.name);
	if (machine_check(&spec->machine, MACHINE_BASE, err) < 0 || check_sizes(spec, err) < 0)
		return -1;
	m.agent = agent;
	m.spec = spec;
	before = digest_cancel_by(spec->cancel > 0 ? spec->cancel : -1);
	status = make_base(&m, base, err);
	digest_cancel_by(before);
	making_end(&m);
	return status;
}
