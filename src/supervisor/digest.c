/* SPDX-License-Identifier: MIT */
#include "supervisor/digest.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"
#include "base/proc.h"
#include "store/cache.h"

#define CACHE_FILE "digests.json"
#define CACHE_BYTES (1u << 20)
#define KEY_TEXT 160
#define CHILD_FILE_FD 3

static bool is_digest(const char *text)
{
	return text && strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64;
}

static int64_t ns_of(const struct timespec *t)
{
	return (int64_t)t->tv_sec * (int64_t)NS_PER_S + t->tv_nsec;
}

static void make_key(const struct stat *st, char key[KEY_TEXT])
{
	snprintf(key, KEY_TEXT, "%" PRIu64 ":%" PRIu64 ":%" PRId64 ":%" PRId64 ":%" PRId64,
		 (uint64_t)st->st_dev, (uint64_t)st->st_ino, (int64_t)st->st_size,
		 ns_of(&st->st_mtim), ns_of(&st->st_ctim));
}

/* Old enough that a later change cannot leave the same times behind. */
static bool is_settled(const struct stat *st)
{
	int64_t age =
		clock_real_ns() - (ns_of(&st->st_ctim) > ns_of(&st->st_mtim) ? ns_of(&st->st_ctim)
									     : ns_of(&st->st_mtim));

	return age > (int64_t)(limit_get(LIMIT_DIGEST_SETTLED_MS) * NS_PER_MS);
}

/* --- what is remembered -------------------------------------------------------------------- */

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

static void drop_oldest(json_t *entries)
{
	while (json_object_size(entries) > limit_get(LIMIT_DIGESTS_KEPT))
		json_object_del(entries, json_object_iter_key(json_object_iter(entries)));
}

/* A cache that cannot be written costs time at the next look, nothing else. */
static void remember(json_t *entries, const char *key, const char *digest)
{
	struct error err;
	json_auto_t *document = json_object();
	autofree char *text = NULL;
	autoclose int dir = -1;

	if (!document || json_put_string(entries, key, digest, &err) < 0)
		return;
	drop_oldest(entries);
	if (json_put(document, "format", json_integer(1), &err) < 0 ||
	    json_put(document, "digests", json_incref(entries), &err) < 0)
		return;
	text = json_pretty(document, &err);
	dir = text ? open_cache(true, &err) : -1;
	if (dir >= 0)
		(void)path_replace_file_at(dir, CACHE_FILE, text, strlen(text), 0600, PATH_NO_SYNC,
					   &err);
}

/* --- hashing ------------------------------------------------------------------------------- */

/* Beside this executable, else in PATH. */
static char *find_program(struct error *err)
{
	autofree char *dir = path_of_executable_dir(err);
	autofree char *path = dir ? path_join(dir, "microagent-artifact", err) : NULL;

	if (!path)
		return NULL;
	return access(path, X_OK) == 0 ? steal_ptr(&path) : strdup("microagent-artifact");
}

/* Reads the child's answer to its end and reaps it. */
static int collect(struct proc *child, int from, struct buf *answer, struct error *err)
{
	uint64_t deadline = clock_mono_ns() + limit_get(LIMIT_DIGEST_MS) * NS_PER_MS;
	int code = 0;

	if (fd_read_to_end(from, answer, err) < 0 || proc_wait(child, deadline, &code, err) < 0)
		return -1;
	if (code != 0)
		return error_set(err, ERR_IO, "microagent-artifact sha256 ended with code %d",
				 code);
	return 0;
}

static int run_hasher(int fd, struct buf *answer, struct error *err)
{
	autofree char *program = find_program(err);
	const char *const argv[] = {program, "sha256", "--fd", "3", NULL};
	int ends[2];
	struct proc child = PROC_NONE;
	int status;

	if (!program || fd_pipe(ends, err) < 0)
		return -1;
	const struct proc_fd fds[] = {
		{ends[1], STDOUT_FILENO}, {STDERR_FILENO, STDERR_FILENO}, {fd, CHILD_FILE_FD}};
	const struct proc_spec spec = {
		.argv = argv, .fds = fds, .nfds = ARRAY_SIZE(fds), .die_with_parent = true};

	status = proc_spawn(&spec, &child, err);
	close(ends[1]);
	if (status == 0)
		status = collect(&child, ends[0], answer, err);
	else
		error_prefix(err, "microagent-artifact");
	close(ends[0]);
	proc_end(&child);
	return status;
}

/* The descriptor goes to the virtual machine afterwards and must not have moved: the hasher gets an
 * open of its own of the same file. */
static int compute(int fd, char out[DIGEST_TEXT], struct error *err)
{
	autobuf struct buf answer = BUF_INIT(4096);
	autoclose int own = -1;
	char name[40];

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	own = open(name, O_RDONLY | O_CLOEXEC);
	if (own < 0)
		return error_errno(err, errno, "cannot be read");
	if (run_hasher(own, &answer, err) < 0)
		return -1;
	/* The digest, then a line's end or the name of what was hashed. */
	if (answer.len < 64)
		return error_set(err, ERR_IO, "microagent-artifact sha256 gave no digest");
	memcpy(out, buf_bytes(&answer), 64);
	out[64] = '\0';
	if (!is_digest(out))
		return error_set(err, ERR_IO, "microagent-artifact sha256 gave no digest");
	return 0;
}

int digest_of(int fd, char out[DIGEST_TEXT], struct error *err)
{
	json_auto_t *entries = NULL;
	const char *known;
	struct stat before, after;
	char key[KEY_TEXT], digest[DIGEST_TEXT];

	if (fstat(fd, &before) < 0)
		return error_errno(err, errno, "cannot be examined");
	make_key(&before, key);
	entries = load_entries();
	known = json_string_value(json_object_get(entries, key));
	if (is_digest(known)) {
		memcpy(out, known, DIGEST_TEXT);
		return 0;
	}
	if (compute(fd, digest, err) < 0)
		return -1;
	/* Remembered only for a file that did not change while it was read. */
	if (entries && is_settled(&before) && fstat(fd, &after) == 0) {
		char key_after[KEY_TEXT];

		make_key(&after, key_after);
		if (!strcmp(key, key_after))
			remember(entries, key, digest);
	}
	memcpy(out, digest, DIGEST_TEXT);
	return 0;
}
