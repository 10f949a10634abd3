/* SPDX-License-Identifier: MIT */
#include "store/review/list.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/tree/tree_wire.h"
#include "store/review/parents.h"

#define LIST_HEAD "microagent-review-list 1"

bool review_path_is_clean(const char *path)
{
	if (strnlen(path, PATH_MAX) == PATH_MAX)
		return false;
	for (int depth = 0;; depth++) {
		size_t len = strcspn(path, "/");

		if (len == 0 || len > NAME_MAX || depth > TREE_DEPTH_MAX ||
		    (len == 1 && path[0] == '.') || (len == 2 && path[0] == '.' && path[1] == '.'))
			return false;
		if (!path[len])
			return true;
		path += len + 1;
	}
}

/* --- a record -------------------------------------------------------------------------------- */

static int damaged(const char *what, struct error *err)
{
	return error_set(
		err, ERR_IO,
		"the list of the files of the reviewed directory is damaged (%s): make the machine again",
		what);
}

/* Takes a field of digits and the blank behind it. Returns false if the field is malformed. */
static bool take_number(const char **at, unsigned base, uint64_t most, uint64_t *out)
{
	const char *p = *at;
	uint64_t value = 0;

	for (; *p >= '0' && *p < (char)('0' + base); p++)
		if (__builtin_mul_overflow(value, base, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value) || value > most)
			return false;
	if (p == *at || *p != ' ')
		return false;
	*at = p + 1;
	*out = value;
	return true;
}

static bool take_time(const char **at, int64_t *out)
{
	bool negative = **at == '-';
	const char *p = *at + negative;
	uint64_t value;

	if (!take_number(&p, 10, INT64_MAX, &value))
		return false;
	*out = negative ? -(int64_t)value : (int64_t)value;
	*at = p;
	return true;
}

static int hex_value(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool take_digest(const char **at, struct review_entry *entry)
{
	const char *p = *at;

	if (entry->type == 'd' || entry->type == 's') {
		if (p[0] != '-' || p[1] != ' ')
			return false;
		*at = p + 2;
		return true;
	}
	for (size_t i = 0; i < SHA256_BYTES; i++) {
		int high = hex_value(p[0]), low = high < 0 ? -1 : hex_value(p[1]);

		if (low < 0)
			return false;
		entry->digest[i] = (uint8_t)(high << 4 | low);
		p += 2;
	}
	if (*p != ' ')
		return false;
	*at = p + 1;
	return true;
}

static bool parse_entry(const char *record, struct review_entry *out)
{
	const char *at = record + 2;
	uint64_t mode;

	if (!*record || !strchr("fdls", *record) || record[1] != ' ')
		return false;
	out->type = *record;
	if (!take_number(&at, 8, 07777, &mode) || !take_number(&at, 10, INT64_MAX, &out->size) ||
	    !take_time(&at, &out->mtime) || !take_time(&at, &out->ctime) ||
	    !take_number(&at, 10, UINT64_MAX, &out->dev) ||
	    !take_number(&at, 10, UINT64_MAX, &out->ino) || !take_digest(&at, out))
		return false;
	out->mode = (mode_t)mode;
	out->path = at;
	/* The path of a file that was left out may be too long; nothing is done with this path. */
	return out->type == 's' ? *at != '\0' : review_path_is_clean(at);
}

/* --- the list -------------------------------------------------------------------------------- */

static int set_parents(struct review_list *list, struct error *err)
{
	autofree struct review_parent *stack = calloc(list->count + 1, sizeof(*stack));
	struct review_parents parents = {.stack = stack};

	if (!stack)
		return error_errno(err, ENOMEM, "list of files");
	for (size_t i = 0; i < list->count; i++) {
		struct review_entry *entry = &list->entries[i];

		if (i > 0 && strcmp(entry[-1].path, entry->path) >= 0)
			return damaged("its order is wrong", err);
		entry->parent = review_parents_find(&parents, entry->path);
		if (entry->parent == REVIEW_NONE)
			return damaged("a directory is missing", err);
		if (entry->type == 'd')
			review_parents_add(&parents, entry->path, i);
	}
	return 0;
}

static int add_entry(struct review_list *list, size_t *room, const char *record, struct error *err)
{
	struct review_entry entry = {0};

	if (!parse_entry(record, &entry))
		return damaged("a record is malformed", err);
	if (list->count >= limit_get(LIMIT_REVIEW_FILES))
		return damaged("it has too many files", err);
	if (list->count == *room) {
		size_t more = *room ? 2 * *room : 1024;
		struct review_entry *entries =
			array_resize(list->entries, more, sizeof(*list->entries));

		if (!entries)
			return error_errno(err, ENOMEM, "list of files");
		list->entries = entries;
		*room = more;
	}
	list->entries[list->count++] = entry;
	return 0;
}

/* Reads the records, of which there are `len` bytes at `at`; a NUL follows them. */
static int parse_list(struct review_list *list, const char *at, size_t len, struct error *err)
{
	const char *end = at + len;
	size_t room = 0;
	char last[32];

	if (len == 0 || end[-1] != '\0')
		return damaged("its end is missing", err);
	if (strcmp(at, LIST_HEAD) != 0)
		return damaged("its first record is unknown", err);
	for (at += strlen(at) + 1; at < end; at += strlen(at) + 1) {
		if (strncmp(at, "end ", 4) == 0)
			break;
		if (add_entry(list, &room, at, err) < 0)
			return -1;
	}
	snprintf(last, sizeof(last), "end %zu", list->count);
	if (at == end || strcmp(at, last) != 0 || at + strlen(at) + 1 != end)
		return damaged("its end is missing", err);
	return set_parents(list, err);
}

int review_list_read(int fd, struct review_list *out, struct error *err)
{
	auto_review_list struct review_list list = {
		.text = BUF_INIT((size_t)limit_get(LIMIT_REVIEW_LIST_BYTES))};

	if (lseek(fd, 0, SEEK_SET) < 0)
		return error_errno(err, errno, "list of files");
	if (fd_read_to_end(fd, &list.text, err) < 0)
		return error_prefix(err, "list of files");
	if (parse_list(&list, buf_string(&list.text), list.text.len, err) < 0)
		return -1;
	*out = list;
	list = (struct review_list){0};
	return 0;
}

void review_list_free(struct review_list *list)
{
	free(list->entries);
	buf_free(&list->text);
	*list = (struct review_list){0};
}

/* Returns the first position whose path is not less than the text `path`, followed by `more`. */
static size_t lower_bound(const struct review_list *list, const char *path, char more)
{
	size_t from = 0, to = list->count, len = strlen(path);

	while (from < to) {
		size_t middle = from + (to - from) / 2;
		const char *at = list->entries[middle].path;
		int order = strncmp(at, path, len);

		if (order == 0)
			order = (unsigned char)at[len] < (unsigned char)more ? -1 : 0;
		if (order < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

size_t review_list_find(const struct review_list *list, const char *path)
{
	size_t at;

	if (!*path)
		return REVIEW_ROOT;
	at = lower_bound(list, path, '\0');
	return at < list->count && strcmp(list->entries[at].path, path) == 0 &&
			       list->entries[at].type != 's'
		       ? at
		       : REVIEW_NONE;
}

void review_list_below(const struct review_list *list, const char *path, size_t *from, size_t *to)
{
	*from = *path ? lower_bound(list, path, '/') : 0;
	*to = *path ? lower_bound(list, path, '/' + 1) : list->count;
}
