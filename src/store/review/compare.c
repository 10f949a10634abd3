/* SPDX-License-Identifier: MIT */
/*
 * The comparison has five steps:
 *
 *   1. merge    Each claim says what is new under its path, and which files of the list the guest does
 *               not see any more under their own paths ("covered"). A directory with a redirect
 *               brings the files of another directory of the list.
 *   2. join     What is new is compared with what is covered, path by path.
 *   3. judge    Autorun files are found.
 *   4. pair     A file that was removed and a file that was added are a renamed one, if the new file
 *               was brought from the old path, or if both have the same contents and neither is an
 *               autorun file.
 *   5. host     The state of the host's files is found.
 *
 * A guest chooses all paths and redirects. So no step may take longer than in proportion to the
 * list and the claims: the files that redirects bring are at most as many as those of the list.
 */
#include "store/review/compare.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "base/tree/tree_inside.h"
#include "store/review/host.h"
#include "store/review/memory.h"
#include "store/review/parents.h"
#include "store/review/repository.h"
#include "store/share/autorun.h"

/* As many links are followed as by the kernel. */
#define LINKS_FOLLOWED 40

/* What the guest has under a path. */
struct fresh {
	const char *path;
	const char *target;
	const char *left_out;
	struct review_look look;
	enum review_source source;
	size_t lower; /* the position of the file in the list, for REVIEW_LOWER */
};

/* What is known of a directory among the claims. */
struct merged {
	/* The position of its lower directory in the list; REVIEW_ROOT; REVIEW_NONE: it has no
	 * lower directory. */
	size_t lower;
	bool covered;	      /* the files of the list under its path are covered */
	const char *left_out; /* why it is left out, with everything below it; NULL: it is not */
};

/* A path to which a link of the image leads, where the link has the name of an autorun file. */
struct reached {
	const char *path; /* of `len` bytes */
	size_t len;
	const char *by;
};

struct comparing {
	const struct review_inputs *in;
	struct review_dirs tree; /* the copy of the upper layer */
	struct merged *merged;	 /* one for each claim; only those of directories are used */
	bool *covered;		 /* one for each entry of the list */
	bool *hidden;		 /* one for each entry of the list; for bring_below() alone */
	struct fresh *fresh;
	size_t fresh_count, fresh_room;
	struct parts *parts; /* sorted by path; each path once */
	size_t parts_count;
	struct hashed *hashed; /* a table of `hashed_room` places, a power of two */
	size_t hashed_count, hashed_room;
	struct reached *reached; /* sorted by path */
	size_t reached_count, reached_room;
	struct review_dirs host; /* the reviewed directory, for find_parts() alone */
	uint64_t moved_bytes;	 /* of the paths of the files that redirects bring */
	size_t brought;		 /* the number of files that redirects have brought */
	struct review_changes out;
	size_t room;
};

static const struct review_entry *entry_at(const struct comparing *c, size_t at)
{
	return &c->in->list->entries[at];
}

static mode_t mode_of(char type, mode_t mode)
{
	return type == 'd' ? mode & 01777 : type == 'f' ? mode & 0777 : 0;
}

static struct review_look look_of(const struct review_entry *entry)
{
	struct review_look look = {.type = entry->type,
				   .mode = mode_of(entry->type, entry->mode),
				   .size = entry->type == 'f' ? entry->size : 0};

	memcpy(look.digest, entry->digest, sizeof(look.digest));
	return look;
}

static int add_fresh(struct comparing *c, const struct fresh *fresh, struct error *err)
{
	if (c->fresh_count == c->fresh_room) {
		size_t more = c->fresh_room ? 2 * c->fresh_room : 256;
		struct fresh *list = array_resize(c->fresh, more, sizeof(*list));

		if (!list)
			return error_errno(err, ENOMEM, "changes");
		c->fresh = list;
		c->fresh_room = more;
	}
	c->fresh[c->fresh_count++] = *fresh;
	return 0;
}

/* --- merging --------------------------------------------------------------------------------- */

#define LEADS_OUT "a link that leads out of the directory"

/* Returns whether a link at that path may not be made. */
static bool leads_out(const char *path, const char *target)
{
	char text[TREE_PATH_MAX + 1];

	if (strlen(target) > TREE_PATH_MAX || *target == '/')
		return true;
	memcpy(text, target, strlen(target) + 1);
	return !tree_link_inside("/", path, text);
}

/* Covers a file of the list, with everything below it. */
static void cover(struct comparing *c, size_t at)
{
	size_t from, to;

	c->covered[at] = true;
	if (entry_at(c, at)->type != 'd')
		return;
	review_list_below(c->in->list, entry_at(c, at)->path, &from, &to);
	memset(c->covered + from, true, to - from);
}

/* Finds the file `name` in the lower directory. Returns REVIEW_NONE if there is none. */
static int find_lower(struct comparing *c, size_t dir, const char *name, size_t *out,
		      struct error *err)
{
	autofree char *path = NULL;

	if (dir == REVIEW_NONE || dir == REVIEW_ROOT) {
		*out = dir == REVIEW_NONE ? REVIEW_NONE : review_list_find(c->in->list, name);
		return 0;
	}
	if (asprintf(&path, "%s/%s", entry_at(c, dir)->path, name) < 0) {
		path = NULL;
		return error_errno(err, ENOMEM, "changes");
	}
	*out = review_list_find(c->in->list, path);
	return 0;
}

/* How a file that a redirect brings is hidden by a claim about its new path. */
enum hiding {
	HIDES_NOTHING,
	HIDES_ITSELF, /* what is below it is visible */
	HIDES_ALL,
};

static enum hiding find_hiding(const struct comparing *c, const char *path, char type)
{
	size_t at = review_claims_find(c->in->claims, path);
	const struct review_claim *claim = at == REVIEW_NONE ? NULL : &c->in->claims->entries[at];

