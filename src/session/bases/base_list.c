/* SPDX-License-Identifier: MIT */
/* What there is of bases, and whether it is whole. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "channel/hasher.h"
#include "session/bases/base.h"

json_t *microagent_base_show(struct microagent *agent, const char *word, struct error *err)
{
	auto_base struct base base = BASE_NONE;

	if (base_open(agent, word, BASE_SHARED, &base, err) < 0 ||
	    json_put_string(base.metadata, "path", base.path, err) < 0)
		return NULL;
	return steal_ptr(&base.metadata);
}

/* --- list ------------------------------------------------------------------------------------ */

static int compare_names(const void *a, const void *b)
{
	const struct base_name *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	if (order)
		return order;
	return x->version < y->version ? -1 : x->version > y->version;
}

/* Sorted; malloc'd. */
static struct base_name *list_names(const struct state_dir *dir, size_t *count, struct error *err)
{
	int own = openat(dir->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autodir DIR *entries = own >= 0 ? fdopendir(own) : NULL;
	autofree struct base_name *names = calloc(1, sizeof(*names));
	const struct dirent *entry;
	size_t n = 0;

	if (own >= 0 && !entries)
		close(own);
	if (!entries || !names) {
		error_errno(err, errno, "%s", dir->path);
		return NULL;
	}
	while ((entry = readdir(entries))) {
		struct base_name *more;

		if (!base_name_of_bundle(entry->d_name, &names[n]))
			continue;
		more = reallocarray(names, ++n + 1, sizeof(*names));
		if (!more) {
			error_errno(err, ENOMEM, "%s", dir->path);
			return NULL;
		}
		names = more;
	}
	qsort(names, n, sizeof(*names), compare_names);
	*count = n;
	return steal_ptr(&names);
}

/* One that is being deleted just now is passed over. */
static int add_base(struct microagent *agent, const char *name, json_t *list, struct error *err)
{
	struct error why = {0};
	json_auto_t *entry = microagent_base_show(agent, name, &why);

	if (!entry && (why.code == ERR_NOT_FOUND || why.code == ERR_CONFLICT))
		return 0;
	if (!entry)
		entry = json_pack("{s:s,s:o}", "name", name, "error",
				  json_string_lossy(why.msg, strlen(why.msg)));
	if (!entry || json_array_append(list, entry) < 0)
		return error_errno(err, ENOMEM, "list of bases");
	return 0;
}

json_t *microagent_base_list(struct microagent *agent, struct error *err)
{
	json_auto_t *list = json_array();
	autofree struct base_name *names = NULL;
	struct error why = {0};
	struct state_dir dir;
	size_t count = 0;

	if (state_sub_open(agent, BASES_DIR, false, &dir, &why) == 0) {
		names = list_names(&dir, &count, err);
		state_dir_close(&dir);
		if (!names)
			return NULL;
	} else if (why.code != ERR_NOT_FOUND) {
		error_copy(err, &why);
		return NULL;
	}
	for (size_t i = 0; i < count; i++)
		if (add_base(agent, names[i].full, list, err) < 0)
			return NULL;
	return json_pack("{s:O}", "bases", list);
}

/* --- verify ---------------------------------------------------------------------------------- */

static json_t *verify_base_file(const struct base_file *file)
{
	autoclose int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	char now[DIGEST_TEXT] = "";
	struct error why = {0};

	if (fd < 0)
		error_errno(&why, errno, "%s", file->path);
	else if (digest_of(fd, DIGEST_FILE, now, &why) == 0 && strcmp(now, file->sha256) != 0)
		error_set(&why, ERR_CONFLICT, "%s: %.12s now, %.12s when it was sealed", file->path,
			  now, file->sha256);
	if (!why.code)
		return json_pack("{s:s,s:b}", "file", file->path, "ok", 1);
	return json_pack("{s:s,s:b,s:o}", "file", file->path, "ok", 0, "error",
			 json_string_lossy(why.msg, strlen(why.msg)));
}

json_t *microagent_base_verify(struct microagent *agent, const char *word, struct error *err)
{
	auto_base struct base base = BASE_NONE;
	json_auto_t *checks = json_array();
	struct base_file files[BASE_FILES];
	bool ok = true, complete = checks != NULL;

	if (base_open(agent, word, BASE_SHARED, &base, err) < 0 ||
	    base_files(&base, files, err) < 0)
		return NULL;
	for (size_t i = 0; i < BASE_FILES; i++) {
		json_t *check;

		if (!files[i].sha256)
			continue;
		check = verify_base_file(&files[i]);
		ok = ok && json_is_true(json_object_get(check, "ok"));
		complete = complete && json_array_append_new(checks, check) == 0;
	}
	base_files_free(files);
	if (!complete) {
		error_errno(err, ENOMEM, "verification");
		return NULL;
	}
	return json_pack("{s:b,s:s,s:O}", "ok", (int)ok, "name", base.name.full, "checks", checks);
}
