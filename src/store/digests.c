/* SPDX-License-Identifier: MIT */
#include "store/digests.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/path.h"
#include "base/platform/file.h"
#include "store/cache.h"
#include "store/own_dirs.h"

#define ENTRIES "digests"
#define INIT_PREFIX "init:"
#define COUNTED_BY 32
#define WORTH_NS_PER_BYTE 1000
#define WORTH_MOST_BYTES ((uint64_t)1 << 40)

bool digest_is_valid(const char *text)
{
	return text && strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64;
}

static int64_t ns_of(struct timespec t)
{
	return (int64_t)t.tv_sec * (int64_t)NS_PER_S + t.tv_nsec;
}

int digest_key(int fd, enum digest_part part, struct digest_key *out, struct error *err)
{
	int64_t mtime, ctime, age;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_errno(err, errno, "cannot be examined");
	mtime = ns_of(file_modified(&st));
	ctime = ns_of(file_changed(&st));
	age = clock_real_ns() - (ctime > mtime ? ctime : mtime);
	snprintf(out->text, sizeof(out->text),
		 "%s%" PRIu64 ":%" PRIu64 ":%" PRId64 ":%" PRId64 ":%" PRId64,
		 part == DIGEST_INIT ? INIT_PREFIX : "", (uint64_t)st.st_dev, (uint64_t)st.st_ino,
		 (int64_t)st.st_size, mtime, ctime);
	out->settled = age > (int64_t)(limit_get(LIMIT_DIGEST_SETTLED_MS) * NS_PER_MS);
	return 0;
}

bool digest_key_equal(const struct digest_key *a, const struct digest_key *b)
{
	return strcmp(a->text, b->text) == 0;
}

/* Opens the directory of entries. Each digest is in a file of its own, with the digest's key as the
 * name. So finding or adding a digest takes the same time for any number of digests, and no digest
 * is lost if two processes add digests at the same time. */
static int open_entries(bool create)
{
	autoclose int cache = cache_open(create, NULL);

	return cache < 0 ? -1 : path_open_dir_at(cache, ENTRIES, create, 0755, NULL);
}

/* ---- the oldest go
 * ------------------------------------------------------------------------------- */

struct entry {
	int64_t worth; /* the time of the last use in nanoseconds since 1970, plus the result of
		        * worth_of_size() */
	char name[sizeof(((struct digest_key *)NULL)->text)];
};

struct entry_list {
	struct entry *items;
	size_t count, room;
};

static int by_worth(const void *a, const void *b)
{
	const struct entry *one = a, *other = b;

	return (one->worth > other->worth) - (one->worth < other->worth);
}

/* Returns a time in nanoseconds that is added to the time of an entry's last use, because of the
 * size of the file. The key contains this size. For each GB, about 17 minutes are added. So a
 * thousand clones of a small layer do not remove the digest of a large base. */
static int64_t worth_of_size(const char *key)
{
	uint64_t size;

	if (strncmp(key, INIT_PREFIX, strlen(INIT_PREFIX)) == 0)
		key += strlen(INIT_PREFIX);
	for (int i = 0; i < 2; i++) { /* skips device and inode, which come before the size */
		key = strchr(key, ':');
		if (!key++)
			return 0;
	}
	size = strtoull(key, NULL, 10);
	return (int64_t)(size < WORTH_MOST_BYTES ? size : WORTH_MOST_BYTES) * WORTH_NS_PER_BYTE;
}

static int add_entry(struct entry_list *list, int dir, const char *name)
{
	size_t len = strlen(name);
	struct stat st;

	if (len >= sizeof(list->items->name) || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISREG(st.st_mode))
		return 0;
	if (list->count == list->room) {
		size_t room = list->room ? 2 * list->room : 256;
		struct entry *grown = array_resize(list->items, room, sizeof(*grown));

		if (!grown)
			return -1;
		list->items = grown;
		list->room = room;
	}
	list->items[list->count].worth = ns_of(file_modified(&st)) + worth_of_size(name);
	memcpy(list->items[list->count++].name, name, len + 1);
	return 0;
}

/* Removes half of the entries if there are too many. Removing many at once has the effect that the
 * next removal is needed much later. */
static void drop_oldest(int entries)
{
	int own = openat(entries, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autodir DIR *dir = own >= 0 ? fdopendir(own) : NULL;
	struct entry_list list = {0};
	const struct dirent *found;

	if (own >= 0 && !dir)
		close(own);
	while (dir && (found = readdir(dir)) && add_entry(&list, entries, found->d_name) == 0)
		;
	if (list.count > limit_get(LIMIT_DIGESTS_KEPT)) {
		qsort(list.items, list.count, sizeof(*list.items), by_worth);
		for (size_t i = 0; i < list.count / 2; i++)
			unlinkat(entries, list.items[i].name, 0);
	}
	free(list.items);
}

/* Returns true if the entries must be counted when this key is added. Counting takes longer than
 * all other steps together, so it is only done for one key in COUNTED_BY. */
static bool has_it_counted(const char *key)
{
	uint32_t hash = 2166136261u; /* FNV-1a */

	while (*key)
		hash = (hash ^ (unsigned char)*key++) * 16777619u;
	return (hash >> 16) % COUNTED_BY == 0;
}

/* ---- the entries
 * --------------------------------------------------------------------------------- */

static bool find_entry(const char *key, char out[DIGEST_TEXT])
{
	autoclose int entries = open_entries(false);
	autoclose int fd =
		entries >= 0 ? openat(entries, key, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
			     : -1;
	char text[DIGEST_TEXT] = "";
	struct stat st;

	if (fd < 0 || read(fd, text, DIGEST_TEXT - 1) != DIGEST_TEXT - 1 || !digest_is_valid(text))
		return false;
	/* The entry's modification time is the time of its last use, but is updated at most once a
	 * second. */
	if (!own_dirs_are_looked_at_only() && fstat(fd, &st) == 0 &&
	    clock_real_ns() - ns_of(file_modified(&st)) > (int64_t)NS_PER_S)
		(void)futimens(fd, NULL);
	memcpy(out, text, DIGEST_TEXT);
	return true;
}

static void put_digest(const char *key, const char *digest)
{
	autoclose int entries = open_entries(true);

	if (entries < 0)
		return;
	(void)path_replace_file_at(entries, key, digest, strlen(digest), 0600, PATH_NO_SYNC, NULL);
	if (has_it_counted(key))
		drop_oldest(entries);
}

bool digest_recall(const struct digest_key *key, char out[DIGEST_TEXT])
{
	return find_entry(key->text, out);
}

void digest_remember(const struct digest_key *key, const char *digest)
{
	put_digest(key->text, digest);
}

void digest_remember_clone(const struct digest_key *before, int from_fd, int clone_fd)
{
	struct digest_key after, clone;
	char digest[DIGEST_TEXT];

	if (digest_key(from_fd, DIGEST_FILE, &after, NULL) == 0 &&
	    digest_key_equal(before, &after) && find_entry(before->text, digest) &&
	    digest_key(clone_fd, DIGEST_FILE, &clone, NULL) == 0)
		put_digest(clone.text, digest);
}