	if (!claim)
		return HIDES_NOTHING;
	return claim->type == 'd' && type == 'd' && !claim->opaque && !claim->redirect
		       ? HIDES_ITSELF
		       : HIDES_ALL;
}

/* Returns the target of a host's link, or NULL if it is not that of the list. */
static const char *target_of_lower(struct comparing *c, struct review_dirs *host, size_t lower,
				   struct error *err)
{
	const struct review_entry *entry = entry_at(c, lower);
	uint8_t digest[SHA256_BYTES];
	char target[PATH_MAX];
	const char *name = NULL;
	ssize_t len;
	int dir = -1;

	if (c->in->host < 0 || review_dirs_open(host, entry->path, &dir, &name) != REVIEW_BAR_NONE)
		return NULL;
	len = readlinkat(dir, name, target, sizeof(target) - 1);
	if (len < 0)
		return NULL;
	target[len] = '\0';
	review_digest_bytes(target, (size_t)len, digest);
	return memcmp(digest, entry->digest, sizeof(digest)) == 0
		       ? review_keep(c->out.memory, target, NULL, NULL, err)
		       : NULL;
}

/* Brings a file of the list to another path. */
static int bring(struct comparing *c, struct review_dirs *host, size_t lower, const char *path,
		 struct error *err)
{
	struct fresh fresh = {.path = path,
			      .source = REVIEW_LOWER,
			      .lower = lower,
			      .look = look_of(entry_at(c, lower))};

	if (!review_path_is_clean(path))
		fresh.left_out = "its path is too long or too deep";
	if (fresh.look.type == 'l') {
		fresh.target = target_of_lower(c, host, lower, err);
		if (err->code != ERR_NONE)
			return -1;
		if (fresh.target && leads_out(path, fresh.target))
			fresh.left_out = LEADS_OUT;
	}
	c->brought++;
	return add_fresh(c, &fresh, err);
}

/* Brings all that is below a directory of the list to the directory `path`, except where the claims
 * say something else. Returns 1 if more files are brought than a true guest could move. */
static int bring_below(struct comparing *c, size_t dir, const char *path, struct error *err)
{
	const struct review_list *list = c->in->list;
	const char *old = dir == REVIEW_ROOT ? "" : entry_at(c, dir)->path;
	const size_t skip = *old ? strlen(old) + 1 : 0;
	const bool claims_below = review_claims_are_below(c->in->claims, path);
	auto_review_dirs struct review_dirs host = {0};
	size_t from, to;

	if (c->in->host >= 0 && review_dirs_begin(&host, c->in->host, list, err) < 0)
		return -1;
	review_list_below(list, old, &from, &to);
	for (size_t i = from; i < to; i++) {
		const struct review_entry *entry = &list->entries[i];
		const size_t parent = entry->parent;
		const char *new;

		if (entry->type == 's')
			continue;
		if (parent != dir && c->hidden[parent]) {
			size_t first, end;

			/* Everything up to the end of that directory is hidden too. */
			review_list_below(list, entry_at(c, parent)->path, &first, &end);
			i = end - 1;
			continue;
		}
		c->hidden[i] = false;
		if (c->brought >= list->count)
			return 1;
		c->moved_bytes += strlen(path) + strlen(entry->path + skip) + 2;
		if (c->moved_bytes > limit_get(LIMIT_REVIEW_MOVED_BYTES))
			return error_set(
				err, ERR_UNAVAILABLE,
				"the changes are not compared: the guest moved the directory %.300s, and the new paths of all moved files take more than %" PRIu64
				" MiB: have the guest move it back, or give it a shorter path",
				path, limit_get(LIMIT_REVIEW_MOVED_BYTES) >> 20);
		new = review_keep(c->out.memory, path, "/", entry->path + skip, err);
		if (!new)
			return -1;
		enum hiding hiding =
			claims_below ? find_hiding(c, new, entry->type) : HIDES_NOTHING;
		c->hidden[i] = hiding == HIDES_ALL;
		if (hiding == HIDES_NOTHING && bring(c, &host, i, new, err) < 0)
			return -1;
	}
	return 0;
}

/* Finds the lower directory that a redirect names. Sets *left_out if there is none. */
static int follow_redirect(struct comparing *c, const struct review_claim *claim, size_t parent,
			   size_t *lower, const char **left_out, struct error *err)
{
	const char *redirect = claim->redirect;

	*lower = REVIEW_NONE;
	if (*redirect == '/' && redirect[1])
		*lower = review_list_find(c->in->list, redirect + 1);
	else if (*redirect && !strchr(redirect, '/') &&
		 find_lower(c, parent, redirect, lower, err) < 0)
		return -1;
	if (*lower != REVIEW_NONE && *lower != REVIEW_ROOT && entry_at(c, *lower)->type == 'd')
		return 0;
	*left_out = "the guest says that it was another directory, which the image does not have";
	return 0;
}

static int merge_dir(struct comparing *c, size_t at, const struct merged *parent, size_t natural,
		     size_t base, struct error *err)
{
	const struct review_claim *claim = &c->in->claims->entries[at];
	struct merged *own = &c->merged[at];
	struct fresh fresh = {.path = claim->path, .look = {.type = 'd', .mode = claim->mode}};
	const bool redirected = claim->redirect && !claim->opaque;
	const size_t fresh_count = c->fresh_count;
	int more;

	*own = (struct merged){.lower = REVIEW_NONE, .covered = parent->covered};
	if (redirected) {
		if (follow_redirect(c, claim, parent->lower, &own->lower, &own->left_out, err) < 0)
			return -1;
	} else if (!claim->opaque && natural != REVIEW_NONE && entry_at(c, natural)->type == 'd') {
		own->lower = natural;
	}
	if (!own->left_out && redirected) {
		more = bring_below(c, own->lower, claim->path, err);
		if (more < 0)
			return -1;
		if (more > 0) {
			/* c->brought stays, so that no later redirect takes long. */
			c->fresh_count = fresh_count;
			own->left_out =
				"the guest says that more directories were moved than there are";
		}
	}
	fresh.left_out = own->left_out;
	if (own->left_out)
		return add_fresh(c, &fresh, err);
	if (own->lower != REVIEW_NONE) {
		fresh.source = REVIEW_LOWER;
		fresh.lower = own->lower;
	}
	if (!own->covered && base != REVIEW_NONE) {
		if (own->lower == base) {
			c->covered[base] = true;
		} else {
			cover(c, base);
			own->covered = true;
		}
	}
	return add_fresh(c, &fresh, err);
}

