/* SPDX-License-Identifier: MIT */
/* Seals a base: records the digests of all files from which sessions are made, and gives the base
 * its final name. */
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/path.h"
#include "base/platform/file.h"
#include "base/platform/sync.h"
#include "channel/hasher.h"
#include "contract/macos.h"
#include "session/bases/base_making.h"
#include "store/layer.h"

static json_t *write_layer(const struct making *m, uint64_t size, struct error *err)
{
	autoclose int fd =
		openat(m->fd, BASE_LAYER, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	char digest[DIGEST_TEXT];

	if (fd < 0) {
		error_errno(err, errno, "%s", BASE_LAYER);
		return NULL;
	}
	if (layer_write(fd, size, err) < 0)
		return NULL;
	if (fchmod(fd, 0444) < 0 || file_sync(fd) < 0) {
		error_errno(err, errno, "%s", BASE_LAYER);
		return NULL;
	}
	if (digest_of(fd, DIGEST_FILE, digest, err) < 0) {
		error_prefix(err, "%s", BASE_LAYER);
		return NULL;
	}
	return json_pack("{s:s,s:s}", "file", BASE_LAYER, "sha256", digest);
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

/* Sets the mode to 0444 before computing the digest. The digest is remembered together with the
 * file's times, and a change of the mode changes one of these times. */
int base_seal_file(int dir, const char *name, struct stat *st, char digest[DIGEST_TEXT],
		   struct error *err)
{
	autoclose int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 || fchmod(fd, 0444) < 0 || file_sync(fd) < 0 || fstat(fd, st) < 0)
		return error_errno(err, errno, "%s", name);
	return digest_of(fd, DIGEST_FILE, digest, err) < 0 ? error_prefix(err, "%s", name) : 0;
}

static json_t *seal_file(const struct making *m, const char *name, struct stat *st,
			 struct error *err)
{
	char digest[DIGEST_TEXT];

	if (base_seal_file(m->fd, name, st, digest, err) < 0)
		return NULL;
	return json_pack("{s:s,s:s}", "file", name, "sha256", digest);
}

static json_t *seal_disk(const struct making *m, uint64_t *size, struct error *err)
{
	struct stat st;
	json_auto_t *record = seal_file(m, BASE_DISK, &st, err);

	if (!record || json_put(record, "bytes", json_integer(st.st_size), err) < 0 ||
	    json_put(record, "allocatedBytes", json_integer((json_int_t)st.st_blocks * 512), err) <
		    0)
		return NULL;
	*size = (uint64_t)st.st_size;
	return steal_ptr(&record);
}

static json_t *source_record(const struct making *m, struct error *err)
{
	const struct cache_image *image = &m->image;
	json_auto_t *source = json_object();
	autofree char *own = NULL;
	char digest[CACHE_DIGEST_TEXT];
	const char *kind, *ref;

	if (m->macos) {
		own = m->fetched ? NULL : path_absolute(m->spec->ipsw, err);
		kind = "ipsw";
		ref = m->fetched ? m->fetched_from : own;
	} else {
		kind = image->source ? "oci" : "image";
		ref = image->source ? image->source : image->cached ? image->name : image->path;
	}
	if (!ref || json_put_string(source, "kind", kind, err) < 0 ||
	    json_put(source, "ref", json_string_lossy(ref, strlen(ref)), err) < 0)
		return NULL;
	if (!m->macos && cache_image_digest(image, digest) &&
	    json_put_string(source, "digest", digest, err) < 0)
		return NULL;
	return steal_ptr(&source);
}

/* Writes the name of the user who makes the base to out, as "user@host". */
static void creator(char out[256])
{
	struct passwd entry, *user = NULL;
	char texts[4096], host[128] = "";

	if (gethostname(host, sizeof(host) - 1) < 0)
		host[0] = '\0';
	if (getpwuid_r(geteuid(), &entry, texts, sizeof(texts), &user) == 0 && user)
		snprintf(out, 256, "%.120s@%s", user->pw_name, host);
	else
		snprintf(out, 256, "uid %u@%s", (unsigned)geteuid(), host);
}

/* Returns a size that the base's sessions have by default: `given` if it is not 0. Otherwise
 * returns the size that macOS needs (the member `key` of m->macos), or `otherwise` if the guest is
 * Linux. */
static int64_t size_for_sessions(const struct making *m, int64_t given, const char *key,
				 int64_t otherwise)
{
	if (given)
		return given;
	return m->macos ? json_integer_value(json_object_get(m->macos, key)) : otherwise;
}

static json_t *describe_base(const struct making *m, struct error *err)
{
	const struct microagent_base_spec *spec = m->spec;
	const struct cache_image *image = &m->image;
	/* The image's settings for its programs. The variables in "env" are set for every command
	 * that runs in a session. */
	const struct {
		const char *key;
		json_t *value;
	} recorded[] = {
		{"entrypoint", image->entrypoint}, {"cmd", image->cmd}, {"env", image->env}};
	json_auto_t *metadata = json_object();
	char now[CLOCK_TEXT], who[256];

	clock_rfc3339(clock_real_ns(), now);
	creator(who);
	if (json_put(metadata, "format",
		     json_integer(m->macos ? BASE_FORMAT_MACOS : BASE_FORMAT_LINUX), err) < 0 ||
	    json_put_string(metadata, "name", m->base.full, err) < 0 ||
	    json_put(metadata, "version", json_integer(m->base.version), err) < 0 ||
	    json_put_string(metadata, "createdAt", now, err) < 0 ||
	    json_put(metadata, "createdBy", json_string_lossy(who, strlen(who)), err) < 0 ||
	    json_put_string(metadata, "microagentVersion", MICROAGENT_VERSION, err) < 0 ||
	    json_put_string(metadata, "architecture", architecture_name(m->architecture), err) <
		    0 ||
	    json_put(metadata, "source", source_record(m, err), err) < 0 ||
	    json_put(metadata, "memoryMiB",
		     json_integer(size_for_sessions(m, spec->machine.memory_mib, "memoryMiB",
						    BASE_DEFAULT_MEMORY_MIB)),
		     err) < 0 ||
	    json_put(metadata, "cpuCount",
		     json_integer(size_for_sessions(m, spec->machine.cpus, "cpuCount",
						    BASE_DEFAULT_CPUS)),
		     err) < 0)
		return NULL;
	if (m->macos && json_put(metadata, "macos", json_incref(m->macos), err) < 0)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(recorded); i++)
		if (recorded[i].value &&
		    json_put(metadata, recorded[i].key, json_incref(recorded[i].value), err) < 0)
			return NULL;
	if ((image->user && json_put_string(metadata, "user", image->user, err) < 0) ||
	    (image->cwd && json_put_string(metadata, "cwd", image->cwd, err) < 0))
		return NULL;
	if (m->provisioning &&
	    json_put(metadata, "provisioning", json_incref(m->provisioning), err) < 0)
		return NULL;
	return steal_ptr(&metadata);
}

