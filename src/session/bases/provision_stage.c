/* SPDX-License-Identifier: MIT */
#include "session/bases/provision_stage.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "channel/hasher.h"
#include "store/own_links.h"

void provision_stage_free(struct provision_stage *stage)
{
	json_decref(stage->script);
	json_decref(stage->files);
	*stage = (struct provision_stage){0};
}

static const char *staged_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Copies a user's file to the file `name` in dir, and returns a descriptor of the copy. If `mode`
 * is 0, the copy gets the permissions of the user's file, and the owner of the copy may also read
 * and write it. */
static int copy_to_stage(const char *path, int dir, const char *name, mode_t mode,
			 struct error *err)
{
	autoclose int from = own_links_file(path, O_RDONLY, NULL, err);
	autoclose int copy = -1;
	struct stat st;

	if (from < 0)
		return -1;
	if (fstat(from, &st) < 0)
		return error_errno(err, errno, "%s", path);
	if (S_ISDIR(st.st_mode))
		return error_set(err, ERR_INVALID,
				 "%s is a directory: pack it into a tar archive and stage that",
				 path);
	if (!S_ISREG(st.st_mode))
		return error_set(err, ERR_INVALID, "%s is not a regular file: give a file to stage",
				 path);
	if (path_clone_file_at(from, dir, name, mode ? mode : (st.st_mode & 0777) | 0600, NULL,
			       err) < 0)
		return error_prefix(err, "%s", path);
	copy = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	return copy < 0 ? error_errno(err, errno, "%s", path) : steal_fd(&copy);
}

/* Returns the object {"name","sha256","bytes"} about the copy. */
static json_t *record_staged(const char *name, int copy, struct error *err)
{
	char digest[DIGEST_TEXT];
	struct stat st;
	json_t *record;

	if (digest_of(copy, DIGEST_FILE, digest, err) < 0)
		return NULL;
	if (fstat(copy, &st) < 0) {
		error_errno(err, errno, "%s", name);
		return NULL;
	}
	record = json_pack("{s:o,s:s,s:I}", "name", json_string_lossy(name, strlen(name)), "sha256",
			   digest, "bytes", (json_int_t)st.st_size);
	if (!record)
		error_errno(err, ENOMEM, "%s", name);
	return record;
}

static int stage_file(const char *path, int dir, struct provision_stage *stage, struct error *err)
{
	const char *name = staged_name(path);
	autoclose int copy = -1;
	json_t *entry;
	struct stat st;

	if (!path_is_safe_basename(name))
		return error_set(err, ERR_INVALID,
				 "\"%s\" cannot be the name of a staged file: rename the file",
				 path);
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return error_set(
			err, ERR_INVALID,
			"%s cannot be staged, because another file called %s is staged already: rename one of them",
			path, name);
	copy = copy_to_stage(path, dir, name, 0, err);
	entry = copy < 0 ? NULL : record_staged(name, copy, err);
	if (!entry)
		return -1;
	stage->bytes += json_integer_value(json_object_get(entry, "bytes"));
	return json_array_append_new(stage->files, entry) == 0
		       ? 0
		       : error_errno(err, ENOMEM, "%s", path);
}

int provision_stage_copy(int dir, const struct microagent_base_spec *spec,
			 struct provision_stage *out, struct error *err)
{
	__attribute__((cleanup(provision_stage_free))) struct provision_stage stage = {0};
	autoclose int files = path_open_dir_at(dir, STAGE_FILES, true, 0755, err);
	autoclose int copy = -1;
	char begin[2] = "";

	if (files < 0)
		return -1;
	stage.files = json_array();
	if (!stage.files)
		return error_errno(err, ENOMEM, "stage");
	for (const char *const *path = spec->stage; path && *path; path++)
		if (stage_file(*path, files, &stage, err) < 0)
			return -1;
	if (spec->script) {
		copy = copy_to_stage(spec->script, dir, STAGE_SCRIPT, 0700, err);
		if (copy < 0)
			return -1;
		stage.has_program =
			pread(copy, begin, 2, 0) == 2 && begin[0] == '#' && begin[1] == '!';
		stage.script = record_staged(staged_name(spec->script), copy, err);
		if (!stage.script)
			return -1;
		stage.bytes += json_integer_value(json_object_get(stage.script, "bytes"));
		if (json_object_del(stage.script, "bytes") < 0)
			return -1;
	}
	*out = stage;
	stage = (struct provision_stage){0};
	return 0;
}