/* A file of the copy that has several names, and its digest. A guest can give a large file many
 * names. */
struct hashed {
	dev_t dev;
	ino_t ino; /* 0: free */
	struct review_look look;
};

/* Returns the place of the file in the table, which has a free place. */
static struct hashed *find_hashed(struct hashed *table, size_t room, const struct stat *st)
{
	size_t at = (size_t)(((uint64_t)st->st_ino * 0x9e3779b97f4a7c15U) >> 16) & (room - 1);

	while (table[at].ino && (table[at].ino != st->st_ino || table[at].dev != st->st_dev))
		at = (at + 1) & (room - 1);
	return &table[at];
}

static int grow_hashed(struct comparing *c, struct error *err)
{
	const size_t room = c->hashed_room ? 2 * c->hashed_room : 64;
	struct hashed *table = calloc(room, sizeof(*table));

	if (!table)
		return error_errno(err, ENOMEM, "changes");
	for (size_t i = 0; i < c->hashed_room; i++) {
		const struct stat st = {.st_dev = c->hashed[i].dev, .st_ino = c->hashed[i].ino};

		if (c->hashed[i].ino)
			*find_hashed(table, room, &st) = c->hashed[i];
	}
	free(c->hashed);
	c->hashed = table;
	c->hashed_room = room;
	return 0;
}

/* Computes the digest and the size of a file of the copy; once for all names of a file. */
static int digest_upper(struct comparing *c, int fd, struct review_look *look, struct error *err)
{
	struct hashed *found = NULL;
	struct stat st;

	if (fstat(fd, &st) == 0 && st.st_nlink > 1 && st.st_ino != 0) {
		if (4 * (c->hashed_count + 1) > 3 * c->hashed_room && grow_hashed(c, err) < 0)
			return -1;
		found = find_hashed(c->hashed, c->hashed_room, &st);
		if (found->ino) {
			memcpy(look->digest, found->look.digest, sizeof(look->digest));
			look->size = found->look.size;
			return 0;
		}
	}
	if (review_digest_file(fd, look->digest, &look->size, err) < 0)
		return -1;
	if (found) {
		*found = (struct hashed){.dev = st.st_dev, .ino = st.st_ino, .look = *look};
		c->hashed_count++;
	}
	return 0;
}

/* Reads what the copy has under the path of a claim. */
static int read_upper(struct comparing *c, const struct review_claim *claim, struct fresh *fresh,
		      struct error *err)
{
	enum review_bar bar = REVIEW_BAR_NONE;

	fresh->path = claim->path;
	fresh->source = REVIEW_UPPER;
	if (claim->type == 's') {
		fresh->source = REVIEW_NOWHERE;
		fresh->look.type = 's';
		fresh->left_out =
			"a device, a socket, a FIFO, or a file that could not be read in the guest";
		return 0;
	}
	if (claim->type == 'l') {
		fresh->look.type = 'l';
		fresh->target = claim->text;
		review_digest_bytes(claim->text, strlen(claim->text), fresh->look.digest);
		if (!*claim->text || leads_out(claim->path, claim->text))
			fresh->left_out = LEADS_OUT;
		return 0;
	}
	fresh->look.type = 'f';
	fresh->look.mode = claim->mode & 0777;
	if (claim->mode & 06000)
		fresh->left_out = "a set-ID file, which would run with the rights of its owner";
	autoclose int fd = review_dirs_read(&c->tree, claim->path, &bar);
	if (fd < 0) {
		fresh->left_out = "the copy of the guest's files does not have it";
		return 0;
	}
	return digest_upper(c, fd, &fresh->look, err) < 0 ? error_prefix(err, "%.300s", claim->path)
							  : 0;
}

static int merge_claim(struct comparing *c, size_t at, struct error *err)
{
	static const struct merged top = {.lower = REVIEW_ROOT};
	const struct review_claim *claim = &c->in->claims->entries[at];
	const struct merged *parent =
		claim->broken || claim->parent == REVIEW_ROOT ? &top : &c->merged[claim->parent];
	const char *slash = strrchr(claim->path, '/');
	struct fresh fresh = {.path = claim->path};
	size_t base, natural;

	if (claim->broken || parent->left_out) {
		fresh.left_out = claim->broken ? claim->broken : "its directory is left out";
		fresh.look.type = strchr("fdls", claim->type) ? claim->type : 'f';
		c->merged[at].left_out = fresh.left_out;
		return add_fresh(c, &fresh, err);
	}
	base = review_list_find(c->in->list, claim->path);
	natural = base;
	if (parent->covered &&
	    find_lower(c, parent->lower, slash ? slash + 1 : claim->path, &natural, err) < 0)
		return -1;
	if (claim->type == 'd')
		return merge_dir(c, at, parent, natural, base, err);
	if (claim->type != 'w') {
		if (read_upper(c, claim, &fresh, err) < 0 || add_fresh(c, &fresh, err) < 0)
			return -1;
		if (fresh.left_out)
			return 0;
	}
	if (!parent->covered && base != REVIEW_NONE)
		cover(c, base);
	return 0;
}

/* --- links ----------------------------------------------------------------------------------- */

static int by_fresh_path(const void *a, const void *b)
{
	const struct fresh *x = a, *y = b;
	int order = strcmp(x->path, y->path);

	return order ? order : (x->left_out != NULL) - (y->left_out != NULL);
}

