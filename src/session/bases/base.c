/* SPDX-License-Identifier: MIT */
/* Finds a base on disk, reads its record, and compares its files with the record. */
#include "session/bases/base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "channel/hasher.h"
#include "contract/provenance.h"

#define METADATA_BYTES (1u << 20)

void base_close(struct base *base)
{
	if (base->fd >= 0)
		close(base->fd);
	free(base->path);
	json_decref(base->metadata);
	*base = (struct base)BASE_NONE;
}

/* --- metadata -------------------------------------------------------------------------------- */

/* Checks that the object `section` of the metadata has the name of a file under the key `key`, and
 * the digest of this file. */
static int check_file(const json_t *metadata, const char *section, const char *key,
		      struct error *err)
{
	const char *name = NULL, *sha256 = NULL;
	json_t *object = NULL;

	if (json_get_object(metadata, "", section, JSON_REQUIRED, &object, err) < 0 ||
	    json_get_string(object, section, key, JSON_REQUIRED, &name, err) < 0 ||
	    json_get_string(object, section, "sha256", JSON_REQUIRED, &sha256, err) < 0)
		return -1;
	if (!digest_is_valid(sha256))
		return error_set(
			err, ERR_INVALID,
			"the base's record is damaged, because %s.sha256 is not a digest of 64 digits of 0-9 and a-f",
			section);
	return 0;
}

static int check_shape(const json_t *metadata, struct error *err)
{
	static const char *const of_macos[] = {"auxiliaryStorage", "hardwareModel",
					       "machineIdentifier", "restoreImage"};
	int64_t format = 0, version = 0, memory = 1, cpus = 1, bytes = 0;
	const char *name = NULL;
	json_t *env = NULL;

	if (json_get_int(metadata, "", "format", JSON_REQUIRED, 1, INT32_MAX, &format, err) < 0)
		return -1;
	if (format > BASE_FORMAT_MACOS)
		return error_set(
			err, ERR_UNSUPPORTED,
			"the base's format, %lld, is from a newer version of microagent: use that version",
			(long long)format);
	if (json_get_string(metadata, "", "name", JSON_REQUIRED, &name, err) < 0 ||
	    json_get_int(metadata, "", "version", JSON_REQUIRED, 1, INT32_MAX, &version, err) < 0 ||
	    json_get_object(metadata, "", "env", JSON_OPTIONAL, &env, err) < 0 ||
	    json_get_int(metadata, "", "memoryMiB", JSON_OPTIONAL, 1, INT32_MAX, &memory, err) <
		    0 ||
	    json_get_int(metadata, "", "cpuCount", JSON_OPTIONAL, 1, INT32_MAX, &cpus, err) < 0)
		return -1;
	/* The key "bytes" is required, because it is the largest size of a session's disk. */
	if (check_file(metadata, "disk", "file", err) < 0 ||
	    json_get_int(json_object_get(metadata, "disk"), "disk", "bytes", JSON_REQUIRED, 1,
			 INT64_MAX, &bytes, err) < 0)
		return -1;
	if (format == BASE_FORMAT_MACOS) {
		for (size_t i = 0; i < ARRAY_SIZE(of_macos); i++)
			if (check_file(metadata, of_macos[i], "file", err) < 0)
				return -1;
		return 0;
	}
	if (check_file(metadata, "kernel", "path", err) < 0)
		return -1;
	if (json_object_get(metadata, "layer") && check_file(metadata, "layer", "file", err) < 0)
		return -1;
	return check_file(metadata, "initrd", "path", err);
}

bool base_is_macos(const struct base *base)
{
	return json_integer_value(json_object_get(base->metadata, "format")) == BASE_FORMAT_MACOS;
}

const char *base_architecture(const struct base *base)
{
	return json_text(base->metadata, "architecture", architecture_name(ARCHITECTURE_AMD64));
}

static int64_t base_number(const struct base *base, const char *key)
{
	return json_integer_value(json_object_get(base->metadata, key));
}

struct microagent_machine base_machine(const struct base *base,
				       const struct microagent_machine *asked)
{
	struct microagent_machine machine = *asked;

	machine.architecture = base_is_macos(base) ? NULL : base_architecture(base);
	if (!machine.memory_mib)
		machine.memory_mib = base_number(base, "memoryMiB");
	if (!machine.cpus)
		machine.cpus = base_number(base, "cpuCount");
	return machine;
}

