/* SPDX-License-Identifier: MIT */
/* The entries of tree_stream.h as bytes. */
#ifndef BASE_TREE_WIRE_H
#define BASE_TREE_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum tree_type {
	TREE_FILE = 'f',
	TREE_DIR = 'd',
	TREE_LINK = 'l',
	TREE_SKIPPED = 's',
	TREE_ERROR = 'e',
	TREE_END = 'z',
};
#define TREE_PATH_MAX 4096
#define TREE_CHUNK 65536u
#define TREE_BREAK UINT32_MAX
/* Directories in directories. */
#define TREE_DEPTH_MAX 128

struct tree_entry_head {
	enum tree_type type;
	uint32_t mode;
	int64_t mtime;
	char path[TREE_PATH_MAX + 1];
	char text[TREE_PATH_MAX + 1]; /* target or reason */
};

int tree_put_entry(int to, enum tree_type type, uint32_t mode, int64_t mtime, const char *path,
		   const char *text, struct error *err);
int tree_put_length(int to, uint32_t length, struct error *err);
/* A known type, texts without NUL. */
int tree_get_entry(int from, struct tree_entry_head *out, struct error *err);
/* At most TREE_CHUNK, or TREE_BREAK. */
int tree_get_length(int from, uint32_t *out, struct error *err);

#endif