static void sort_fresh(struct comparing *c)
{
	if (c->fresh_count > 0)
		qsort(c->fresh, c->fresh_count, sizeof(*c->fresh), by_fresh_path);
}

/* Returns what the guest has at that path, and is not left out. */
static const struct fresh *find_fresh(const struct comparing *c, const char *path)
{
	const struct fresh key = {.path = path};

	return c->fresh_count ? bsearch(&key, c->fresh, c->fresh_count, sizeof(key), by_fresh_path)
			      : NULL;
}

/* A path whose links are being followed. */
struct following {
	const struct comparing *c;
	const char *const *targets; /* of the links of the list; NULL: not known */
	int links;		    /* that may still be followed */
};

static bool follows_out(struct following *f, char at[PATH_MAX], const char *rest);

/* Follows a link in the directory `at`, and `rest` behind it. */
static bool link_follows_out(struct following *f, const char *at, const char *target,
			     const char *rest)
{
	autofree char *all = NULL;
	char dir[PATH_MAX];

	if (!target || *target == '/' || f->links-- == 0)
		return true;
	memcpy(dir, at, strlen(at) + 1);
	if (asprintf(&all, "%s/%s", target, rest) < 0) {
		all = NULL;
		return true;
	}
	return follows_out(f, dir, all);
}

/* Returns whether `rest`, from the directory `at` on, leads out of the reviewed directory, or may do
 * so: through a link of the image, which the host may still have, or of the guest. Changes `at`. */
static bool follows_out(struct following *f, char at[PATH_MAX], const char *rest)
{
	const struct review_list *list = f->c->in->list;
	size_t len = strlen(at);

	while (*rest) {
		const size_t name = strcspn(rest, "/"), before = len;
		const struct fresh *fresh;
		size_t lower;

		if (name == 2 && strncmp(rest, "..", 2) == 0) {
			char *slash = strrchr(at, '/');

			if (len == 0)
				return true;
			len = slash ? (size_t)(slash - at) : 0;
			at[len] = '\0';
		} else if (name > 0 && !(name == 1 && *rest == '.')) {
			if (len + name + 2 > PATH_MAX)
				return true;
			if (len > 0)
				at[len++] = '/';
			memcpy(at + len, rest, name);
			len += name;
			at[len] = '\0';
			fresh = find_fresh(f->c, at);
			lower = review_list_find(list, at);
			const bool old = lower != REVIEW_NONE && lower != REVIEW_ROOT &&
					 list->entries[lower].type == 'l';
			const bool new = fresh && fresh->look.type == 'l';
			if (old || new) {
				rest += name;
				at[before] = '\0';
				return (old && link_follows_out(f, at, f->targets[lower], rest)) ||
				       (new &&link_follows_out(f, at, fresh->target, rest));
			}
		}
		rest += name + (rest[name] == '/');
	}
	return false;
}

/* Reads the targets of the links of the list. Returns whether one of them leads out, or is not
 * known. */
static bool read_targets(struct comparing *c, const char **targets, struct error *err)
{
	auto_review_dirs struct review_dirs host = {0};
	bool any = false;

	if (review_dirs_begin(&host, c->in->host, c->in->list, err) < 0)
		return false;
	for (size_t i = 0; i < c->in->list->count && err->code == ERR_NONE; i++) {
		if (entry_at(c, i)->type != 'l')
			continue;
		targets[i] = target_of_lower(c, &host, i, err);
		any = any || !targets[i] || leads_out(entry_at(c, i)->path, targets[i]);
	}
	return any;
}

/* Leaves a link of the guest out, after the merging. */
static void leave_link_out(struct comparing *c, struct fresh *fresh)
{
	const size_t claim = review_claims_find(c->in->claims, fresh->path);
	const size_t base = review_list_find(c->in->list, fresh->path);
	size_t parent, from, to;

	fresh->left_out = "a link that leads out of the directory through another link";
	if (fresh->source != REVIEW_UPPER || claim == REVIEW_NONE || base == REVIEW_NONE)
		return;
	/* The host's file stays, with what is below it, unless all of its directory goes. */
	parent = c->in->claims->entries[claim].parent;
	if (parent != REVIEW_ROOT && c->merged[parent].covered)
		return;
	c->covered[base] = false;
	if (entry_at(c, base)->type != 'd')
		return;
	review_list_below(c->in->list, entry_at(c, base)->path, &from, &to);
	memset(c->covered + from, false, to - from);
}

/* Leaves out the links of the guest that lead out through other links. A link of the host may lead
 * out: that is the person's wish. A guest's link through it is not. If no link of the host leads out,
 * none can, since each link of the guest was checked alone. */
static int check_links(struct comparing *c, struct error *err)
{
	autofree const char **targets = calloc(c->in->list->count + 1, sizeof(*targets));
	autofree bool *out = calloc(c->fresh_count + 1, sizeof(*out));
	size_t links = 0;

	if (!targets || !out)
		return error_errno(err, ENOMEM, "changes");
	for (size_t i = 0; i < c->fresh_count; i++)
		links += c->fresh[i].look.type == 'l' && !c->fresh[i].left_out;
	if (c->in->host < 0 || links == 0 || !read_targets(c, targets, err))
		return err->code == ERR_NONE ? 0 : -1;
	sort_fresh(c);
	for (size_t i = 0; i < c->fresh_count; i++) {
		const struct fresh *fresh = &c->fresh[i];
		struct following f = {.c = c, .targets = targets, .links = LINKS_FOLLOWED};
		const char *slash = strrchr(fresh->path, '/');
		char at[PATH_MAX] = "";

		if (fresh->look.type != 'l' || fresh->left_out || !fresh->target)
			continue;
		if (slash)
			memcpy(at, fresh->path, (size_t)(slash - fresh->path));
		out[i] = follows_out(&f, at, fresh->target);
	}
	for (size_t i = 0; i < c->fresh_count; i++)
		if (out[i])
			leave_link_out(c, &c->fresh[i]);
	return 0;
}