json_t *base_provenance(const struct base *base, struct error *err)
{
	const json_t *source = json_object_get(base->metadata, "source");
	const char *ipsw =
		json_text(json_object_get(base->metadata, "restoreImage"), "sha256", NULL);
	const char *digest = json_text(source, "digest", NULL);
	char of_ipsw[CACHE_DIGEST_TEXT];
	json_t *nothing;

	if (!digest && ipsw) {
		snprintf(of_ipsw, sizeof(of_ipsw), "sha256:%s", ipsw);
		digest = of_ipsw;
	}
	if (digest)
		return provenance_new(json_text(source, "ref", ""), digest, err);
	nothing = json_object();
	if (!nothing)
		error_errno(err, ENOMEM, "base");
	return nothing;
}

json_t *base_metadata_read(int fd, const char *path, struct error *err)
{
	autobuf struct buf text = BUF_INIT(METADATA_BYTES);
	json_auto_t *metadata = NULL;
	struct error why = {0};

	if (path_read_file_at(fd, BASE_METADATA, &text, &why) == 0)
		metadata = json_load_strict(buf_bytes(&text), text.len, &why);
	if (metadata && check_shape(metadata, &why) == 0)
		return steal_ptr(&metadata);
	error_set(err, why.code == ERR_UNSUPPORTED ? ERR_UNSUPPORTED : ERR_IO,
		  "%s/" BASE_METADATA ": %s", path, why.msg);
	return NULL;
}

/* --- finding --------------------------------------------------------------------------------- */

