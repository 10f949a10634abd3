/* SPDX-License-Identifier: MIT */
/*
 * A file, or a directory with all that is in it, as a stream of bytes between host and guest.
 * Either side may be hostile: the receiver checks everything, and trusts only that the stream is
 * the one that it asked for.
 *
 *   entry   type (1 byte), mode (4), mtime in seconds (8) and nanoseconds (4), size (8), length of
 *           path (4), length of text (4), path, text; numbers are big-endian. The root's path is
 *           "", the others' are relative to it.
 *   'f'     a regular file of about that size; its chunks follow
 *   'd'     a directory; its entries follow, and then
 *   'x'     the same directory again: it is complete, its mode and times may be set
 *   'l'     a symbolic link to text
 *   'h'     one more name of a regular file that came before under the path in text
 *   's'     something that is left out, and why (text): a device, another file system...
 *   'e'     the sender's failure (text); mode is the code of the error; the last entry
 *   'z'     the end
 *
 *   chunk   kind (1 byte), length (8)
 *   'D'     that many bytes of data follow, TREE_CHUNK at most
 *   'H'     a hole of that length
 *   'E'     the end of a file of that length; 8 bytes of digest follow
 *   'B'     the sender cannot go on; an 'e' follows
 *
 * The digest is XXH64 (seed 0) of all the file's chunks, heads and data, up to the 'E'. It shows
 * that the data that were written are the data that were read. It proves nothing about the sender,
 * which computes it.
 *
 * After a stream on a connection the receiver answers with 'z' or 'e'. The receiver may answer
 * early, and then reads on until the sender has read the answer and closes.
 */
#ifndef BASE_TREE_STREAM_H
#define BASE_TREE_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* The first byte of this project's program for files in the guest (a frame of the agent begins
 * differently). */
#define FILES_GREETING "+"

#define TREE_ENTRY_BYTES 512u
#define TREE_MAKER 16

/* One end of a stream, and what the caller wants to know meanwhile. */
struct tree_line {
	int fd;
	int cancel; /* readable: stop with ERR_UNAVAILABLE; -1: never. Nothing is read from it. */
	/* ERR_TIMEOUT if the other side neither sends nor takes a byte for that long. 0: never.
	 * Each byte restarts the time, so that a slow copy is not cut off; neither is a very slow
	 * one. */
	int silence_ms;
	bool answers;	/* for tree_send(): waits for the receiver's answer, which is the result */
	unsigned umask; /* permission bits that received files do not get */
	/* The largest number of bytes: contents with their holes, and TREE_ENTRY_BYTES for each
	 * entry below the root; 0: no limit. */
	uint64_t limit;
	/* For tree_receive(): TREE_MAKER hex digits that all receivers of one kernel share, and
	 * that are a part of their temporary names. A receiver first removes what a killed receiver
	 * of the same maker left in the directory. Locks tell which of them live, and another
	 * kernel's locks may not be visible. NULL: nothing is removed. */
	const char *maker;
	/* Called often with the bytes of files' contents so far, and the present path. May be
	 * NULL. */
	void (*progress)(void *data, uint64_t bytes, const char *path);
	/* Called when either side left out an entry. May be NULL. */
	void (*skipped)(void *data, const char *path, const char *why);
	void *data;
};

/* Sends what path (below root_fd, or as openat() takes it with AT_FDCWD) names. confined: the path
 * is resolved as if root_fd were "/", so that no link leads out of it. Links below it are sent as
 * links; other file systems below it are left out. A failure is also sent to the receiver. */
int tree_send(int root_fd, const char *path, bool confined, const struct tree_line *to,
	      struct error *err);

/* Where something is received: name does not exist in dir, or is a file to be replaced. */
struct tree_target {
	int dir;
	int file; /* used if dir is -1: a regular file's contents are written to it */
	char name[256];
	bool in_path;	 /* the given path is a directory, and name is in it */
	char *host_path; /* what messages about this host's files call it; NULL: name */
};
/*
 * Opens a target. path names a directory, in which name_within will be, or something in a directory
 * that exists. Under that name there must be nothing or a regular file: a link is not written
 * through.
 */
int tree_target_open(int root_fd, const char *path, bool confined, const char *name_within,
		     struct tree_target *out, struct error *err);
/* Closes the target and frees host_path. */
void tree_target_close(struct tree_target *target);

/*
 * Receives until the stream's end and puts the result at the target: first without a name or under
 * a temporary one, so that others see all of it or nothing. A directory must not exist yet. The
 * user of this process becomes the owner; only the permissions of the mode are used. What a failure
 * leaves behind is removed.
 *
 * links_within is the absolute path of what is copied, as the sender sees it: links that lead out
 * of it are left out, and absolute links that stay in it are made relative. NULL: links are taken
 * unchanged.
 */
int tree_receive(const struct tree_line *from, const struct tree_target *target,
		 const char *links_within, struct error *err);
/* Answers the sender of a stream that was received or refused: result is the error, code 0 for
 * success. Then reads until the sender's end, so that the sender gets the answer. */
void tree_answer(int fd, const struct error *result);

#endif