/* --- joining --------------------------------------------------------------------------------- */

static struct review_change *add_change(struct comparing *c, struct error *err)
{
	struct review_change *change;

	if (c->out.count == c->room) {
		size_t more = c->room ? 2 * c->room : 256;
		struct review_change *list = array_resize(c->out.changes, more, sizeof(*list));

		if (!list) {
			error_errno(err, ENOMEM, "changes");
			return NULL;
		}
		c->out.changes = list;
		c->room = more;
	}
	change = &c->out.changes[c->out.count++];
	*change = (struct review_change){.entry = REVIEW_NONE};
	return change;
}

/* Returns the mode that the file gets on the host. */
static mode_t wanted_mode(const struct comparing *c, const struct fresh *fresh,
			  const struct review_look *old)
{
	mode_t kept = old->type == fresh->look.type ? old->mode : 0;

	if (fresh->source == REVIEW_LOWER && fresh->look.type != 'd')
		return fresh->look.mode;
	if (fresh->source == REVIEW_LOWER)
		kept |= entry_at(c, fresh->lower)->mode;
	return mode_of(fresh->look.type, fresh->look.mode) & ~(c->in->umask & 0777 & ~kept);
}

/* Adds the change from a file of the list (REVIEW_NONE: none) to a new file (NULL: none), if there
 * is a change. */
static int join(struct comparing *c, size_t at, const struct fresh *fresh, struct error *err)
{
	struct review_look old = {0}, new = {0};
	enum review_kind kind = REVIEW_TYPE;
	struct review_change *change;
	mode_t asked = 0;

	if (at != REVIEW_NONE)
		old = look_of(entry_at(c, at));
	if (fresh) {
		new = fresh->look;
		new.mode = wanted_mode(c, fresh, &old);
		asked = fresh->look.mode;
	}
	if (at == REVIEW_NONE)
		kind = REVIEW_ADDED;
	else if (!fresh)
		kind = REVIEW_REMOVED;
	else if (old.type == new.type) {
		kind = REVIEW_CHANGED;
		if (memcmp(old.digest, new.digest, sizeof(old.digest)) == 0) {
			kind = REVIEW_MODE;
			if (old.mode == new.mode && !fresh->left_out)
				return 0;
		}
	}
	change = add_change(c, err);
	if (!change)
		return -1;
	change->path = fresh ? fresh->path : entry_at(c, at)->path;
	change->kind = kind;
	change->old = old;
	change->new = new;
	change->entry = at;
	change->asked = asked;
	if (!fresh)
		return 0;
	change->source = new.type == 'd' ? REVIEW_NOWHERE : fresh->source;
	change->target = fresh->target;
	change->left_out = fresh->left_out;
	/* For a directory `from` only serves to find that it was renamed. */
	if (fresh->source == REVIEW_LOWER && fresh->lower != REVIEW_ROOT &&
	    strcmp(entry_at(c, fresh->lower)->path, fresh->path) != 0)
		change->from = entry_at(c, fresh->lower)->path;
	return 0;
}

static int join_all(struct comparing *c, struct error *err)
{
	const struct review_list *list = c->in->list;
	const char *done = NULL;
	size_t i = 0;

	sort_fresh(c);
	for (size_t k = 0; k < c->fresh_count; k++) {
		const struct fresh *fresh = &c->fresh[k];
		size_t at = REVIEW_NONE;
		int order = -1;

		for (; i < list->count; i++) {
			order = strcmp(list->entries[i].path, fresh->path);
			if (order >= 0)
				break;
			if (c->covered[i] && list->entries[i].type != 's' &&
			    join(c, i, NULL, err) < 0)
				return -1;
		}
		if (order == 0 && i < list->count && list->entries[i].type != 's')
			at = i;
		if (fresh->left_out) {
			/* The host's file stays. */
			if (at != REVIEW_NONE)
				c->covered[at] = false;
			if (join(c, at, fresh, err) < 0)
				return -1;
			continue;
		}
		/* By the rules of merging no path comes twice. */
		if (done && strcmp(done, fresh->path) == 0)
			continue;
		done = fresh->path;
		if (join(c, at, fresh, err) < 0)
			return -1;
		if (at != REVIEW_NONE)
			i++;
	}
	for (; i < list->count; i++)
		if (c->covered[i] && list->entries[i].type != 's' && join(c, i, NULL, err) < 0)
			return -1;
	return 0;
}

/* --- autorun files --------------------------------------------------------------------------- */

static bool is_in_git(const char *path)
{
	for (;;) {
		size_t len = strcspn(path, "/");

		if (len == 4 && strncasecmp(path, ".git", 4) == 0)
			return true;
		if (!path[len])
			return false;
		path += len + 1;
	}
}

/* Returns whether the last name of the path is .git. */
static bool is_git(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strcasecmp(slash ? slash + 1 : path, ".git") == 0;
}

/* The names of a directory that make it a repository of git. */
struct parts {
	const char *path; /* the first `len` bytes are the path of the directory */
	size_t len;
	unsigned parts;
};

static int by_parts_path(const void *a, const void *b)
{
	const struct parts *x = a, *y = b;
	int order = strncasecmp(x->path, y->path, x->len < y->len ? x->len : y->len);

	return order ? order : (x->len > y->len) - (x->len < y->len);
}

static void note_parts(struct comparing *c, const char *path)
{
	const char *slash = strrchr(path, '/');
	const unsigned part = review_part_of_name(slash ? slash + 1 : path);

	if (part)
		c->parts[c->parts_count++] = (struct parts){
			.path = path, .len = slash ? (size_t)(slash - path) : 0, .parts = part};
}

/* Finds the directories that have such names in the image, or for the guest. Each of these names may
 * come to the host, or stay there, because a person takes only some of the changes. */
