/* SPDX-License-Identifier: MIT */
#include "base/tree_wire.h"

#include <string.h>

#include "base/fd.h"
#include "base/frame.h"

/* type, mode, mtime, two lengths */
enum { HEAD = 1 + 4 + 8 + 4 + 4 };

int tree_put_entry(int to, enum tree_type type, uint32_t mode, int64_t mtime, const char *path,
		   const char *text, struct error *err)
{
	size_t path_len = strlen(path), text_len = strnlen(text, TREE_PATH_MAX);
	uint8_t head[HEAD];

	if (path_len > TREE_PATH_MAX)
		return error_set(err, ERR_INVALID, "a path of more than %d bytes", TREE_PATH_MAX);
	head[0] = (uint8_t)type;
	be32_put(head + 1, mode);
	be64_put(head + 5, (uint64_t)mtime);
	be32_put(head + 13, (uint32_t)path_len);
	be32_put(head + 17, (uint32_t)text_len);
	if (fd_write_all(to, head, sizeof(head), err) < 0 ||
	    fd_write_all(to, path, path_len, err) < 0)
		return -1;
	return fd_write_all(to, text, text_len, err);
}

int tree_put_length(int to, uint32_t length, struct error *err)
{
	uint8_t bytes[4];

	be32_put(bytes, length);
	return fd_write_all(to, bytes, sizeof(bytes), err);
}

static int broken(struct error *err)
{
	return error_set(err, ERR_IO, "the stream of files is damaged");
}

static int get_text(int from, uint32_t len, char out[TREE_PATH_MAX + 1], struct error *err)
{
	if (len > TREE_PATH_MAX)
		return broken(err);
	if (fd_read_exact(from, out, len, err) < 0)
		return -1;
	out[len] = '\0';
	return memchr(out, '\0', len) ? broken(err) : 0;
}

int tree_get_entry(int from, struct tree_entry_head *out, struct error *err)
{
	static const char types[] = {TREE_FILE,	   TREE_DIR,   TREE_LINK,
				     TREE_SKIPPED, TREE_ERROR, TREE_END};
	uint8_t head[HEAD];

	if (fd_read_exact(from, head, sizeof(head), err) < 0)
		return error_prefix(err, "the stream of files");
	if (!memchr(types, head[0], sizeof(types)))
		return broken(err);
	out->type = (enum tree_type)head[0];
	out->mode = be32_get(head + 1);
	out->mtime = (int64_t)be64_get(head + 5);
	if (get_text(from, be32_get(head + 13), out->path, err) < 0)
		return -1;
	return get_text(from, be32_get(head + 17), out->text, err);
}

int tree_get_length(int from, uint32_t *out, struct error *err)
{
	uint8_t bytes[4];

	if (fd_read_exact(from, bytes, sizeof(bytes), err) < 0)
		return error_prefix(err, "the stream of files");
	*out = be32_get(bytes);
	return *out <= TREE_CHUNK || *out == TREE_BREAK ? 0 : broken(err);
}
