/* SPDX-License-Identifier: MIT */
/*
 * A file, or a directory with everything in it, as a stream of bytes between host and guest. The
 * sender may be hostile, so the receiver checks everything that it gets. The stream consists of
 * entries; a regular file is followed by chunks.
 *
 *   entry   type (1 byte), mode (4), mtime in seconds (8) and nanoseconds (4), size (8),
 *           length of path (4), length of text (4), path, text; numbers are big-endian. The first
 *           entry is the root, whose path is ""; all other paths are relative to the root.
 *   'f'     a regular file of about `size` bytes; its chunks follow
 *   'd'     a directory; its entries follow, and then
 *   'x'     the same directory again: it is complete, its mode and times may be set
 *   'l'     a symbolic link whose target is text
 *   'h'     another name of the regular file that was sent before with the path in text
 *   's'     something that is left out (a device, another file system...); text says why
 *   'w'     nothing is at this path, although the lower layer has it (a whiteout)
 *   'o'     nothing of the lower layer is seen in this directory (an opaque directory)
 *   'r'     the lower layer of this directory is that of the path in text (a redirect). An absolute
 *           path is one of the lower layer; a name is one in the lower layer of the directory above
 *   'e'     the sender has failed; text says why, and mode is the code of the error; no other
 *           entry follows
 *   'z'     the end
 *
 *   chunk   kind (1 byte), length (8)
 *   'D'     `length` bytes of data follow, at most TREE_CHUNK
 *   'H'     a hole of `length` bytes
 *   'E'     the end of a file of `length` bytes; 8 bytes of digest follow
 *   'B'     the sender cannot go on; an 'e' follows
 *
 * 'w', 'o' and 'r' are only in the stream of an upper layer of an overlay (tree_line.overlay), whose
 * root is a directory. An 'o' or an 'r' comes directly behind the 'd' of its directory. A directory
 * has one of both at most, and the root has none.
 *
 * The digest is XXH64 (seed 0) of all chunks of the file, their heads and data, up to the 'E'. It
 * shows that the data that were written are the data that were read. It proves nothing about a
 * hostile sender, since the sender computes it.
 *
 * If the sender waits for an answer, the receiver answers with 'z' or 'e' after the stream. The
 * receiver may answer before the end of the stream. In this case the receiver reads on until the
 * sender has read the answer and closes the connection.
 */
#ifndef BASE_TREE_STREAM_H
#define BASE_TREE_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* The first byte that the program for files in the guest sends. The byte shows that this program
 * runs. The agent itself would send a frame, which begins with another byte. */
#define FILES_GREETING "+"

#define TREE_ENTRY_BYTES 512u
#define TREE_MAKER 16

/* An entry that tree_receive() has received, as its sender describes it. Nothing here is proved. */
struct tree_told {
	char type;     /* 'f', 'd', 'l', 'h', 's'; of an upper layer also 'w', 'o', 'r' */
	uint32_t mode; /* the permission and set-ID bits (07777) at the sender; 0 for s, w, o, r */
	/* The time of the last modification in nanoseconds since 1970. If it does not fit, it is the
	 * nearest number that fits. */
	int64_t mtime_ns;
	const char *path; /* the path below the root, whose components are checked; "" only for the
			   * 's' of the root */
	const char *text; /* of l, h, r, s; "" for other types */
};

