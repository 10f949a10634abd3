/* SPDX-License-Identifier: MIT */
#include "store/review/claims.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"
#include "store/review/parents.h"

#define TYPES "fdlhswor"
#define TYPES_WITH_TEXT "lhrs"

int review_claims_add(struct buf *out, char type, mode_t mode, int64_t mtime_ns, const char *path,
		      const char *text, struct error *err)
{
	const size_t before = out->len;

	if (buf_printf(out, err, "%c %o %" PRId64 " %s", type, (unsigned)mode & 07777, mtime_ns,
		       path) == 0 &&
	    buf_append(out, "", 1, err) == 0 &&
	    (!strchr(TYPES_WITH_TEXT, type) ||
	     buf_append(out, text ? text : "", text ? strlen(text) + 1 : 1, err) == 0))
		return 0;
	out->len = before;
	return -1;
}

/* --- reading --------------------------------------------------------------------------------- */

static int damaged(struct error *err)
{
	return error_set(err, ERR_IO,
			 "the record of the guest's changes is damaged: take the changes again");
}

/* Reads a record. Returns its last field, or NULL if the record is malformed. */
static const char *parse_record(const char *record, struct review_claim *out)
{
	char *end = NULL;
	unsigned long mode;

	if (!*record || !strchr(TYPES, *record) || record[1] != ' ')
		return NULL;
	out->type = *record;
	mode = strtoul(record + 2, &end, 8);
	if (end == record + 2 || *end != ' ' || mode > 07777)
		return NULL;
	out->mode = (mode_t)mode;
	const char *time = end + 1;
	errno = 0;
	out->mtime = strtoll(time, &end, 10);
	return end == time || *end != ' ' || errno != 0 ? NULL : end + 1;
}

/* Returns what a claim says about its path, the most definite first: that there is a file, that it is
 * removed, or that it was not sent. */
static int rank_of(char type)
{
	return type == 's' ? 2 : type == 'w';
}

/* Compares by path. Of several claims about a path the one that counts comes first. */
static int by_path(const void *a, const void *b)
{
	const struct review_claim *x = a, *y = b;
	int order = strcmp(x->path, y->path);

	if (order == 0)
		order = (x->broken != NULL) - (y->broken != NULL);
	return order ? order : rank_of(x->type) - rank_of(y->type);
}

struct claim_list {
	struct review_claim *entries;
	size_t count, room;
};

static int keep(struct claim_list *list, const struct review_claim *claim, struct error *err)
{
	if (list->count == list->room) {
		size_t more = list->room ? 2 * list->room : 256;
		struct review_claim *entries =
			array_resize(list->entries, more, sizeof(*list->entries));

		if (!entries)
			return error_errno(err, ENOMEM, "the guest's changes");
		list->entries = entries;
		list->room = more;
	}
	list->entries[list->count++] = *claim;
	return 0;
}

/* Sorts the records into claims about files, and into properties of directories (o and r). */
static int read_records(const char *at, size_t len, struct claim_list *files,
			struct claim_list *properties, struct error *err)
{
	const char *end = at + len;

	if (len > 0 && end[-1] != '\0')
		return damaged(err);
	for (; at < end; at += strlen(at) + 1) {
		struct review_claim claim = {.text = "", .parent = REVIEW_NONE};

		claim.path = parse_record(at, &claim);
		if (!claim.path)
			return damaged(err);
		if (strchr(TYPES_WITH_TEXT, claim.type)) {
			at += strlen(at) + 1;
			if (at == end)
				return damaged(err);
			claim.text = at;
		}
		/* Overlayfs ignores these properties of the root of the upper layer. */
		if (!*claim.path)
			continue;
		if (keep(claim.type == 'o' || claim.type == 'r' ? properties : files, &claim, err) <
		    0)
			return -1;
	}
	return 0;
}

/* Checks the paths, and sets the parents. */
static int check_claims(struct review_claims *claims, struct error *err)
{
	autofree struct review_parent *stack = calloc(claims->count + 1, sizeof(*stack));
	struct review_parents parents = {.stack = stack};
	const char *last = NULL;

	if (!stack)
		return error_errno(err, ENOMEM, "the guest's changes");
	for (size_t i = 0; i < claims->count; i++) {
		struct review_claim *claim = &claims->entries[i];

		if (!review_path_is_clean(claim->path)) {
			claim->broken = "its path is too long, too deep, or not the path of a file";
			continue;
		}
		if (last && strcmp(last, claim->path) == 0) {
			claim->broken = claim->broken ? claim->broken : "the guest named it twice";
			continue;
		}
		last = claim->path;
		claim->parent = review_parents_find(&parents, claim->path);
		if (claim->type == 'd')
			review_parents_add(&parents, claim->path, i);
		if (claim->broken)
			continue;
		if (claim->parent == REVIEW_NONE)
			claim->broken = "its directory is not in the upper layer";
		else if (claim->parent != REVIEW_ROOT && claims->entries[claim->parent].broken)
			claim->broken = "its directory is left out";
	}
	return 0;
}

