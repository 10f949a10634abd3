/* SPDX-License-Identifier: MIT */
/* Lists the bases, and checks whether they are undamaged. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "channel/hasher.h"
#include "session/templates/template.h"
#include "store/cache.h"

json_t *base_tell(struct base *base, struct error *err)
{
	json_t *template = base_template_told(base);

	if (json_put_string(base->metadata, "path", base->path, err) < 0 ||
	    (template && json_put(base->metadata, "template", template, err) < 0))
		return NULL;
	return steal_ptr(&base->metadata);
}

json_t *microagent_base_show(struct microagent *agent, const char *word, struct error *err)
{
	auto_base struct base base = BASE_NONE;

	return base_open(agent, word, BASE_SHARED, &base, err) < 0 ? NULL : base_tell(&base, err);
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

/* Returns the sorted names of all bases in dir. The caller frees the result. */
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
		more = array_resize(names, ++n + 1, sizeof(*names));
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
	for (size_t i = 0; i < count; i++) {
		const char *name = names[i].full;
		struct error failed = {0};
		json_auto_t *entry = microagent_base_show(agent, name, &failed);

		/* Skips a base that another process is deleting. */
		if (!entry && (failed.code == ERR_NOT_FOUND || failed.code == ERR_CONFLICT))
			continue;
		if (!entry)
			entry = json_pack("{s:s,s:o}", "name", name, "error",
					  json_string_lossy(failed.msg, strlen(failed.msg)));
		if (!entry || json_array_append(list, entry) < 0) {
			error_errno(err, ENOMEM, "list of bases");
			return NULL;
		}
	}
	return json_pack("{s:O}", "bases", list);
}

/* --- verify ---------------------------------------------------------------------------------- */

struct sealed_file {
	const char *what, *path;
	enum digest_part part;
	const char *sha256; /* the digest that was recorded when the base was sealed; NULL: not
			     * recorded */
	/* The digest that the cache recorded when an upgrade replaced the file; "" if the file was
	 * not replaced. */
	const char *newer;
};

static json_t *verify_base_file(const struct sealed_file *file)
{
	autoclose int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	char now[DIGEST_TEXT] = "";
	struct error why = {0};
	bool refreshed = false;

	if (fd < 0)
		error_errno(&why, errno, "%s", file->path);
	else if (digest_of(fd, file->part, now, &why) == 0 && strcmp(now, file->sha256) != 0) {
		refreshed = *now && strcmp(now, file->newer) == 0;
		if (!refreshed)
			error_set(
				&why, ERR_CONFLICT,
				"%s has changed since its base was sealed: its digest is %.12s now, and was %.12s",
				file->path, *now ? now : "none", file->sha256);
	}
	if (why.code)
		return json_pack("{s:s,s:s,s:b,s:o}", "what", file->what, "file", file->path, "ok",
				 0, "error", json_string_lossy(why.msg, strlen(why.msg)));
	return json_pack("{s:s,s:s,s:b,s:o*}", "what", file->what, "file", file->path, "ok", 1,
			 "refreshed", refreshed ? json_true() : NULL);
}

/* Checks the digest of each file, and appends one result for each file to checks. Returns 1 if
 * every file has the digest of its sealing or of its last replacement by an upgrade. Returns 0 if a
 * file has neither, or -1 with err set. */
static int verify_sealed(const struct sealed_file *files, size_t count, json_t *checks,
			 struct error *err)
{
	int ok = 1;

	for (size_t i = 0; i < count; i++) {
		json_t *check = files[i].sha256 ? verify_base_file(&files[i]) : NULL;

		if (!files[i].sha256)
			continue;
		ok &= json_is_true(json_object_get(check, "ok"));
		if (json_array_append_new(checks, check) < 0)
			return error_errno(err, ENOMEM, "verification");
	}
	return ok;
}

