/* SPDX-License-Identifier: MIT */
#include "store/record_digest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "base/sha256.h"
#include "store/internal.h"

/* The number of accepted digests: the digest of the current record and that of the next record. */
#define DIGESTS_MAX 2

struct digests {
	size_t count; /* number of digests; 0: no digest was recorded */
	char at[DIGESTS_MAX][SHA256_TEXT];
};

/* --- the digest ------------------------------------------------------------------------------- */

/* Members of session.json that the live supervisor changes by itself (store/quota.c, store/term.c).
 * The digest does not cover them. */
static const char *const own_keys[] = {"quotaBytes",  "endsAt", "lifetimeSeconds",
				       "idleSeconds", "idled",	"orphaned"};

static bool is_session_record(const char *file)
{
	return strcmp(file, "session.json") == 0;
}

static int digest_record(const char *file, const json_t *value, char out[SHA256_TEXT],
			 struct error *err)
{
	json_auto_t *counted = json_copy((json_t *)(uintptr_t)value);
	uint8_t digest[SHA256_BYTES];
	autofree char *text = NULL;
	struct sha256 sha;

	for (size_t i = 0; counted && is_session_record(file) && i < ARRAY_SIZE(own_keys); i++)
		json_object_del(counted, own_keys[i]);
	text = counted ? json_dumps(counted, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
	if (!text)
		return error_errno(err, ENOMEM, "%s", file);
	sha256_init(&sha);
	sha256_update(&sha, text, strlen(text));
	sha256_final(&sha, digest);
	sha256_hex(digest, out);
	return 0;
}

static bool has_digest(const struct digests *digests, const char *digest)
{
	for (size_t i = 0; i < digests->count; i++)
		if (strcmp(digests->at[i], digest) == 0)
			return true;
	return false;
}

static bool is_same(const struct digests *a, const struct digests *b)
{
	for (size_t i = 0; i < a->count; i++)
		if (!has_digest(b, a->at[i]))
			return false;
	return a->count == b->count;
}

/* --- the file --------------------------------------------------------------------------------- */

/* Writes the name of the file of digests in the directory .locks to out. */
static void name_digests(const char *file, const char *id, char out[RECORD_DIGEST_ROOM])
{
	snprintf(out, RECORD_DIGEST_ROOM, "%s%.160s",
		 is_session_record(file) ? SESSION_DIGEST : RECORD_DIGEST, id);
}

static bool take_line(const char **text, char out[SHA256_TEXT])
{
	size_t len = strspn(*text, "0123456789abcdef");

	if (len != SHA256_TEXT - 1 || (*text)[len] != '\n')
		return false;
	memcpy(out, *text, len);
	out[len] = '\0';
	*text += len + 1;
	return true;
}

/* Reads the accepted digests. An empty file counts as missing, because a power failure may have
 * emptied it. */
static int read_digests(const struct workspace *ws, const char *file, struct digests *out,
			struct error *err)
{
	autobuf struct buf text = BUF_INIT((size_t)DIGESTS_MAX * SHA256_TEXT);
	autoclose int locks = path_open_dir_at(ws->dir->fd, LOCKS_DIR, false, 0700, NULL);
	struct digests digests = {0};
	char name[RECORD_DIGEST_ROOM];
	struct error why = {0};
	const char *at;