/* An entry of the metadata: the record of one file, with its digest. */
struct sealed {
	const char *key;
	json_t *record; /* the record of the file; put_sealed() releases it; NULL: the record could
			 * not be made, and err is set */
};

static int put_sealed(json_t *metadata, const struct sealed *files, size_t count, struct error *err)
{
	int status = 0;

	for (size_t i = 0; i < count; i++) {
		if (!files[i].record)
			status = -1;
		else if (status == 0)
			status = json_put(metadata, files[i].key, files[i].record, err);
		else
			json_decref(files[i].record);
	}
	return status;
}

static int add_linux_files(const struct making *m, json_t *metadata, struct error *err)
{
	uint64_t size = 0;
	json_t *disk = seal_disk(m, &size, err);
	const struct sealed files[] = {{"disk", disk},
				       {"layer", disk ? write_layer(m, size, err) : NULL},
				       {"kernel", file_record(m->kernel.path, err)},
				       {"initrd", file_record(m->kernel.initrd, err)},
				       {"init", init_record(m->kernel.initrd, err)}};

	return put_sealed(metadata, files, ARRAY_SIZE(files), err);
}

static int add_macos_files(const struct making *m, json_t *metadata, struct error *err)
{
	uint64_t size = 0;
	struct stat st;
	const struct sealed files[] = {
		{"disk", seal_disk(m, &size, err)},
		{"auxiliaryStorage", seal_file(m, MACOS_AUXILIARY, &st, err)},
		{"hardwareModel", seal_file(m, MACOS_MODEL, &st, err)},
		{"machineIdentifier", seal_file(m, MACOS_IDENTIFIER, &st, err)},
		{"restoreImage", seal_file(m, BASE_IPSW, &st, err)}};

	return put_sealed(metadata, files, ARRAY_SIZE(files), err);
}

