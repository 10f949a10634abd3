/* SPDX-License-Identifier: MIT */
/*
 * A file, or a directory with all that is in it, as a stream of bytes between host and guest.
 * Either side may be hostile: who receives takes nothing on trust but that a stream is what it is.
 *
 *   entry   type (1 byte), mode (4), mtime in seconds (8) and nanoseconds (4), size (8), length of
 *           path (4), length of text (4), path, text; numbers are big-endian. The root's path is
 *           "", the others' are relative to it.
 *   'f'     a regular file of about that size; its chunks follow
 *   'd'     a directory; its entries follow, and then
 *   'x'     the same directory again: it is whole, its mode and times may be set
 *   'l'     a symbolic link to text
 *   'h'     one more name of a regular file that came before under the path in text
 *   's'     something that is left out, and why (text): a device, another file system...
 *   'e'     the sender's failure (text); mode is the code of the error; the last entry
 *   'z'     the end
 *
 *   chunk   kind (1 byte), length (8)
 *   'D'     so many bytes of data follow, TREE_CHUNK at most
 *   'H'     a hole of that length
 *   'E'     the end of a file of that length; 8 bytes of digest follow
 *   'B'     the sender cannot go on; an 'e' follows
 *
 * The digest is XXH64 (seed 0) of all the file's chunks, heads and data, up to the 'E'. It tells
 * that what was read is what was written; it proves nothing about a sender, who makes it himself.
 *
 * Who has received a stream on a connection answers with 'z' or 'e'. It may answer early, and then
 * reads on until the sender has heard and closes.
 */
#ifndef BASE_TREE_STREAM_H
#define BASE_TREE_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* The first byte of our program for files in the guest (a frame of the agent's begins otherwise).
 */
#define FILES_GREETING "+"

#define TREE_ENTRY_BYTES 512u
#define TREE_MAKER 16

/* Where a stream goes or comes from, and what is wanted to be known meanwhile. */
struct tree_line {
	int fd;
	int cancel; /* readable: stop, ERR_UNAVAILABLE; -1: never. Nothing is read from it. */
	/* The other side neither sends nor takes a byte for so long: ERR_TIMEOUT. 0: never. Each
	 * byte begins it anew, so that a slow copy is not cut off; one that trickles is not either.
	 */
	int silence_ms;
	bool answers;	/* for tree_send(): the receiver's answer is waited for, and is ours */
	unsigned umask; /* permissions that nothing received has */
	/* No more than so many bytes: of contents, holes too, and TREE_ENTRY_BYTES for each entry
	 * below the root; 0: any number. */
	uint64_t limit;
	/* For tree_receive(): TREE_MAKER hex digits that all receivers of one kernel share, and that
	 * are a part of their temporary names. A receiver removes first what a killed receiver of
	 * the same maker left in the directory; locks tell which of them live, and another kernel's
	 * locks may not be seen. NULL: nothing is removed. */
	const char *maker;
	/* Bytes of files' contents so far, and the path at hand; often. May be NULL. */
	void (*progress)(void *data, uint64_t bytes, const char *path);
	/* An entry was left out, by whichever side. May be NULL. */
	void (*skipped)(void *data, const char *path, const char *why);
	void *data;
};

/* Sends what path (below root_fd, or as openat() takes it with AT_FDCWD) names. confined: the path
 * is resolved as if root_fd were "/", so that no link leads out of it. Links below it are sent as
 * links; other file systems below it are left out. A failure is also told to the receiver. */
int tree_send(int root_fd, const char *path, bool confined, const struct tree_line *to,
	      struct error *err);

/* Where something is to be received: name does not exist in dir, or is a file to be replaced. */
struct tree_target {
	int dir;
	int file; /* where dir is -1: what a regular file holds is written to it */
	char name[256];
	bool in_path;	 /* the path that was given is a directory, which it is in */
	char *host_path; /* what messages about this host's files call it; NULL: its name */
};
/*
 * path names a directory, in which name_within is to be, or something in a directory that exists.
 * What is there under that name must be nothing or a regular file: a link is not written through.
 */
int tree_target_open(int root_fd, const char *path, bool confined, const char *name_within,
		     struct tree_target *out, struct error *err);
/* Frees host_path too. */
void tree_target_close(struct tree_target *target);

/*
 * Receives until the stream's end and puts it at the target: under no name or a temporary one
 * first, so that whoever looks sees all of it or nothing. A directory must not be there yet. Owners
 * are whoever we are; of the mode the permissions alone are taken. What a failure leaves behind is
 * removed.
 * links_within: the absolute path of what is copied, in the sender's eyes: links that lead out of
 * it are left out, and absolute ones that stay in it are made relative. NULL: links are taken as
 * they are.
 */
int tree_receive(const struct tree_line *from, const struct tree_target *target,
		 const char *links_within, struct error *err);
/* Answers for what was received or refused: result is the error, code 0 for success. Then reads
 * until the sender's end, so that he hears it. */
void tree_answer(int fd, const struct error *result);

#endif
