/* SPDX-License-Identifier: MIT */
#include "store/digests.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"
#include "store/cache.h"

#define CACHE_FILE "digests.json"
#define CACHE_BYTES (1u << 20)

bool digest_is_valid(const char *text)
{
	return text && strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64;
}

static int64_t ns_of(const struct timespec *t)
{
	return (int64_t)t->tv_sec * (int64_t)NS_PER_S + t->tv_nsec;
}

static bool is_settled(const struct stat *st)
{
	int64_t mtime = ns_of(&st->st_mtim), ctime = ns_of(&st->st_ctim);
	int64_t age = clock_real_ns() - (ctime > mtime ? ctime : mtime);

	return age > (int64_t)(limit_get(LIMIT_DIGEST_SETTLED_MS) * NS_PER_MS);
}

int digest_key(int fd, enum digest_part part, struct digest_key *out, struct error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_errno(err, errno, "cannot be examined");
	snprintf(out->text, sizeof(out->text),
		 "%s%" PRIu64 ":%" PRIu64 ":%" PRId64 ":%" PRId64 ":%" PRId64,
		 part == DIGEST_INIT ? "init:" : "", (uint64_t)st.st_dev, (uint64_t)st.st_ino,
		 (int64_t)st.st_size, ns_of(&st.st_mtim), ns_of(&st.st_ctim));
	out->settled = is_settled(&st);
	return 0;
}

bool digest_key_equal(const struct digest_key *a, const struct digest_key *b)
{
	return strcmp(a->text, b->text) == 0;
}

static int open_cache(bool create, struct error *err)
{
	autofree char *dir = cache_dir(err);

	if (!dir)
		return -1;
	return create ? path_open_dir(dir, err) : open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* The entries, an object of key to digest; an empty one when nothing usable is there, since a cache
 * may be thrown away at any time. */
static json_t *load_entries(void)
{
	struct error err;
	autoclose int dir = open_cache(false, &err);
	autobuf struct buf text = BUF_INIT(CACHE_BYTES);
	json_auto_t *document = NULL;
	json_t *entries;

	if (dir >= 0 && path_read_file_at(dir, CACHE_FILE, &text, &err) == 0)
		document = json_load_strict(buf_bytes(&text), text.len, &err);
	entries = json_object_get(document, "digests");
	if (!json_is_object(entries) ||
	    json_integer_value(json_object_get(document, "format")) != 1)
		return json_object();
	return json_incref(entries);
}

static void store_entries(json_t *entries)
{
	struct error err;
	json_auto_t *document = json_object();
	autofree char *text = NULL;
	autoclose int dir = -1;

	while (json_object_size(entries) > limit_get(LIMIT_DIGESTS_KEPT))
		json_object_del(entries, json_object_iter_key(json_object_iter(entries)));
	if (json_put(document, "format", json_integer(1), &err) < 0 ||
	    json_put(document, "digests", json_incref(entries), &err) < 0)
		return;
	text = json_pretty(document, &err);
	dir = text ? open_cache(true, &err) : -1;
	if (dir >= 0)
		(void)path_replace_file_at(dir, CACHE_FILE, text, strlen(text), 0600, PATH_NO_SYNC,
					   &err);
}

/* As the newest entry: the oldest is dropped first. */
static int put_entry(json_t *entries, const char *key, const char *digest)
{
	json_object_del(entries, key);
	return json_put_string(entries, key, digest, NULL);
}

static bool find_entry(const json_t *entries, const char *key, char out[DIGEST_TEXT])
{
	const char *known = json_string_value(json_object_get(entries, key));

	if (!digest_is_valid(known))
		return false;
	memcpy(out, known, DIGEST_TEXT);
	return true;
}

bool digest_recall(const struct digest_key *key, char out[DIGEST_TEXT])
{
	json_auto_t *entries = load_entries();

	return find_entry(entries, key->text, out);
}

void digest_remember(const struct digest_key *key, const char *digest)
{
	json_auto_t *entries = load_entries();

	if (entries && put_entry(entries, key->text, digest) == 0)
		store_entries(entries);
}

void digest_remember_clone(const struct digest_key *before, int from_fd, int clone_fd)
{
	json_auto_t *entries = load_entries();
	struct digest_key after, clone;
	char digest[DIGEST_TEXT];

	if (digest_key(from_fd, DIGEST_FILE, &after, NULL) < 0 ||
	    !digest_key_equal(before, &after) || !find_entry(entries, before->text, digest) ||
	    digest_key(clone_fd, DIGEST_FILE, &clone, NULL) < 0)
		return;
	/* The source's anew, or the clones of a busy day would drive it out. */
	if (put_entry(entries, before->text, digest) == 0 &&
	    put_entry(entries, clone.text, digest) == 0)
		store_entries(entries);
}