/* Attaches the properties to their directories. A property that belongs to no directory becomes a
 * broken claim. Of two different redirects of one directory neither can be believed. */
static int attach_properties(struct review_claims *claims, const struct claim_list *properties,
			     struct claim_list *lost, struct error *err)
{
	for (size_t i = 0; i < properties->count; i++) {
		struct review_claim property = properties->entries[i];
		size_t at = review_claims_find(claims, property.path);
		struct review_claim *dir = at == REVIEW_NONE ? NULL : &claims->entries[at];

		if (!dir || dir->type != 'd') {
			property.broken = "only a directory can be opaque or redirected";
			if (keep(lost, &property, err) < 0)
				return -1;
		} else if (property.type == 'o') {
			dir->opaque = true;
		} else if (dir->redirect && strcmp(dir->redirect, property.text) != 0) {
			dir->broken = "the guest named it twice";
		} else {
			dir->redirect = property.text;
		}
	}
	return 0;
}

/* Gives each further name of a file the mode of the file. */
static void resolve_hard_links(struct review_claims *claims)
{
	for (size_t i = 0; i < claims->count; i++) {
		struct review_claim *claim = &claims->entries[i];
		size_t first;

		if (claim->type != 'h' || claim->broken)
			continue;
		first = review_claims_find(claims, claim->text);
		if (first == REVIEW_NONE || claims->entries[first].type != 'f')
			claim->broken =
				"it is a further name of a file that the guest did not send";
		else
			claim->mode = claims->entries[first].mode;
	}
}

static void sort_claims(struct review_claims *claims)
{
	if (claims->count > 0)
		qsort(claims->entries, claims->count, sizeof(*claims->entries), by_path);
}

int review_claims_read(int fd, struct review_claims *out, struct error *err)
{
	auto_review_claims struct review_claims claims = {
		.text = BUF_INIT((size_t)limit_get(LIMIT_REVIEW_CLAIMS_BYTES))};
	struct claim_list files = {0}, properties = {0}, lost = {0};
	int status = 0;

	if (lseek(fd, 0, SEEK_SET) < 0)
		return error_errno(err, errno, "the guest's changes");
	if (fd_read_to_end(fd, &claims.text, err) < 0)
		return error_prefix(err, "the guest's changes");
	status = read_records(buf_string(&claims.text), claims.text.len, &files, &properties, err);
	claims.entries = files.entries;
	claims.count = files.count;
	if (status == 0) {
		sort_claims(&claims);
		status = check_claims(&claims, err);
	}
	if (status == 0)
		status = attach_properties(&claims, &properties, &lost, err);
	for (size_t i = 0; status == 0 && i < lost.count; i++)
		status = keep(&files, &lost.entries[i], err);
	claims.entries = files.entries;
	claims.count = files.count;
	free(properties.entries);
	free(lost.entries);
	if (status < 0)
		return -1;
	/* The positions have changed, and a directory may be broken by its properties. */
	sort_claims(&claims);
	if (check_claims(&claims, err) < 0)
		return -1;
	resolve_hard_links(&claims);
	*out = claims;
	claims = (struct review_claims){0};
	return 0;
}

void review_claims_free(struct review_claims *claims)
{
	free(claims->entries);
	buf_free(&claims->text);
	*claims = (struct review_claims){0};
}

/* --- searching ------------------------------------------------------------------------------- */

/* Returns the first position whose path is not less than the text `path`, followed by `more`. */
static size_t lower_bound(const struct review_claims *claims, const char *path, char more)
{
	size_t from = 0, to = claims->count, len = strlen(path);

	while (from < to) {
		size_t middle = from + (to - from) / 2;
		const char *at = claims->entries[middle].path;
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

size_t review_claims_find(const struct review_claims *claims, const char *path)
{
	size_t at = lower_bound(claims, path, '\0');

	return at < claims->count && strcmp(claims->entries[at].path, path) == 0 &&
			       !claims->entries[at].broken
		       ? at
		       : REVIEW_NONE;
}

bool review_claims_are_below(const struct review_claims *claims, const char *path)
{
	return lower_bound(claims, path, '/') < lower_bound(claims, path, '/' + 1);
}
