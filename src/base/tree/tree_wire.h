/* SPDX-License-Identifier: MIT */
/*
 * Reads and writes the entries and chunks of tree_stream.h as bytes, with a buffer for each
 * direction. With the buffer, several small files need only one system call. Data are read from a
 * file directly into the buffer that is sent.
 */
#ifndef BASE_TREE_WIRE_H
#define BASE_TREE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/tree/tree_digest.h"
#include "base/tree/tree_stream.h"

enum tree_type {
	TREE_FILE = 'f',
	TREE_DIR = 'd',
	TREE_DIR_END = 'x',
	TREE_LINK = 'l',
	TREE_HARD_LINK = 'h',
	TREE_SKIPPED = 's',
	TREE_WHITEOUT = 'w',
	TREE_OPAQUE = 'o',
	TREE_REDIRECT = 'r',
	TREE_ERROR = 'e',
	TREE_END = 'z',
};
enum tree_chunk_kind {
	TREE_DATA = 'D',
	TREE_HOLE = 'H',
	TREE_FILE_END = 'E',
	TREE_BREAK = 'B',
};
#define TREE_PATH_MAX 4096
#define TREE_CHUNK ((size_t)128 * 1024)
#define TREE_CHUNK_HEAD 9
#define TREE_BUFFER (2 * TREE_CHUNK)
/* The greatest depth of nested directories. */
#define TREE_DEPTH_MAX 128

struct tree_entry {
	enum tree_type type;
	uint32_t mode;
	int64_t mtime;
	uint32_t mtime_ns;
	uint64_t size;
	char path[TREE_PATH_MAX + 1];
	char text[TREE_PATH_MAX + 1]; /* the target of a link or redirect, or a reason */
};

struct tree_chunk {
	enum tree_chunk_kind kind;
	uint64_t length; /* the length of the chunk in bytes: at most TREE_CHUNK for TREE_DATA,
			  * otherwise at most INT64_MAX */
};

/* --- writing: the buffer is sent when it is full, and by tree_flush() ------------------------ */

struct tree_writer {
	int fd;
	int cancel;	/* the descriptor that cancels the work, as in struct tree_line */
	int silence_ms; /* the time limit in ms, as in struct tree_line */
	bool duplex;	/* the peer may send bytes while this side writes */
	bool spoken;	/* the peer has sent bytes, so this side sends no more */
	size_t len;
	uint8_t bytes[TREE_BUFFER];
};

int tree_flush(struct tree_writer *w, struct error *err);
/* Writes an entry. The caller must set only those members of *entry that its type needs. */
int tree_put_entry(struct tree_writer *w, const struct tree_entry *entry, struct error *err);
/* Writes a hole of `length` bytes, and adds it to `digest`. */
int tree_put_hole(struct tree_writer *w, uint64_t length, struct tree_digest *digest,
		  struct error *err);
int tree_put_file_end(struct tree_writer *w, uint64_t length, const struct tree_digest *digest,
		      struct error *err);
int tree_put_break(struct tree_writer *w, struct error *err);
/* Returns a pointer to room for *room bytes of data of one chunk, at least SPACE_LEAST bytes; NULL
 * with an error. The caller writes data to this room, and then calls tree_chunk_commit() with the
 * number of bytes written. */
uint8_t *tree_chunk_space(struct tree_writer *w, size_t *room, struct error *err);
void tree_chunk_commit(struct tree_writer *w, size_t len, struct tree_digest *digest);

/* --- reading --------------------------------------------------------------------------------- */

struct tree_reader {
	int fd;
	int cancel, silence_ms;
	size_t start, end; /* the bytes from start to end were received and are not processed yet */
	uint8_t bytes[TREE_BUFFER];
};

/* Reads an entry. Checks that its type is known, that its texts contain no NUL, and that its
 * nanoseconds are in range. */
int tree_get_entry(struct tree_reader *r, struct tree_entry *out, struct error *err);
/* Reads the head of a chunk. Checks that its kind is known and its length is in range. Adds the
 * head to `digest`, unless its kind is 'E' or 'B'. */
int tree_get_chunk(struct tree_reader *r, struct tree_digest *digest, struct tree_chunk *out,
		   struct error *err);
int tree_get_digest(struct tree_reader *r, uint64_t *out, struct error *err);
/* Sets *data to the next data of the chunk, and returns their length, from 1 to `max` bytes. The
 * data are valid until the next call. Returns 0 with an error on failure. */
size_t tree_get_data(struct tree_reader *r, size_t max, const uint8_t **data, struct error *err);

/* Returns whether no component of a path is empty, "." or "..", none is longer than 255 bytes, and
 * the path is not too deep. The empty path is clean. */
bool tree_path_is_clean(const char *path);
/* Returns whether a redirect is an absolute path or the name of one component. The kernel opens no
 * directory that has another redirect. */
bool tree_redirect_is_clean(const char *redirect);

/* Adds `more` bytes to *counted. Fails with ERR_CONFLICT if the sum exceeds the limit of the
 * line. */
int tree_count(const struct tree_line *line, uint64_t *counted, uint64_t more, struct error *err);

/* Sets ERR_IO, whose message says that the stream is malformed. Returns -1. */
int tree_damaged(struct error *err);
/* Sets the error that an 'e' entry reports. Returns -1. */
int tree_error_of(const struct tree_entry *entry, struct error *err);

#endif