unsigned base_newest(const struct state_dir *dir, const char *name)
{
	int own = openat(dir->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autodir DIR *entries = own >= 0 ? fdopendir(own) : NULL;
	const struct dirent *entry;
	unsigned newest = 0;

	if (own >= 0 && !entries)
		close(own);
	while (entries && (entry = readdir(entries))) {
		struct base_name found;

		if (base_name_of_bundle(entry->d_name, &found) && !strcmp(found.name, name) &&
		    found.version > newest)
			newest = found.version;
	}
	return newest;
}

/* Sets the error for a missing base. The reason of the error has the base's name without a version,
 * because the hint made from it is a command that makes the base, and a user cannot choose the
 * version of a new base. */
static int not_found(const char *word, const char *dir, struct error *err)
{
	struct base_name name = {0};
	const char *makes = word;

	if (base_name_parse(word, &name, NULL) == 0 && name.version)
		makes = name.name;
	error_set(err, ERR_NOT_FOUND, "there is no base \"%s\" in %s", word, dir);
	return error_reason(err, REASON_NO_BASE, makes);
}

/* Opens the bundle of the version in base->name, or of the newest version if base->name has no
 * version. */
static int find_bundle(const struct state_dir *dir, const char *word, struct base *base,
		       struct error *err)
{
	char file[sizeof(base->name.full) + 8];

	if (!base->name.version)
		base->name.version = base_newest(dir, base->name.name);
	if (!base->name.version)
		return not_found(word, dir->path, err);
	snprintf(base->name.full, sizeof(base->name.full), "%s-v%u", base->name.name,
		 base->name.version);
	snprintf(file, sizeof(file), "%s" BUNDLE_SUFFIX, base->name.full);
	base->path = path_join(dir->path, file, err);
	if (!base->path)
		return -1;
	base->fd = openat(dir->fd, file, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (base->fd < 0 && errno == ENOENT)
		return not_found(word, dir->path, err);
	if (base->fd < 0)
		return error_errno(err, errno, "%s", base->path);
	return 0;
}

int base_open(const struct microagent *agent, const char *word, enum base_use use, struct base *out,
	      struct error *err)
{
	auto_state_dir struct state_dir dir = {0};
	auto_base struct base base = BASE_NONE;
	struct stat locked, named;
	struct error why = {0};

	if (state_sub_open(agent, BASES_DIR, false, &dir, &why) < 0)
		return why.code == ERR_NOT_FOUND ? not_found(word, agent->state_path, err)
						 : error_copy(err, &why);
	if (base_name_parse(word, &base.name, err) < 0 || find_bundle(&dir, word, &base, err) < 0)
		return -1;
	if (flock(base.fd, (use == BASE_SHARED ? LOCK_SH : LOCK_EX) | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK)
			return error_errno(err, errno, "%s", base.path);
		return error_set(
			err, ERR_CONFLICT,
			use == BASE_SHARED
				? "base %s is being deleted by another command: name another base"
				: "a session is being made of base %s: try again when the session is made",
			base.name.full);
	}
	/* The bundle may have been deleted after it was opened and before it was locked. Such a
	 * bundle is not used. */
	if (fstat(base.fd, &locked) < 0 ||
	    fstatat(dir.fd, strrchr(base.path, '/') + 1, &named, AT_SYMLINK_NOFOLLOW) < 0 ||
	    locked.st_dev != named.st_dev || locked.st_ino != named.st_ino)
		return not_found(word, dir.path, err);
	if (use == BASE_SHARED) {
		base.metadata = base_metadata_read(base.fd, base.path, err);
		if (!base.metadata)
			return -1;
	}
	*out = base;
	base = (struct base)BASE_NONE;
	return 0;
}

/* --- files ----------------------------------------------------------------------------------- */

static const char *metadata_text(const json_t *metadata, const char *section, const char *key)
{
	return json_text(json_object_get(metadata, section), key, NULL);
}

void base_files_free(struct base_file files[BASE_FILES])
{
	for (size_t i = 0; i < BASE_FILES; i++)
		free(steal_ptr(&files[i].path));
}

/* The kinds of guests. A row below says for which of these kinds a base has the file. */
enum of_guest { OF_LINUX = 1, OF_MACOS = 2, OF_BOTH = OF_LINUX | OF_MACOS };

int base_files(const struct base *base, struct base_file out[BASE_FILES], struct error *err)
{
	static const struct {
		const char *label, *key;
		enum of_guest whose;
	} rows[BASE_FILES] = {
		[BASE_FILE_DISK] = {"disk", "file", OF_BOTH},
		[BASE_FILE_KERNEL] = {"kernel", "path", OF_LINUX},
		[BASE_FILE_LAYER] = {"layer", "file", OF_LINUX},
		[BASE_FILE_AUXILIARY] = {"auxiliaryStorage", "file", OF_MACOS},
		[BASE_FILE_MODEL] = {"hardwareModel", "file", OF_MACOS},
		[BASE_FILE_IDENTIFIER] = {"machineIdentifier", "file", OF_MACOS},
		[BASE_FILE_IPSW] = {"restoreImage", "file", OF_MACOS},
	};
	enum of_guest guest = base_is_macos(base) ? OF_MACOS : OF_LINUX;
	struct base_file files[BASE_FILES] = {0};

	for (size_t i = 0; i < BASE_FILES; i++) {
		if (!(rows[i].whose & guest))
			continue;
		files[i].label = rows[i].label;
		files[i].sha256 = metadata_text(base->metadata, rows[i].label, "sha256");
		const char *path = metadata_text(base->metadata, rows[i].label, rows[i].key);

		/* The metadata has relative paths for files in the bundle, because the bundle may
		 * have been moved. */
		files[i].path = path_join(base->path, path ? path : BASE_LAYER, err);
		if (!files[i].path) {
			base_files_free(files);
			return -1;
		}
	}
	memcpy(out, files, sizeof(files));
	return 0;
}

static int check_digest(const struct base *base, const struct base_file *file, struct error *err)
{
	autoclose int fd = -1;
	char now[DIGEST_TEXT];

	if (!file->path || !file->sha256)
		return 0;
	fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return error_errno(err, errno, "base %s is damaged: its %s, %s", base->name.full,
				   file->label, file->path);
	if (digest_of(fd, DIGEST_FILE, now, err) < 0)
		return error_prefix(err, "base %s: %s", base->name.full, file->path);
	if (strcmp(now, file->sha256) == 0)
		return 0;
	error_set(
		err, ERR_CONFLICT,
		"base %s is damaged: its %s, %s, has changed since the base was sealed (the digest is %.12s now, and was %.12s)",
		base->name.full, file->label, file->path, now, file->sha256);
	return error_reason(err, REASON_BASE_DAMAGED, base->name.name);
}

int base_check(const struct base *base, struct error *err)
{
	struct base_file files[BASE_FILES];
	int status = base_files(base, files, err);

	if (status < 0)
		return -1;
	for (size_t i = 0; status == 0 && i < BASE_FILES; i++)
		if (i != BASE_FILE_IPSW)
			status = check_digest(base, &files[i], err);
	base_files_free(files);
	return status;
}
