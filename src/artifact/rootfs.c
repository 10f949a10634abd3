/* SPDX-License-Identifier: MIT */
#include "artifact/rootfs.h"

#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "artifact/rootfs_impl.h"
#include "base/cleanup.h"

/* The largest number of links that are followed in one path. Linux has the same limit. */
#define LINKS_MAX 40
/* The largest number of bytes that the targets of all followed links of one image may have
 * together. The limit is needed because a layer of a few bytes can have links with long targets in
 * the path of each file. The limit allows 64 bytes for each of a million paths. */
#define FOLLOWED_MAX (UINT64_C(64) << 20)

static int compare_nodes(const void *a, const void *b)
{
	const struct rootfs_node *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static struct rootfs_node *child(const struct rootfs_node *dir, const char *name)
{
	char text[ROOTFS_NAME_MAX + 1];
	const struct rootfs_node key = {.name = text};
	void *found;

	snprintf(text, sizeof(text), "%s", name);
	found = tfind(&key, &dir->children, compare_nodes);
	return found ? *(struct rootfs_node **)found : NULL;
}

struct pruning {
	struct rootfs *fs;
	unsigned below; /* number of a layer; only files of earlier layers are removed */
	struct rootfs_node **doomed;
	size_t count, room;
	bool failed;
};

static void note_doomed(const void *item, VISIT visit, void *data)
{
	struct pruning *p = data;

	if (p->failed || (visit != postorder && visit != leaf))
		return;
	if (p->count == p->room) {
		size_t room = p->room ? 2 * p->room : 16;
		struct rootfs_node **more =
			reallocarray(p->doomed, room, sizeof(struct rootfs_node *));

		p->failed = more == NULL;
		if (!more)
			return;
		p->doomed = more;
		p->room = room;
	}
	p->doomed[p->count++] = *(struct rootfs_node *const *)item;
}

static void free_node(struct rootfs *fs, struct rootfs_node *node)
{
	fs->count--;
	fs->text -= node->path_len;
	if (node->parent)
		tdelete(node, &node->parent->children, compare_nodes);
	rootfs_drop(fs, node->file);
	free(node->name);
	free(node);
}

/* Removes the files in `dir` that are from a layer before `below`. Keeps the parent directories of
 * a file that stays. A layer can request this many times for the same directory, but only the first
 * request does any work, because all files that are added later belong to the current layer. */
static int prune(struct rootfs *fs, struct rootfs_node *dir, unsigned below, struct error *err)
{
	struct pruning p = {.fs = fs, .below = below};
	int result = 0;

	if (dir->pruned >= below)
		return 0;
	twalk_r(dir->children, note_doomed, &p);
	if (p.failed)
		result = error_errno(err, ENOMEM, "image");
	for (size_t i = 0; i < p.count && result == 0; i++) {
		result = prune(fs, p.doomed[i], below, err);
		if (result == 0 && p.doomed[i]->layer < below && !p.doomed[i]->children)
			free_node(fs, p.doomed[i]);
	}
	free(p.doomed);
	if (result == 0)
		dir->pruned = below;
	return result;
}

/* The layers of an image may unpack to at most UNPACKED_TIMES times the size of the image's
 * disk. */
#define UNPACKED_TIMES 4

uint64_t rootfs_most_unpacked(uint64_t bytes)
{
	return bytes > UINT64_MAX / UNPACKED_TIMES ? UINT64_MAX : bytes * UNPACKED_TIMES;
}

struct rootfs *rootfs_new(int data_dir, int64_t time, const struct rootfs_bounds *bounds,
			  struct error *err)
{
	struct rootfs *fs = calloc(1, sizeof(*fs));

	if (!fs) {
		error_errno(err, ENOMEM, "image");
		return NULL;
	}
	*fs = (struct rootfs){
		.data_dir = data_dir,
		.time = time,
		.bounds = *bounds,
		.unpacked.most = rootfs_most_unpacked(bounds->bytes),
	};
	fs->root.name = "";
	fs->root.file = rootfs_file_new(S_IFDIR | 0755, err);
	if (!fs->root.file) {
		free(fs);
		return NULL;
	}
	fs->root.file->time = time;
	return fs;
}

void rootfs_free(struct rootfs *fs)
{
	struct error ignored;

	if (!fs)
		return;
	(void)prune(fs, &fs->root, UINT32_MAX, &ignored);
	rootfs_drop(fs, fs->root.file);
	free(fs);
}

void rootfs_cleanup(struct rootfs **fs)
{
	rootfs_free(*fs);
}

void rootfs_set_source(struct rootfs *fs, const struct rootfs_source *source)
{
	fs->source = source;
}

void rootfs_next_layer(struct rootfs *fs)
{
	fs->layer++;
}

static struct rootfs_node *rootfs_add_node(struct rootfs *fs, struct rootfs_node *dir,
					   const char *name, struct rootfs_file *file,
					   struct error *err)
{
	struct rootfs_node *node;
	size_t path_len = dir->path_len + 1 + strlen(name);

	if (path_len > ROOTFS_PATH_MAX) {
		error_set(err, ERR_INVALID,
			  "the path is longer than %d bytes: make the archive with a shorter path",
			  ROOTFS_PATH_MAX);
		return NULL;
	}
	if (fs->count >= fs->bounds.count) {
		error_set(err, ERR_INVALID,
			  "the archive has more than %llu files: make it with fewer",
			  (unsigned long long)fs->bounds.count);
		return NULL;
	}
	if (rootfs_count_file(fs, file, err) < 0 || rootfs_take_text(fs, path_len, err) < 0)
		return NULL;
	node = calloc(1, sizeof(*node));
	if (node)
		*node = (struct rootfs_node){.parent = dir,
					     .name = strdup(name),
					     .file = file,
					     .layer = fs->layer,
					     .path_len = path_len};
	if (!node || !node->name || !tsearch(node, &dir->children, compare_nodes)) {
		if (node)
			free(node->name);
		free(node);
		fs->text -= path_len;
		error_errno(err, ENOMEM, "image");
		return NULL;
	}
	fs->count++;
	return node;
}

static struct rootfs_node *add_dir(struct rootfs *fs, struct rootfs_node *dir, const char *name,
				   struct error *err)
{
	struct rootfs_file *file = rootfs_file_new(S_IFDIR | 0755, err);
	struct rootfs_node *node;

	if (!file)
		return NULL;
	file->time = fs->time;
	node = rootfs_add_node(fs, dir, name, file, err);
	if (!node)
		rootfs_drop(fs, file);
	return node;
}

/* Copies the next name of the path to `name`, and moves *path to the end of this name. Skips "."
 * and empty names. Returns false at the end of the path. */
static bool next_name(const char **path, char name[ROOTFS_NAME_MAX + 2])
{
	const char *start;
	size_t len;

	do {
		start = *path + strspn(*path, "/");
		len = strcspn(start, "/");
		*path = start + len;
	} while (len == 1 && *start == '.');
	snprintf(name, ROOTFS_NAME_MAX + 2, "%.*s", (int)len, start);
	return len > 0;
}

struct walk {
	bool create; /* missing directories are made */
	unsigned links;
};

static int follow_link(struct rootfs *fs, const char *target, struct walk *how, struct error *err)
{
	if (++how->links > LINKS_MAX)
		return error_set(
			err, ERR_INVALID,
			"the path leads through too many links to directories, perhaps in a circle: make the archive without them");
	fs->followed += strlen(target);
	return fs->followed > FOLLOWED_MAX
		       ? error_set(
				 err, ERR_INVALID,
				 "the archive's paths lead through too many links to directories: the targets of these links have more than %llu bytes in all",
				 (unsigned long long)FOLLOWED_MAX)
		       : 0;
}

/* Follows `path`, beginning in the directory `at`. Sets *out to the directory to which `path`
 * leads, or to NULL if it does not exist. If `in_link` is true, `path` is the target of a link, and
 * may contain "..". In the root, ".." leads to the root. */
static int walk_to_dir(struct rootfs *fs, struct rootfs_node *at, const char *path, bool in_link,
		       struct walk *how, struct rootfs_node **out, struct error *err)
{
	char name[ROOTFS_NAME_MAX + 2];
	struct rootfs_node *next;

	*out = NULL;
	while (next_name(&path, name)) {
		if (strcmp(name, "..") == 0) {
			if (!in_link)
				return error_set(
					err, ERR_INVALID,
					"the path has \"..\" in it, and could lead out of the archive: make the archive without it");
			at = at->parent ? at->parent : at;
			continue;
		}
		if (strlen(name) > ROOTFS_NAME_MAX)
			return error_set(
				err, ERR_INVALID,
				"a name in the path is longer than %d bytes: make the archive with shorter names",
				ROOTFS_NAME_MAX);
		next = child(at, name);
		if (!next && !how->create)
			return 0;
		if (!next && !(next = add_dir(fs, at, name, err)))
			return -1;
		if (S_ISLNK(next->file->mode)) {
			if (fs->bounds.straight)
				return error_set(
					err, ERR_INVALID,
					"\"%s\" in the path is a symbolic link, and nothing is unpacked through links: make the archive again",
					name);
			const char *target = next->file->text;

			if (follow_link(fs, target, how, err) < 0 ||
			    walk_to_dir(fs, target[0] == '/' ? &fs->root : at, target, true, how,
					&next, err) < 0)
				return -1;
			if (!next)
				return 0;
		} else if (!S_ISDIR(next->file->mode)) {
			return how->create
				       ? error_set(
						 err, ERR_INVALID,
						 "\"%s\" in the path is not a directory: make the archive again",
						 name)
				       : 0;
		}
		at = next;
	}
	*out = at;
	return 0;
}

/* Splits a path such as "a/b/": writes "b" to `name`, and returns the directory "a". The caller
 * frees the returned string. For the path of the root, writes "" to `name`. */
static char *split_path(const char *path, char name[ROOTFS_NAME_MAX + 1], struct error *err)
{
	size_t end = strlen(path), start;

	for (;;) {
		while (end > 0 && path[end - 1] == '/')
			end--;
		start = end;
		while (start > 0 && path[start - 1] != '/')
			start--;
		if (end - start != 1 || path[start] != '.')
			break;
		end = start;
	}
	if (end - start > ROOTFS_NAME_MAX) {
		error_set(
			err, ERR_INVALID,
			"a name in the path is longer than %d bytes: make the archive with shorter names",
			ROOTFS_NAME_MAX);
		return NULL;
	}
	snprintf(name, ROOTFS_NAME_MAX + 1, "%.*s", (int)(end - start), path + start);
	if (strcmp(name, "..") == 0) {
		error_set(
			err, ERR_INVALID,
			"the path has \"..\" in it, and could lead out of the archive: make the archive without it");
		return NULL;
	}
	char *dir = strndup(path, start);
	if (!dir)
		error_errno(err, ENOMEM, "image");
	return dir;
}

/* Sets *dir to the directory that contains the file `path`, or to NULL if this directory does not
 * exist. Writes the name of the file in this directory to `name`. */
static int find_in_rootfs(struct rootfs *fs, const char *path, bool create,
			  struct rootfs_node **dir, char name[ROOTFS_NAME_MAX + 1],
			  struct error *err)
{
	autofree char *parent = split_path(path, name, err);
	struct walk how = {.create = create};

	return parent ? walk_to_dir(fs, &fs->root, parent, false, &how, dir, err) : -1;
}

static int put_node(struct rootfs *fs, const char *path, struct rootfs_file *file,
		    struct error *err)
{
	char name[ROOTFS_NAME_MAX + 1];
	struct rootfs_node *dir, *there;

	if (find_in_rootfs(fs, path, true, &dir, name, err) < 0)
		return -1;
	there = *name ? child(dir, name) : &fs->root;
	if (!*name && !S_ISDIR(file->mode))
		return error_set(
			err, ERR_INVALID,
			"the archive is damaged, because its root is not a directory: fetch or make it again");
	if (there && S_ISDIR(there->file->mode) && S_ISDIR(file->mode)) {
		if (rootfs_count_file(fs, file, err) < 0)
			return -1;
		rootfs_drop(fs, there->file);
		there->file = file;
		there->layer = fs->layer;
		return 0;
	}
	if (there) {
		if (prune(fs, there, UINT32_MAX, err) < 0)
			return -1;
		free_node(fs, there);
	}
	return rootfs_add_node(fs, dir, name, file, err) ? 0 : -1;
}

int rootfs_put(struct rootfs *fs, const char *path, struct rootfs_file *file, struct error *err)
{
	if (put_node(fs, path, file, err) == 0)
		return 0;
	rootfs_drop(fs, file);
	return error_prefix(err, "\"%.300s\"", path);
}

/* --- adding files without an archive --------------------------------------------------------- */

int rootfs_add(struct rootfs *fs, const char *path, mode_t mode, uid_t owner, const char *text,
	       struct error *err)
{
	struct rootfs_file *file = rootfs_file_new(mode, err);

	if (!file)
		return -1;
	file->uid = owner;
	file->gid = owner;
	file->time = fs->time;
	if (text && !(file->text = strdup(text))) {
		rootfs_drop(fs, file);
		return error_errno(err, ENOMEM, "image");
	}
	file->bytes = text && S_ISREG(mode) ? strlen(text) : 0;
	return rootfs_put(fs, path, file, err);
}

int rootfs_add_copy(struct rootfs *fs, const char *path, mode_t mode, const char *from,
		    struct error *err)
{
	struct rootfs_file *file;
	struct stat st;

	if (stat(from, &st) < 0)
		return error_errno(err, errno, "%s", from);
	file = rootfs_file_new(S_IFREG | mode, err);
	if (!file)
		return -1;
	file->time = fs->time;
	file->bytes = (uint64_t)st.st_size;
	file->from = strdup(from);
	if (!file->from) {
		rootfs_drop(fs, file);
		return error_errno(err, ENOMEM, "image");
	}
	return rootfs_put(fs, path, file, err);
}

/* --- changes by a layer ---------------------------------------------------------------------- */

int rootfs_make_dir(struct rootfs *fs, const char *path, struct error *err)
{
	struct walk how = {.create = true};
	struct rootfs_node *dir;

	return walk_to_dir(fs, &fs->root, path, false, &how, &dir, err) < 0
		       ? error_prefix(err, "\"%.300s\"", path)
		       : 0;
}

int rootfs_link(struct rootfs *fs, const char *path, const char *target, struct error *err)
{
	char name[ROOTFS_NAME_MAX + 1];
	struct rootfs_node *dir, *there;

	if (find_in_rootfs(fs, target, false, &dir, name, err) < 0)
		return error_prefix(err, "\"%.300s\"", target);
	there = dir && *name ? child(dir, name) : NULL;
	if (!there || S_ISDIR(there->file->mode))
		return error_set(
			err, ERR_INVALID,
			"\"%.300s\" is a hard link to \"%.300s\", %s: make the archive again", path,
			target, there ? "which is a directory" : "which does not exist");
	there->file->names++;
	return rootfs_put(fs, path, there->file, err);
}

int rootfs_hide(struct rootfs *fs, const char *path, struct error *err)
{
	char name[ROOTFS_NAME_MAX + 1];
	struct rootfs_node *dir, *there;

	if (find_in_rootfs(fs, path, false, &dir, name, err) < 0)
		return error_prefix(err, "\"%.300s\"", path);
	there = dir && *name ? child(dir, name) : NULL;
	if (!there)
		return 0;
	if (prune(fs, there, fs->layer, err) < 0)
		return -1;
	if (there->layer < fs->layer && !there->children)
		free_node(fs, there);
	return 0;
}

int rootfs_hide_below(struct rootfs *fs, const char *path, struct error *err)
{
	struct walk how = {0};
	struct rootfs_node *dir;

	if (walk_to_dir(fs, &fs->root, path, false, &how, &dir, err) < 0)
		return error_prefix(err, "\"%.300s\"", path);
	return dir ? prune(fs, dir, fs->layer, err) : 0;
}

const struct rootfs_file *rootfs_find(struct rootfs *fs, const char *path)
{
	char name[ROOTFS_NAME_MAX + 1];
	struct rootfs_node *dir, *there;

	if (find_in_rootfs(fs, path, false, &dir, name, NULL) < 0 || !dir)
		return NULL;
	there = *name ? child(dir, name) : dir;
	return there ? there->file : NULL;
}

uint64_t rootfs_bytes(const struct rootfs *fs)
{
	return fs->bytes;
}

uint64_t rootfs_count(const struct rootfs *fs)
{
	return fs->count;
}