	name_digests(file, ws->id, name);
	if (locks < 0 || path_read_file_at(locks, name, &text, &why) < 0) {
		if (locks >= 0 && why.code != ERR_NOT_FOUND) {
			error_copy(err, &why);
			return error_prefix(err, "%s/" LOCKS_DIR "/%s", ws->dir->path, name);
		}
		*out = digests;
		return 0;
	}
	at = buf_string(&text);
	while (*at) {
		if (digests.count == DIGESTS_MAX || !take_line(&at, digests.at[digests.count]))
			return error_set(err, ERR_IO,
					 "%s/" LOCKS_DIR
					 "/%s is damaged, because it has no digests in it",
					 ws->dir->path, name);
		digests.count++;
	}
	*out = digests;
	return 0;
}

static int write_digests(const struct workspace *ws, const char *file,
			 const struct digests *digests, struct error *err)
{
	autoclose int locks = path_open_dir_at(ws->dir->fd, LOCKS_DIR, true, 0700, err);
	char name[RECORD_DIGEST_ROOM], text[DIGESTS_MAX * SHA256_TEXT + 1];
	size_t len = 0;

	if (locks < 0)
		return error_prefix(err, "%s/" LOCKS_DIR, ws->dir->path);
	name_digests(file, ws->id, name);
	for (size_t i = 0; i < digests->count; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s\n", digests->at[i]);
	/* The file is overwritten by one write. (A temporary file with a rename is not used,
	 * because a killed process would not remove the temporary file.) If the process is killed
	 * between the write and the truncation, an older digest stays in the file after the new
	 * ones, and is accepted too. */
	autoclose int fd = openat(locks, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || pwrite(fd, text, len, 0) != (ssize_t)len || ftruncate(fd, (off_t)len) < 0)
		return error_errno(err, errno, "%s/" LOCKS_DIR "/%s", ws->dir->path, name);
	return 0;
}

void record_digest_forget(const struct state_dir *dir, const char *id)
{
	static const char *const files[] = {"workspace.json", "session.json"};
	autoclose int locks = path_open_dir_at(dir->fd, LOCKS_DIR, false, 0700, NULL);
	char name[RECORD_DIGEST_ROOM];

	for (size_t i = 0; locks >= 0 && i < ARRAY_SIZE(files); i++) {
		name_digests(files[i], id, name);
		(void)unlinkat(locks, name, 0);
	}
}

/* --- announcing and settling ------------------------------------------------------------------ */

/* Returns true if the digest of the current record is an accepted one, and writes it to `digest`. A
 * damaged record is not accepted. */
static bool is_present_accepted(const struct workspace *ws, const char *file,
				const struct digests *accepted, char digest[SHA256_TEXT])
{
	json_auto_t *present = workspace_read(ws, file, NULL);

	return present && digest_record(file, present, digest, NULL) == 0 &&
	       (accepted->count == 0 || has_digest(accepted, digest));
}

int record_digest_announce(const struct workspace *ws, const char *file, const json_t *next,
			   struct error *err)
{
	struct digests before = {0}, after = {0};

	if (read_digests(ws, file, &before, err) < 0 ||
	    digest_record(file, next, after.at[0], err) < 0)
		return -1;
	after.count = 1;
	if (is_present_accepted(ws, file, &before, after.at[1]) &&
	    strcmp(after.at[0], after.at[1]) != 0)
		after.count = 2;
	return is_same(&before, &after) ? 0 : write_digests(ws, file, &after, err);
}

int record_digest_settle(const struct workspace *ws, const char *file, const json_t *now,
			 struct error *err)
{
	struct digests before = {0}, after = {.count = 1};

	if (read_digests(ws, file, &before, err) < 0 ||
	    digest_record(file, now, after.at[0], err) < 0)
		return -1;
	return is_same(&before, &after) ? 0 : write_digests(ws, file, &after, err);
}

int workspace_write_accepted(const struct workspace *ws, const char *file, const json_t *value,
			     enum store_sync sync, struct error *err)
{
	return record_digest_announce(ws, file, value, err) < 0 ||
			       workspace_write(ws, file, value, sync, err) < 0
		       ? -1
		       : record_digest_settle(ws, file, value, err);
}

/* --- compared --------------------------------------------------------------------------------- */

static int refuse_changed(const struct workspace *ws, const char *file, struct error *err)
{
	char name[RECORD_DIGEST_ROOM];
	autofree char *path = NULL;

	name_digests(file, ws->id, name);
	if (asprintf(&path, "%s/" LOCKS_DIR "/%s", ws->dir->path, name) < 0)
		path = NULL;
	error_set(err, ERR_CONFLICT,
		  "%s/%s/%s was changed since microagent wrote it, and not by microagent",
		  ws->dir->path, ws->id, file);
	return error_reason(err, REASON_RECORD_CHANGED, path ? path : "");
}

/* Another command may be replacing the record. So if a record does not match, the record and the
 * digests are read again, until the digests have not changed between two readings. */
json_t *workspace_read_accepted(const struct workspace *ws, const char *file, struct error *err)
{
	struct digests accepted = {0}, again = {0};

	if (ws->fd >= 0 && read_digests(ws, file, &accepted, err) < 0)
		return NULL;
	for (;;) {
		json_auto_t *record = workspace_read(ws, file, err);
		char digest[SHA256_TEXT];

		if (!record || digest_record(file, record, digest, err) < 0)
			return NULL;
		if (accepted.count == 0 || has_digest(&accepted, digest))
			return steal_ptr(&record);
		if (read_digests(ws, file, &again, err) < 0)
			return NULL;
		if (is_same(&accepted, &again)) {
			refuse_changed(ws, file, err);
			return NULL;
		}
		accepted = again;
	}
}