static void set_immutable(int dir, bool on)
{
	static const char *const files[] = {BASE_DISK,	      BASE_LAYER,  BASE_METADATA,
					    BASE_LOG,	      MACOS_MODEL, MACOS_AUXILIARY,
					    MACOS_IDENTIFIER, BASE_IPSW};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		autoclose int fd =
			openat(dir, files[i], O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

		if (fd >= 0)
			file_set_immutable(fd, on);
	}
}

void base_clear_immutable(int dir)
{
	set_immutable(dir, false);
}

/* Digests of new files are usually not remembered, because a writer may still have the file open.
 * This file was open only in this process, so its digest is remembered. */
void base_remember_sealed(int dir, const char *file, const char *digest)
{
	autoclose int fd = openat(dir, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct digest_key found;

	if (fd >= 0 && digest && digest_key(fd, DIGEST_FILE, &found, NULL) == 0)
		digest_remember(&found, digest);
}

static void remember_digests(const struct making *m, const json_t *metadata)
{
	static const struct {
		const char *key, *file;
	} rows[] = {{"disk", BASE_DISK},
		    {"layer", BASE_LAYER},
		    {"auxiliaryStorage", MACOS_AUXILIARY},
		    {"hardwareModel", MACOS_MODEL},
		    {"machineIdentifier", MACOS_IDENTIFIER},
		    {"restoreImage", BASE_IPSW}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		base_remember_sealed(
			m->fd, rows[i].file,
			json_text(json_object_get(metadata, rows[i].key), "sha256", NULL));
}

/* Renames the base to its final name. Returns 0 on success, 1 if another base already has the name,
 * or -1 with err set. After 1, the caller tries the next version. On an error, the rename is
 * undone. No other process has used the base before the rename is undone, because this process has
 * the directory locked. */
static int publish_base(struct making *m, struct error *err)
{
	char file[sizeof(m->base.full) + 8];

	snprintf(file, sizeof(file), "%s" BUNDLE_SUFFIX, m->base.full);
	if (file_rename_new(m->dir.fd, m->name, m->dir.fd, file) < 0)
		return errno == EEXIST ? 1 : error_errno(err, errno, "%s/%s", m->dir.path, file);
	if (file_sync(m->dir.fd) < 0) {
		error_errno(err, errno, "%s", m->dir.path);
		if (file_rename_new(m->dir.fd, file, m->dir.fd, m->name) < 0)
			m->name[0] = '\0'; /* empty, so that the directory, which has its final name
					    * now, is not removed */
		return -1;
	}
	m->name[0] = '\0';
	return 0;
}

int base_seal(struct making *m, json_t **base, struct error *err)
{
	struct base_name *name = &m->base;

	for (;;) {
		json_auto_t *metadata = NULL;
		autofree char *text = NULL;
		autofree char *path = NULL;
		int status;

		name->version = base_newest(&m->dir, name->name) + 1;
		snprintf(name->full, sizeof(name->full), "%s-v%u", name->name, name->version);
		metadata = describe_base(m, err);
		/* In a second attempt, the layer of the first attempt is removed here. An attempt
		 * is repeated if another process has taken the base's name. */
		(void)unlinkat(m->fd, BASE_LAYER, 0);
		if (!metadata ||
		    (m->macos ? add_macos_files : add_linux_files)(m, metadata, err) < 0)
			return -1;
		text = json_pretty(metadata, err);
		if (!text || path_replace_file_at(m->fd, BASE_METADATA, text, strlen(text), 0444,
						  PATH_SYNC, err) < 0)
			return -1;
		if (asprintf(&path, "%s/%s" BUNDLE_SUFFIX, m->dir.path, name->full) < 0) {
			path = NULL;
			return error_errno(err, ENOMEM, "base");
		}
		if (json_put_string(metadata, "path", path, err) < 0)
			return -1;
		set_immutable(m->fd, true);
		remember_digests(m, metadata);
		status = publish_base(m, err);
		if (status == 0) {
			*base = steal_ptr(&metadata);
			return 0;
		}
		if (m->name[0])
			set_immutable(m->fd, false);
		if (status < 0)
			return -1;
	}
}