static int find_repositories(struct comparing *c, struct error *err)
{
	const size_t most = c->in->list->count + c->fresh_count;
	size_t kept = 0;

	c->parts = calloc(most + 1, sizeof(*c->parts));
	if (!c->parts)
		return error_errno(err, ENOMEM, "changes");
	for (size_t i = 0; i < c->in->list->count; i++)
		note_parts(c, entry_at(c, i)->path);
	for (size_t i = 0; i < c->fresh_count; i++)
		note_parts(c, c->fresh[i].path);
	if (c->parts_count > 0)
		qsort(c->parts, c->parts_count, sizeof(*c->parts), by_parts_path);
	for (size_t i = 0; i < c->parts_count; i++) {
		if (kept > 0 && by_parts_path(&c->parts[kept - 1], &c->parts[i]) == 0)
			c->parts[kept - 1].parts |= c->parts[i].parts;
		else
			c->parts[kept++] = c->parts[i];
	}
	c->parts_count = kept;
	return c->in->host < 0 ? 0 : review_dirs_begin(&c->host, c->in->host, NULL, err);
}

static unsigned find_parts(void *data, const char *path, size_t len)
{
	struct comparing *c = data;
	const struct parts key = {.path = path, .len = len};
	const struct parts *found =
		c->parts_count ? bsearch(&key, c->parts, c->parts_count, sizeof(key), by_parts_path)
			       : NULL;

	return (found ? found->parts : 0) |
	       (c->in->host < 0 ? 0 : review_parts_on_host(&c->host, path, len));
}

static int note_reached(struct comparing *c, const char *path, const char *by, struct error *err)
{
	const char *kept = review_keep(c->out.memory, path, NULL, NULL, err);

	if (!kept)
		return -1;
	if (c->reached_count == c->reached_room) {
		size_t more = c->reached_room ? 2 * c->reached_room : 32;
		struct reached *list = array_resize(c->reached, more, sizeof(*list));

		if (!list)
			return error_errno(err, ENOMEM, "changes");
		c->reached = list;
		c->reached_room = more;
	}
	c->reached[c->reached_count++] =
		(struct reached){.path = kept, .len = strlen(kept), .by = by};
	return 0;
}

/* Notes the links of the list that lead to the file `rest`, from the directory `at` on, and the path
 * of the file itself. Changes `at`. */
static int reach(struct comparing *c, struct review_dirs *host, char at[PATH_MAX], const char *rest,
		 const char *by, struct error *err)
{
	autofree char *kept = NULL;
	int links = LINKS_FOLLOWED;

	while (*rest) {
		const size_t name = strcspn(rest, "/"), before = strlen(at);
		const char *target;
		size_t lower;

		if (name == 2 && strncmp(rest, "..", 2) == 0) {
			char *slash = strrchr(at, '/');

			if (!*at)
				return 0;
			*(slash ? slash : at) = '\0';
		} else if (name > 0 && !(name == 1 && *rest == '.')) {
			if (before + name + 2 > PATH_MAX)
				return 0;
			snprintf(at + before, PATH_MAX - before, "%s%.*s", before ? "/" : "",
				 (int)name, rest);
			lower = review_list_find(c->in->list, at);
			if (lower != REVIEW_NONE && entry_at(c, lower)->type == 'l') {
				char *more = NULL;

				if (note_reached(c, at, by, err) < 0)
					return -1;
				target = target_of_lower(c, host, lower, err);
				if (!target || *target == '/' || links-- == 0)
					return err->code == ERR_NONE ? 0 : -1;
				if (asprintf(&more, "%s%s", target, rest + name) < 0)
					return error_errno(err, ENOMEM, "changes");
				at[before] = '\0';
				free(kept);
				kept = more;
				rest = kept;
				continue;
			}
		}
		rest += name + (rest[name] == '/');
	}
	return *at ? note_reached(c, at, by, err) : 0;
}

static int by_reached_path(const void *a, const void *b)
{
	const struct reached *x = a, *y = b;
	int order = strncasecmp(x->path, y->path, x->len < y->len ? x->len : y->len);

	return order ? order : (x->len > y->len) - (x->len < y->len);
}

/* Finds the files that programs run or obey because a link of the image with such a name leads to
 * them. */
static int find_reached(struct comparing *c, struct error *err)
{
	auto_review_dirs struct review_dirs host = {0};

	if (c->in->host < 0)
		return 0;
	if (review_dirs_begin(&host, c->in->host, c->in->list, err) < 0)
		return -1;
	for (size_t i = 0; i < c->in->list->count; i++) {
		const char *path = entry_at(c, i)->path, *slash = strrchr(path, '/'), *by;
		char at[PATH_MAX] = "";

		if (entry_at(c, i)->type != 'l' || strlen(path) >= PATH_MAX)
			continue;
		by = autorun_of_path(path, false);
		if (!by)
			by = review_repository_by(path, false, find_parts, c);
		if (!by)
			continue;
		if (slash)
			memcpy(at, path, (size_t)(slash - path));
		if (reach(c, &host, at, slash ? slash + 1 : path, by, err) < 0)
			return -1;
	}
	if (c->reached_count > 0)
		qsort(c->reached, c->reached_count, sizeof(*c->reached), by_reached_path);
	return 0;
}