/* One end of a stream, with its limits and the callbacks that report the progress. */
struct tree_line {
	int fd;
	int cancel; /* if this descriptor becomes readable, the work stops with ERR_UNAVAILABLE; -1:
		     * there is no such descriptor. The work reads nothing from it. */
	/* A time in ms; 0: no limit. If the peer neither sends nor accepts a byte for this time,
	 * the work stops with ERR_TIMEOUT. The time begins anew with each byte, so a slow copy is
	 * not stopped. */
	int silence_ms;
	bool answers;	/* tree_send() waits for the receiver's answer, and returns the answer as
			 * its result */
	unsigned umask; /* permission bits that received files do not get */
	/* The largest number of bytes: contents with their holes, and TREE_ENTRY_BYTES for each
	 * entry below the root; 0: no limit. The receiver of an upper layer counts the bytes of an
	 * entry's texts if they are more, so that what `entry` is told is bounded too. */
	uint64_t limit;
	/* For tree_receive(): TREE_MAKER hex digits, which are the same for all receivers that run
	 * under one kernel. The digits are a part of the receivers' temporary names. A receiver
	 * first removes the temporary files that a killed receiver of the same maker has left in
	 * the directory. A living receiver is recognised by its lock. A lock of a process under
	 * another kernel may not be visible here, so only names with the same maker are removed.
	 * NULL: nothing is removed. */
	const char *maker;
	/* Called often, with the number of bytes of files' contents that were copied so far, and
	 * the path that is being copied. May be NULL. */
	void (*progress)(void *data, uint64_t bytes, const char *path);
	/* Called when this side or the peer has left out an entry. May be NULL. */
	void (*skipped)(void *data, const char *path, const char *why);
	void *data;
	/* The tree is the upper layer of an overlay. tree_send() sends whiteouts, opaque directories
	 * and redirects as such, which needs the rights to read trusted.* attributes.
	 * tree_receive() accepts these entries, which are otherwise malformed. What it receives is
	 * for its user alone, whatever the modes of the stream are: directories have mode 0700 and
	 * files 0600, so that the whole tree can be read. */
	bool overlay;
	/* tree_receive() calls this function for each entry below the root, once it is complete: a
	 * file after its contents, a directory as soon as it is made, before what is in it. So all
	 * parents of a path come before the path, and 'o' and 'r' come directly after their 'd'. A
	 * link that is left out is not told. A path is told once as f, d, l or h. But a hostile
	 * sender can send a 'w' several times and before another type, and 's' may have the path of
	 * any other entry. If the function fails, so does tree_receive(). The texts are valid
	 * during the call. NULL: nothing is told. */
	int (*entry)(void *entry_data, const struct tree_told *told, struct error *err);
	void *entry_data;
};

/* Sends a file or directory. `root_fd` and `path` name it as for openat(); `root_fd` may be
 * AT_FDCWD. If `confined` is true, the path is resolved as if `root_fd` were "/", so that no
 * symbolic link leads out of `root_fd`. Symbolic links below the path are sent as such. Other file
 * systems below the path are left out. A failure is also sent to the receiver. */
int tree_send(int root_fd, const char *path, bool confined, const struct tree_line *to,
	      struct error *err);

/* A target: the path at which a received tree is written. */
struct tree_target {
	int dir;	 /* a descriptor of the directory of the target; -1: the target is `file` */
	int file;	 /* if `dir` is -1: a descriptor to which the contents of a regular file are
			  * written */
	char name[256];	 /* the name in `dir` that the received file or directory gets */
	bool in_path;	 /* the path given to tree_target_open() is an existing directory, which is
			  * `dir` */
	char *host_path; /* the name of the target in messages; NULL: `name` */
};
/*
 * Opens a target. If `path` names a directory, the target is `name_within` in this directory.
 * Otherwise the target is `path` itself, whose directory must exist. The target may be missing or a
 * regular file. A symbolic link is refused.
 */
int tree_target_open(int root_fd, const char *path, bool confined, const char *name_within,
		     struct tree_target *out, struct error *err);
/* Closes the target and frees host_path. */
void tree_target_close(struct tree_target *target);

/*
 * Receives a stream to its end and puts the result at the target. Until the result is complete, it
 * has no name or a temporary name. So other processes see the whole result or nothing. A directory
 * can be received only if the target does not exist. The user of this process becomes the owner;
 * only the permission bits of the mode are used. On failure nothing is left behind.
 *
 * `links_within` is the absolute path of the copied tree, as the sender sees it. Symbolic links
 * that lead out of the tree are left out, and absolute ones that stay in the tree are made
 * relative. NULL: symbolic links are not changed.
 */
int tree_receive(const struct tree_line *from, const struct tree_target *target,
		 const char *links_within, struct error *err);
/* Answers the sender of a stream that was received or refused. *result is the error; its code is
 * ERR_NONE for a success. Then reads until the sender closes, so that the sender gets the
 * answer. */
void tree_answer(int fd, const struct error *result);

#endif
