/* SPDX-License-Identifier: MIT */
/* Transfers files between the host and a running machine. A program of microagent that is in every
 * guest (guest/files) sends and receives them there. */
#ifndef API_TRANSFER_H
#define API_TRANSFER_H

#include "api/api.h"
#include "base/tree/tree_stream.h"

struct transfer {
	const struct workspace *ws; /* the workspace of the machine */
	const char *user;	    /* the guest's user who reads or writes the files; NULL: the
				     * guest's default user */
	/* The directory of the guest below which paths are resolved. */
	const char *root;
	/* Options of a copy. A listing uses only the member `cancel`; for a listing the pointer may
	 * be NULL. */
	const struct microagent_copy *options;
};

/* Copies the file or directory `path`, which is resolved below `root`, from the guest to a target
 * on the host. `links_within` is the path of the same file in the guest of the workspace (see
 * tree_receive()). */
int transfer_out(const struct transfer *transfer, const char *path, const char *links_within,
		 const struct tree_target *target, struct error *err);
/* Does what transfer_out() does, for a declared output. The output is read by root of the guest
 * (guest/files/output.h). */
int transfer_output(const struct transfer *transfer, const char *path, const char *links_within,
		    const struct tree_target *target, struct error *err);
/*
 * Copies the upper layer `upper_id` of a review share (32 hexadecimal digits) from the guest to a new
 * directory on the host, as tree_receive() does with tree_line.overlay. Root reads it, whatever
 * transfer->user is. `entry` is called with `data` for each entry (tree_line.entry). All that
 * comes is what the guest says. ERR_NOT_FOUND: the guest has never mounted this share.
 */
int transfer_changes(const struct transfer *transfer, const char *upper_id,
		     const struct tree_target *target,
		     int (*entry)(void *data, const struct tree_told *told, struct error *err),
		     void *data, struct error *err);
/* Copies the file or directory `from` of the host (see microagent_copy.within) to `path` of the
 * guest. If `path` is a directory, the copy gets the name `name` in this directory. */
int transfer_in(const struct transfer *transfer, const char *from, const char *path,
		const char *name, struct error *err);
/* Appends the helper's answer to the verb "list" or "stat" to `entries`, an array as in
 * microagent_list_files(). */
int transfer_listing(const struct transfer *transfer, const char *verb, const char *path,
		     json_t *entries, struct error *err);
/* In files.c: calls the function with a transfer that reaches the root disk of a workspace: in its
 * guest if it runs, and else in the machine of a reader, which runs no program from the disk. */
typedef int files_root_fn(void *data, const struct transfer *transfer, struct error *err);
int files_with_root(struct microagent *agent, const char *name,
		    const struct microagent_copy *options, files_root_fn *fn, void *data,
		    struct error *err);
/* In files.c: returns a new array with the entries sorted by name. */
json_t *listing_sorted(const json_t *entries, struct error *err);
/* Returns the single entry of a listing of one file, as a new reference. */
json_t *listing_only(const json_t *entries, struct error *err);
/* Freezes the file system on which `path` of the guest lies, calls work(), and thaws the file
 * system. */
int transfer_frozen(const struct transfer *transfer, const char *path,
		    int (*work)(void *data, struct error *err), void *data, struct error *err);

#endif