/* Returns who runs or obeys the file because of a link; NULL: nobody. */
static const char *find_by_link(const struct comparing *c, const struct review_change *change)
{
	const char *path = change->path;
	const size_t len = strlen(path);
	size_t from = 0, to = c->reached_count;

	if (c->reached_count == 0)
		return NULL;
	for (size_t end = 1; end <= len; end++) {
		const struct reached key = {.path = path, .len = end}, *found;

		if (path[end] && path[end] != '/')
			continue;
		found = bsearch(&key, c->reached, c->reached_count, sizeof(key), by_reached_path);
		if (found)
			return found->by;
	}
	if (change->new.type != 'l')
		return NULL;
	/* A link in the place of a directory above such a file leads to another file. The first
	 * path that is not before "path/" would be that of such a file. */
	while (from < to) {
		const size_t middle = from + (to - from) / 2;
		const struct reached *at = &c->reached[middle];
		int order = strncasecmp(at->path, path, len);

		if (order == 0)
			order = (unsigned char)at->path[len] - '/';
		if (order == 0)
			return at->by;
		if (order < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return NULL;
}

/* Returns who runs or obeys the file, or NULL. Of the other files of .git no more is said than
 * that they are such files. */
static const char *find_by(struct comparing *c, const struct review_change *change, bool is_dir)
{
	const char *by = autorun_of_path(change->path, is_dir);

	if (by)
		return by;
	if (change->in_git)
		return is_dir && is_git(change->path) ? "git runs commands that its config names"
						      : NULL;
	by = review_repository_by(change->path, is_dir, find_parts, c);
	return by || is_dir ? by : find_by_link(c, change);
}

static void judge_paths(struct comparing *c)
{
	for (size_t i = 0; i < c->out.count; i++) {
		struct review_change *change = &c->out.changes[i];
		const bool is_dir = (change->new.type ? change->new.type : change->old.type) == 'd';

		/* Such a path may not even be that of a file. */
		if (change->left_out && !review_path_is_clean(change->path))
			continue;
		change->in_git = is_in_git(change->path);
		change->by = find_by(c, change, is_dir);
	}
}

/* --- renamed files --------------------------------------------------------------------------- */

/* Makes one renamed file of an added and of a removed one. */
static void pair(struct review_change *added, struct review_change *removed)
{
	added->kind = REVIEW_RENAMED;
	added->from = removed->path;
	added->entry = removed->entry;
	added->old = removed->old;
	added->new.mode |= added->asked & removed->old.mode;
	added->by = added->by ? added->by : removed->by;
	added->in_git = added->in_git || removed->in_git;
	removed->path = NULL; /* is dropped */
}

static const char *name_of(const struct review_change *change)
{
	const char *slash = strrchr(change->path, '/');

	return slash ? slash + 1 : change->path;
}

static int by_digest(const struct review_change *x, const struct review_look *x_look,
		     const struct review_change *y, const struct review_look *y_look, bool names)
{
	int order = memcmp(x_look->digest, y_look->digest, SHA256_BYTES);

	return order || !names ? order : strcmp(name_of(x), name_of(y));
}

static int by_old_digest(const void *a, const void *b)
{
	const struct review_change *x = *(struct review_change *const *)a;
	const struct review_change *y = *(struct review_change *const *)b;
	int order = by_digest(x, &x->old, y, &y->old, true);

	return order ? order : strcmp(x->path, y->path);
}

static int by_new_digest(const void *a, const void *b)
{
	const struct review_change *x = *(struct review_change *const *)a;
	const struct review_change *y = *(struct review_change *const *)b;
	int order = by_digest(x, &x->new, y, &y->new, true);

	return order ? order : strcmp(x->path, y->path);
}

/* Removes the paired files from the two arrays. */
static size_t drop_paired(struct review_change **list, size_t count, bool added)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (added ? list[i]->kind == REVIEW_ADDED : list[i]->path != NULL)
			list[kept++] = list[i];
	return kept;
}

/* Returns whether the contents alone may pair the file with another one. A guest could give any file
 * the contents of a file that it removes. By the old path a person would then name an autorun file. */
static bool may_be_paired(const struct review_change *change)
{
	return change->path && !change->left_out && !change->by && !change->in_git;
}

/* Pairs files with the same contents: first those whose last names are equal, then the others. */
static int pair_by_contents(struct comparing *c, struct error *err)
{
	const size_t all = c->out.count;
	autofree struct review_change **added = calloc(all + 1, sizeof(struct review_change *));
	autofree struct review_change **removed = calloc(all + 1, sizeof(struct review_change *));
	size_t na = 0, nr = 0;

	if (!added || !removed)
		return error_errno(err, ENOMEM, "changes");
	for (size_t i = 0; i < all; i++) {
		struct review_change *change = &c->out.changes[i];

		if (!may_be_paired(change))
			continue;
		/* Empty files are too common to say that one was renamed. */
		if (change->kind == REVIEW_ADDED && change->source == REVIEW_UPPER &&
		    change->new.type == 'f' && change->new.size > 0)
			added[na++] = change;
		if (change->kind == REVIEW_REMOVED && change->old.type == 'f' &&
		    change->old.size > 0)
			removed[nr++] = change;
	}
	if (na > 0)
		qsort(added, na, sizeof(struct review_change *), by_new_digest);
	if (nr > 0)
		qsort(removed, nr, sizeof(struct review_change *), by_old_digest);
	for (int names = 1; names >= 0; names--) {
		for (size_t a = 0, r = 0; a < na && r < nr;) {
			int order = by_digest(added[a], &added[a]->new, removed[r],
					      &removed[r]->old, names);

			if (order == 0)
				pair(added[a++], removed[r++]);
			else if (order < 0)
				a++;
			else
				r++;
		}
		na = drop_paired(added, na, true);
		nr = drop_paired(removed, nr, false);
	}
	return 0;
}

/* Pairs the files and directories that redirects have brought with the removed ones. */
static int pair_by_redirect(struct comparing *c, struct error *err)
{
	autofree size_t *removed = calloc(c->in->list->count + 1, sizeof(*removed));

	if (!removed)
		return error_errno(err, ENOMEM, "changes");
	for (size_t i = 0; i < c->out.count; i++)
		if (c->out.changes[i].kind == REVIEW_REMOVED)
			removed[c->out.changes[i].entry] = i + 1;
	for (size_t i = 0; i < c->out.count; i++) {
		struct review_change *change = &c->out.changes[i];
		size_t from = change->path && change->from
				      ? review_list_find(c->in->list, change->from)
				      : REVIEW_NONE;

		if (from == REVIEW_NONE || change->kind != REVIEW_ADDED || change->left_out ||
		    !removed[from]) {
			if (change->new.type == 'd')
				change->from = NULL;
			continue;
		}
		pair(change, &c->out.changes[removed[from] - 1]);
		removed[from] = 0;
	}
	return 0;
}

static void drop_removed(struct comparing *c)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->out.count; i++)
		if (c->out.changes[i].path)
			c->out.changes[kept++] = c->out.changes[i];
	c->out.count = kept;
}

