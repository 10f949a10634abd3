/* SPDX-License-Identifier: MIT */
/*
 * The reader: a machine that reads or writes the disk of a workspace. A reader is needed because
 * the host itself never parses the file system of a guest. The reader boots a kernel and an initrd
 * of the host, has no network, and runs no program from the disk.
 *
 * The reader is a separate workspace, <workspace>/reader, in the directory of the workspace whose
 * disk it reads. The reader ends with this process. While the reader uses the disk of a workspace
 * that does not run, the lease of this workspace is also the reader's lease (one file with two
 * names). So nobody can start or delete this workspace while a process of the reader lives.
 */
#ifndef API_READER_H
#define API_READER_H

#include "api/api.h"

/* The mountpoint of the disk in the reader. */
#define READER_ROOT "/disk"

struct reader {
	const struct microagent *agent;
	struct state_dir dir;	    /* the directory of the workspace that is read, in which the
				     * reader's directory is */
	struct workspace ws;	    /* the workspace of the reader itself */
	const struct workspace *of; /* the workspace whose disk is read */
	/* The workspace whose disk is read, after reader_hold() has made its lease the reader's
	 * lease too; NULL before. */
	const struct workspace *held;
	struct supervisor_run supervisor;
	int lock; /* descriptor of a lock, so that a workspace has only one reader at a time */
};
#define READER_NONE                                                                                \
	{                                                                                          \
		.dir = {.fd = -1}, .ws = {.fd = -1}, .supervisor = SUPERVISOR_RUN_NONE, .lock = -1 \
	}

enum reader_use { READER_READ, READER_WRITE };

/* Takes the lock and makes the empty directory of the reader. *out must be READER_NONE, and must
 * stay at the same address until reader_end(). The caller must call reader_end(), also on
 * failure. */
int reader_begin(const struct microagent *agent, const struct open_workspace *existing,
		 struct reader *out, struct error *err);
/* Takes the lease of the workspace, and makes it the reader's lease too. ERR_CONFLICT: a process of
 * the workspace lives. */
int reader_hold(struct reader *reader, const struct open_workspace *existing, struct error *err);
/* The disk that is read. */
struct reader_disk {
	const char *path; /* path on the host of a raw image, or of a layer over the raw image
			   * `base` */
	const char *base; /* NULL: the file at `path` is itself a raw image */
	bool direct;	  /* the path `path` must be opened without following a link */
};
/* Boots the reader. `config` is the recorded config of the workspace that is read. */
int reader_boot(struct reader *reader, const json_t *config, const struct reader_disk *disk,
		enum reader_use use, struct error *err);
void reader_end(struct reader *reader); /* ends the reader and removes its directory; accepts
					 * READER_NONE */

#endif
