/* SPDX-License-Identifier: MIT */
/* Reads and describes an existing template. */
#include "session/templates/template.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "channel/hasher.h"

#define RECORD_BYTES (1u << 20)

void base_template_close(struct base_template *of)
{
	if (of->fd >= 0)
		close(of->fd);
	free(of->path);
	json_decref(of->record);
	*of = (struct base_template)BASE_TEMPLATE_NONE;
}

static int check_part(const json_t *record, const char *name, struct error *err)
{
	const char *sha256 = NULL;
	json_t *part = NULL;
	int64_t bytes = 0;

	if (json_get_object(record, "", name, JSON_REQUIRED, &part, err) < 0 ||
	    json_get_string(part, name, "sha256", JSON_REQUIRED, &sha256, err) < 0 ||
	    json_get_int(part, name, "bytes", JSON_REQUIRED, 0, INT64_MAX, &bytes, err) < 0)
		return -1;
	return digest_is_valid(sha256)
		       ? 0
		       : error_set(
				 err, ERR_INVALID,
				 "the template's record is damaged, because %s.sha256 is not a digest of 64 digits of 0-9 and a-f",
				 name);
}

static int check_template(const json_t *record, struct error *err)
{
	int64_t format = 0, memory = 0, cpus = 0;
	const char *created = NULL;
	json_t *facts = NULL;

	if (json_get_int(record, "", "format", JSON_REQUIRED, 1, INT32_MAX, &format, err) < 0)
		return -1;
	if (format != TEMPLATE_FORMAT)
		return error_set(
			err, ERR_UNSUPPORTED,
			"the template is from another version of microagent, so it must be made again");
	if (json_get_string(record, "", "createdAt", JSON_REQUIRED, &created, err) < 0 ||
	    json_get_object(record, "", "facts", JSON_REQUIRED, &facts, err) < 0 ||
	    json_get_int(record, "", "memoryMiB", JSON_REQUIRED, 1, INT32_MAX, &memory, err) < 0 ||
	    json_get_int(record, "", "cpuCount", JSON_REQUIRED, 1, INT32_MAX, &cpus, err) < 0)
		return -1;
	return check_part(record, TEMPLATE_RAM, err) < 0 ||
			       check_part(record, TEMPLATE_STATE, err) < 0 ||
			       check_part(record, "disk", err) < 0
		       ? -1
		       : 0;
}

static int read_template(struct base_template *of, struct error *err)
{
	autobuf struct buf text = BUF_INIT(RECORD_BYTES);
	autoclose int fd =
		openat(of->fd, TEMPLATE_RECORD, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return error_errno(err, errno, TEMPLATE_RECORD);
	if (path_read_file_at(of->fd, TEMPLATE_RECORD, &text, err) < 0 ||
	    digest_of(fd, DIGEST_FILE, of->sha256, err) < 0)
		return -1;
	of->record = json_load_strict(buf_bytes(&text), text.len, err);
	return of->record ? check_template(of->record, err) : -1;
}

int base_template_open(const struct base *base, struct base_template *out, struct error *err)
{
	auto_template struct base_template of = BASE_TEMPLATE_NONE;
	struct error why = {0};

	of.fd = openat(base->fd, TEMPLATE_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (of.fd < 0 && errno == ENOENT)
		return 0;
	if (of.fd < 0)
		return error_errno(err, errno, "%s/" TEMPLATE_DIR, base->path);
	of.path = path_join(base->path, TEMPLATE_DIR, err);
	if (!of.path)
		return -1;
	if (read_template(&of, &why) < 0)
		return error_set(err, why.code, "the template of base %s is damaged: %s",
				 base->name.full, why.msg);
	*out = of;
	of = (struct base_template)BASE_TEMPLATE_NONE;
	return 1;
}

int base_template_disk(const struct base_template *of, struct error *err)
{
	autoclose int fd =
		openat(of->fd, TEMPLATE_DISK, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	const char *then = json_text(json_object_get(of->record, "disk"), "sha256", "");
	char now[DIGEST_TEXT];

	if (fd < 0)
		return error_errno(err, errno, "the template's disk");
	if (digest_of(fd, DIGEST_FILE, now, err) < 0)
		return error_prefix(err, "the template's disk");
	if (strcmp(now, then) != 0)
		return error_set(
			err, ERR_CONFLICT,
			"the template's disk has changed since it was saved: make the template again");
	return steal_fd(&fd);
}

/* --- in a description ------------------------------------------------------------------------ */

/* Returns how many bytes of this host's disk the template uses. */
static json_int_t allocated(const struct base_template *of)
{
	static const char *const files[] = {TEMPLATE_RECORD, TEMPLATE_RAM, TEMPLATE_STATE,
					    TEMPLATE_DISK, TEMPLATE_LOG};
	json_int_t bytes = 0;
	struct stat st;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (fstatat(of->fd, files[i], &st, AT_SYMLINK_NOFOLLOW) == 0)
			bytes += (json_int_t)st.st_blocks * 512;
	return bytes;
}

json_t *base_template_told(const struct base *base)
{
	auto_template struct base_template of = BASE_TEMPLATE_NONE;
	struct error why = {0};
	int is = base_template_open(base, &of, &why);

	if (is <= 0)
		return is == 0 ? NULL
			       : json_pack("{s:o}", "error",
					   json_string_lossy(why.msg, strlen(why.msg)));
	return json_pack(
		"{s:O, s:O*, s:O, s:O, s:I, s:O*, s:s, s:O}", "createdAt",
		json_object_get(of.record, "createdAt"), "run", json_object_get(of.record, "run"),
		"memoryMiB", json_object_get(of.record, "memoryMiB"), "cpuCount",
		json_object_get(of.record, "cpuCount"), "bytes", allocated(&of), "residentBytes",
		json_object_get(json_object_get(of.record, TEMPLATE_RAM), "residentBytes"),
		"sha256", of.sha256, "facts", json_object_get(of.record, "facts"));
}