/* --- the host's files ------------------------------------------------------------------------ */

/* Returns whether the nearest of the changes above the path whose file becomes a directory, or the
 * other way round, says that the host has no such directory now. `parents` has these changes. */
static bool is_replaced(struct review_parents *parents, const struct review_change *changes,
			const char *path)
{
	(void)review_parents_find(parents, path);
	for (size_t k = parents->depth; k-- > 0;) {
		const struct review_change *above = &changes[parents->stack[k].at];

		if (path[parents->stack[k].len] == '/')
			return review_host_is_replaced(above, above->host);
	}
	return false;
}

static int judge_host(struct comparing *c, struct error *err)
{
	auto_review_host struct review_host_dirs dirs = {0};
	autofree struct review_parent *stack = calloc(c->out.count + 1, sizeof(*stack));
	struct review_parents parents = {.stack = stack};

	if (!stack)
		return error_errno(err, ENOMEM, "changes");
	if (review_host_begin(&dirs, c->in->host, c->in->list, err) < 0)
		return -1;
	for (size_t i = 0; i < c->out.count; i++) {
		struct review_change *change = &c->out.changes[i];
		bool replaced;

		if (change->left_out)
			continue;
		replaced = is_replaced(&parents, c->out.changes, change->path);
		change->host = review_host_state(&dirs, change, replaced, &change->conflict);
		if (change->kind == REVIEW_TYPE &&
		    (change->new.type == 'd' || change->old.type == 'd'))
			review_parents_add(&parents, change->path, i);
	}
	return 0;
}

static void add_look(struct sha256 *sha, const struct review_look *look)
{
	char text[64];

	snprintf(text, sizeof(text), "%c %o %llu", look->type ? look->type : '-',
		 (unsigned)look->mode, (unsigned long long)look->size);
	sha256_update(sha, text, strlen(text) + 1);
	sha256_update(sha, look->digest, sizeof(look->digest));
}

static void add_text(struct sha256 *sha, const char *text)
{
	const char there = text ? '+' : '-';

	sha256_update(sha, &there, 1);
	if (text)
		sha256_update(sha, text, strlen(text) + 1);
}

static void digest_changes(struct review_changes *changes)
{
	static const char head[] = "microagent-review-changes 1";
	uint8_t digest[SHA256_BYTES];
	struct sha256 sha;

	sha256_init(&sha);
	sha256_update(&sha, head, sizeof(head));
	for (size_t i = 0; i < changes->count; i++) {
		const struct review_change *change = &changes->changes[i];
		const char kind[] = {(char)('0' + (int)change->kind),
				     (char)('0' + (int)change->source)};

		add_text(&sha, change->path);
		sha256_update(&sha, kind, sizeof(kind));
		add_text(&sha, change->from);
		add_text(&sha, change->left_out);
		add_look(&sha, &change->old);
		add_look(&sha, &change->new);
	}
	sha256_final(&sha, digest);
	sha256_hex(digest, changes->digest);
}

/* --- all of it ------------------------------------------------------------------------------- */

static int compare(struct comparing *c, struct error *err)
{
	const struct review_inputs *in = c->in;

	c->merged = calloc(in->claims->count + 1, sizeof(*c->merged));
	c->covered = calloc(in->list->count + 1, sizeof(*c->covered));
	c->hidden = calloc(in->list->count + 1, sizeof(*c->hidden));
	c->out.memory = review_memory_new(err);
	if (!c->merged || !c->covered || !c->hidden || !c->out.memory)
		return error_errno(err, ENOMEM, "changes");
	if (review_dirs_begin(&c->tree, in->tree, NULL, err) < 0)
		return error_prefix(err, "the copy of the guest's files");
	for (size_t i = 0; i < in->claims->count; i++)
		if (merge_claim(c, i, err) < 0)
			return -1;
	if (check_links(c, err) < 0 || join_all(c, err) < 0 || find_repositories(c, err) < 0 ||
	    find_reached(c, err) < 0)
		return -1;
	judge_paths(c);
	if (pair_by_redirect(c, err) < 0 || pair_by_contents(c, err) < 0)
		return -1;
	drop_removed(c);
	if (in->host >= 0 && judge_host(c, err) < 0)
		return -1;
	digest_changes(&c->out);
	return 0;
}

int review_compare(const struct review_inputs *inputs, struct review_changes *out,
		   struct error *err)
{
	struct comparing c = {.in = inputs};
	struct error why = {0};
	int status = compare(&c, &why);

	review_dirs_end(&c.tree);
	free(c.merged);
	free(c.covered);
	free(c.hidden);
	free(c.fresh);
	free(c.parts);
	free(c.reached);
	free(c.hashed);
	review_dirs_end(&c.host);
	if (status < 0) {
		review_changes_free(&c.out);
		return error_copy(err, &why);
	}
	*out = c.out;
	return 0;
}

void review_changes_free(struct review_changes *changes)
{
	free(changes->changes);
	review_memory_free(changes->memory);
	*changes = (struct review_changes){0};
}

size_t review_changes_find(const struct review_changes *changes, const char *path)
{
	size_t from = 0, to = changes->count;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (strcmp(changes->changes[middle].path, path) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from < changes->count && strcmp(changes->changes[from].path, path) == 0 &&
			       !changes->changes[from].left_out
		       ? from
		       : REVIEW_NONE;
}