static int verify_own_files(const struct base *base, json_t *checks, struct error *err)
{
	struct base_file files[BASE_FILES];
	struct sealed_file sealed[BASE_FILES];
	int status = base_files(base, files, err);

	if (status < 0)
		return -1;
	for (size_t i = 0; i < BASE_FILES; i++)
		sealed[i] = (struct sealed_file){files[i].label, files[i].path, DIGEST_FILE,
						 files[i].sha256, ""};
	status = verify_sealed(sealed, BASE_FILES, checks, err);
	base_files_free(files);
	return status;
}

/* Checks the base's template. If the template's record is damaged, the damage is reported in
 * checks, and is not an error of this function. */
static int verify_template(const struct base *base, json_t *checks, struct error *err)
{
	static const struct {
		const char *what, *key, *file;
	} parts[] = {{"template ram", "ram", TEMPLATE_RAM},
		     {"template state", "state", TEMPLATE_STATE},
		     {"template disk", "disk", TEMPLATE_DISK}};
	auto_template struct base_template of = BASE_TEMPLATE_NONE;
	struct error why = {0};
	int ok = 1, is = base_template_open(base, &of, &why);

	if (is == 0)
		return 1;
	if (is < 0)
		return json_array_append_new(
			       checks, json_pack("{s:s,s:s,s:b,s:o}", "what", "template", "file",
						 base->path, "ok", 0, "error",
						 json_string_lossy(why.msg, strlen(why.msg)))) < 0
			       ? error_errno(err, ENOMEM, "verification")
			       : 0;
	for (size_t i = 0; i < ARRAY_SIZE(parts) && ok >= 0; i++) {
		autofree char *path = path_join(of.path, parts[i].file, err);
		const struct sealed_file file = {
			parts[i].what, path, DIGEST_FILE,
			json_text(json_object_get(of.record, parts[i].key), "sha256", NULL), ""};
		int same = path ? verify_sealed(&file, 1, checks, err) : -1;

		ok = same < 0 ? -1 : ok && same;
	}
	return ok;
}

/* Checks the initrd. The initrd contains software of this host, which an upgrade replaces. The
 * cache then records the digest of the new initrd. So an initrd with either digest is accepted:
 * that in the base's record or that in the cache. */
static int verify_initrd(const struct base *base, json_t *checks, struct error *err)
{
	const json_t *initrd = json_object_get(base->metadata, "initrd");
	const json_t *init = json_object_get(base->metadata, "init");
	const char *path = json_text(initrd, "path", "");
	const char *kernel_path = json_text(json_object_get(base->metadata, "kernel"), "path", "");
	struct cache_kernel kernel = {0};
	bool known = cache_kernel_find(kernel_path, ARCHITECTURE_COUNT, &kernel, NULL) == 0 &&
		     kernel.cached && kernel.initrd && strcmp(kernel.initrd, path) == 0;
	const struct sealed_file files[] = {
		{"initrd", path, DIGEST_FILE, json_text(initrd, "sha256", NULL),
		 known ? kernel.initrd_sha256 : ""},
		{"init", path, DIGEST_INIT, json_text(init, "sha256", NULL),
		 known ? kernel.init_sha256 : ""},
	};
	int status = verify_sealed(files, ARRAY_SIZE(files), checks, err);

	cache_kernel_free(&kernel);
	return status;
}

json_t *microagent_base_verify(struct microagent *agent, const char *word, struct error *err)
{
	auto_base struct base base = BASE_NONE;
	json_auto_t *checks = json_array();
	int own, initrd, template;

	if (base_open(agent, word, BASE_SHARED, &base, err) < 0 ||
	    (own = verify_own_files(&base, checks, err)) < 0 ||
	    (initrd = base_is_macos(&base) ? 1 : verify_initrd(&base, checks, err)) < 0 ||
	    (template = verify_template(&base, checks, err)) < 0)
		return NULL;
	return json_pack("{s:b,s:s,s:O}", "ok", own && initrd && template, "name", base.name.full,
			 "checks", checks);
}
