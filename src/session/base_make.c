/* SPDX-License-Identifier: MIT */
/*
 * A base in the making is <state>/bases/.making-XXXXXX, with an exclusive flock on it that goes with
 * its maker: what is held by nobody was left by one that was killed, and the next one removes it.
 * Sealed, it gets its name by a rename that replaces nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/path.h"
#include "channel/hasher.h"
#include "session/base.h"
#include "store/layer.h"

#define MAKING ".making-"
#define DEFAULT_MEMORY_MIB 256
#define DEFAULT_CPUS 1

struct making {
	struct state_dir dir; /* bases */
	char name[32];	      /* of the directory */
	int fd;
	struct cache_kernel kernel;
	struct cache_image image;
};
#define MAKING_NONE                         \
	{                                   \
		.dir = {.fd = -1}, .fd = -1 \
	}

/* --- the directory ------------------------------------------------------------------------------ */

static void remove_abandoned(const struct state_dir *dir, const char *name)
{
	autoclose int fd = openat(dir->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
		path_remove_tree_at(dir->fd, name, NULL);
}

static void sweep(const struct state_dir *dir)
{
	int own = openat(dir->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autodir DIR *entries = own >= 0 ? fdopendir(own) : NULL;
	const struct dirent *entry;

	if (own >= 0 && !entries)
		close(own);
	while (entries && (entry = readdir(entries)))
		if (strncmp(entry->d_name, MAKING, strlen(MAKING)) == 0)
			remove_abandoned(dir, entry->d_name);
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
static int make_directory(struct making *m, struct error *err)
{
	autoclose int bases = openat(m->dir.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (bases < 0 || flock(bases, LOCK_EX) < 0)
		return error_errno(err, errno, "%s", m->dir.path);
	sweep(&m->dir);
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
	if (m->dir.path)
		state_dir_close(&m->dir);
	*m = (struct making)MAKING_NONE;
}

/* --- the disk ----------------------------------------------------------------------------------- */

static int find_parts(struct making *m, const struct microagent_base_spec *spec, struct error *err)
{
	if (cache_kernel_find(spec->kernel, &m->kernel, err) < 0 ||
	    cache_image_find(spec->image, &m->image, err) < 0 ||
	    kernel_check(m->kernel.path, err) < 0)
		return -1;
	if (!m->kernel.initrd)
		return error_set(err, ERR_NOT_FOUND,
				 "kernel %s has no %s.initrd beside it: `microagent kernel "
				 "install --from %s` makes one",
				 m->kernel.path, m->kernel.path, m->kernel.path);
	return 0;
}

static int copy_disk(const struct making *m, struct error *err)
{
	autoclose int image = open(m->image.path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (image < 0)
		return error_errno(err, errno, "image %s", m->image.path);
	if (ext4_check(image, m->image.path, err) < 0)
		return -1;
	if (clone_with_digest(image, m->fd, BASE_DISK, err) < 0)
		return error_prefix(err, "cannot copy image %s", m->image.path);
	return 0;
}

/* --- sealing ------------------------------------------------------------------------------------ */

static int write_layer(const struct making *m, uint64_t size, struct error *err)
{
	autoclose int fd =
		openat(m->fd, BASE_LAYER, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return error_errno(err, errno, "%s", BASE_LAYER);
	if (layer_write(fd, size, err) < 0)
		return -1;
	if (fchmod(fd, 0444) < 0 || fsync(fd) < 0)
		return error_errno(err, errno, "%s", BASE_LAYER);
	return 0;
}

static json_t *file_record(const char *path, struct error *err)
{
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	char digest[DIGEST_TEXT];

	if (fd < 0) {
		error_errno(err, errno, "%s", path);
		return NULL;
	}
	if (digest_of(fd, DIGEST_FILE, digest, err) < 0) {
		error_prefix(err, "%s", path);
		return NULL;
	}
	return json_pack("{s:s,s:s}", "path", path, "sha256", digest);
}

static json_t *init_record(const char *initrd, struct error *err)
{
	autoclose int fd = open(initrd, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	char digest[DIGEST_TEXT];

	if (fd < 0 || digest_of(fd, DIGEST_INIT, digest, err) < 0) {
		error_prefix(err, "%s", initrd);
		return NULL;
	}
	return json_pack("{s:s}", "sha256", digest);
}

/* 0444 first: the digest is remembered with the times that it has from then on. */
static json_t *seal_disk(const struct making *m, struct error *err)
{
	autoclose int fd = openat(m->fd, BASE_DISK, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char digest[DIGEST_TEXT];
	struct stat st;

	if (fd < 0 || fchmod(fd, 0444) < 0 || fsync(fd) < 0 || fstat(fd, &st) < 0) {
		error_errno(err, errno, "%s", BASE_DISK);
		return NULL;
	}
	if (digest_of(fd, DIGEST_FILE, digest, err) < 0 ||
	    write_layer(m, (uint64_t)st.st_size, err) < 0) {
		error_prefix(err, "%s", BASE_DISK);
		return NULL;
	}
	return json_pack("{s:s,s:s,s:I,s:I}", "file", BASE_DISK, "sha256", digest, "bytes",
			 (json_int_t)st.st_size, "allocatedBytes", (json_int_t)st.st_blocks * 512);
}

static json_t *source_record(const struct making *m, struct error *err)
{
	char digest[80];
	json_t *source = json_pack("{s:s,s:s}", "kind", "image", "ref",
				   m->image.cached ? m->image.name : m->image.path);

	snprintf(digest, sizeof(digest), "sha256:%s", m->image.sha256);
	if (source && m->image.sha256[0] && json_put_string(source, "digest", digest, err) < 0) {
		json_decref(source);
		return NULL;
	}
	return source;
}

/* Who: "user@host". */
static void creator(char out[256])
{
	const struct passwd *user = getpwuid(geteuid());
	char host[128] = "";

	if (gethostname(host, sizeof(host) - 1) < 0)
		host[0] = '\0';
	if (user)
		snprintf(out, 256, "%s@%s", user->pw_name, host);
	else
		snprintf(out, 256, "uid %u@%s", (unsigned)geteuid(), host);
}

static json_t *describe(const struct making *m, const struct base_name *name,
			const struct microagent_base_spec *spec, struct error *err)
{
	json_auto_t *metadata = json_object();
	char now[CLOCK_TEXT], who[256];

	clock_rfc3339(clock_real_ns(), now);
	creator(who);
	if (json_put(metadata, "format", json_integer(1), err) < 0 ||
	    json_put_string(metadata, "name", name->full, err) < 0 ||
	    json_put(metadata, "version", json_integer(name->version), err) < 0 ||
	    json_put_string(metadata, "createdAt", now, err) < 0 ||
	    json_put(metadata, "createdBy", json_string_lossy(who, strlen(who)), err) < 0 ||
	    json_put_string(metadata, "microagentVersion", MICROAGENT_VERSION, err) < 0 ||
	    json_put(metadata, "source", source_record(m, err), err) < 0 ||
	    json_put(metadata, "memoryMiB",
		     json_integer(spec->memory_mib ? spec->memory_mib : DEFAULT_MEMORY_MIB),
		     err) < 0 ||
	    json_put(metadata, "cpuCount", json_integer(spec->cpus ? spec->cpus : DEFAULT_CPUS),
		     err) < 0)
		return NULL;
	return steal_ptr(&metadata);
}

/* Digests of all that a session is made of. */
static int add_files(const struct making *m, json_t *metadata, struct error *err)
{
	const struct {
		const char *key;
		json_t *record;
	} files[] = {{"disk", seal_disk(m, err)},
		     {"kernel", file_record(m->kernel.path, err)},
		     {"initrd", file_record(m->kernel.initrd, err)},
		     {"init", init_record(m->kernel.initrd, err)}};
	int status = 0;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		if (!files[i].record)
			status = -1;
		else if (status == 0)
			status = json_put(metadata, files[i].key, files[i].record, err);
		else
			json_decref(files[i].record);
	}
	return status;
}

static int write_metadata(const struct making *m, const json_t *metadata, struct error *err)
{
	autofree char *text = json_pretty(metadata, err);

	return text ? path_replace_file_at(m->fd, BASE_METADATA, text, strlen(text), 0444,
					   PATH_SYNC, err)
		    : -1;
}

/* Where the file system knows the flag and we may set it; the mode holds everywhere. */
static void make_immutable(const struct making *m, bool on)
{
	static const char *const files[] = {BASE_DISK, BASE_LAYER, BASE_METADATA};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		base_set_immutable(m->fd, files[i], on);
}

/* No one but us has had the sealed disk, so its digest holds although the file is young. */
static void remember_disk(const struct making *m, const json_t *metadata)
{
	autoclose int fd = openat(m->fd, BASE_DISK, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	const char *digest =
		json_string_value(json_object_get(json_object_get(metadata, "disk"), "sha256"));
	struct digest_key key;

	if (fd >= 0 && digest && digest_key(fd, DIGEST_FILE, &key, NULL) == 0)
		digest_remember(&key, digest);
}

static int put_path(const struct making *m, const struct base_name *name, json_t *metadata,
		    struct error *err)
{
	autofree char *path = NULL;

	if (asprintf(&path, "%s/%s" SESSION_SUFFIX, m->dir.path, name->full) < 0) {
		path = NULL;
		return error_errno(err, ENOMEM, "base");
	}
	return json_put_string(metadata, "path", path, err);
}

/* The name is taken by whoever renames first; the other takes the next version. */
static int publish(struct making *m, const struct base_name *name, struct error *err)
{
	char file[sizeof(name->full) + 8];

	snprintf(file, sizeof(file), "%s" SESSION_SUFFIX, name->full);
	if (renameat2(m->dir.fd, m->name, m->dir.fd, file, RENAME_NOREPLACE) < 0)
		return errno == EEXIST ? 1 : error_errno(err, errno, "%s/%s", m->dir.path, file);
	m->name[0] = '\0';
	if (fsync(m->dir.fd) < 0)
		return error_errno(err, errno, "%s", m->dir.path);
	return 0;
}

static int seal(struct making *m, struct base_name *name, const struct microagent_base_spec *spec,
		json_t **base, struct error *err)
{
	for (;;) {
		json_auto_t *metadata = NULL;
		int status;

		name->version = base_newest(&m->dir, name->name) + 1;
		snprintf(name->full, sizeof(name->full), "%s-v%u", name->name, name->version);
		metadata = describe(m, name, spec, err);
		(void)unlinkat(m->fd, BASE_LAYER, 0); /* of a name that somebody else took */
		if (!metadata || add_files(m, metadata, err) < 0 ||
		    write_metadata(m, metadata, err) < 0)
			return -1;
		make_immutable(m, true);
		remember_disk(m, metadata);
		status = publish(m, name, err);
		if (status == 0) {
			status = put_path(m, name, metadata, err);
			*base = status == 0 ? steal_ptr(&metadata) : NULL;
			return status;
		}
		make_immutable(m, false);
		if (status < 0)
			return -1;
	}
}

int microagent_base_create(struct microagent *agent, const char *word,
			   const struct microagent_base_spec *spec, json_t **base,
			   struct error *err)
{
	struct making m = MAKING_NONE;
	struct base_name name;
	int status = -1;

	if (base_name_parse(word, &name, err) < 0)
		return -1;
	if (name.version)
		return error_set(err, ERR_INVALID,
				 "\"%s\": the version is given by microagent; name it %s", word,
				 name.name);
	if (find_parts(&m, spec, err) == 0 &&
	    state_sub_open(agent, BASES_DIR, true, &m.dir, err) == 0 &&
	    make_directory(&m, err) == 0 && copy_disk(&m, err) == 0)
		status = seal(&m, &name, spec, base, err);
	making_end(&m);
	return status;
}
