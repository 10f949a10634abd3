/* SPDX-License-Identifier: MIT */
/*
 * A machine that reads (or writes) the disk of a workspace from outside. It has our kernel and init
 * and no network, and runs nothing of the disk. The host itself parses no file system of a guest.
 *
 * The reader is a workspace in the directory of the workspace that it reads, <workspace>/reader,
 * and ends with this process. While it has the disk of a workspace at rest, its lease is that
 * workspace's own lease (one file, two names). So nobody can start or delete that workspace while
 * anything of the reader lives.
 */
#ifndef API_READER_H
#define API_READER_H

#include "api/api.h"

/* The mountpoint of the disk in the reader. */
#define READER_ROOT "/disk"

struct reader {
	const struct microagent *agent;
	struct state_dir dir;	    /* the workspace's directory */
	struct workspace ws;	    /* the reader's own workspace */
	const struct workspace *of; /* the workspace that is read */
	/* The workspace that is read, once its lease is also the reader's; NULL: not yet. */
	const struct workspace *held;
	struct supervisor_run supervisor;
	int lock; /* a lock: only one reader at a time */
};
#define READER_NONE                                                                                \
	{                                                                                          \
		.dir = {.fd = -1}, .ws = {.fd = -1}, .supervisor = SUPERVISOR_RUN_NONE, .lock = -1 \
	}

enum reader_use { READER_READ, READER_WRITE };

/* Takes the lock and makes the empty directory. out must not move until reader_end(). */
int reader_begin(const struct microagent *agent, const struct open_workspace *existing,
		 struct reader *out, struct error *err);
/* Makes the lease of the workspace the reader's lease. ERR_CONFLICT: something of the workspace
 * lives. */
int reader_hold(struct reader *reader, const struct open_workspace *existing, struct error *err);
/* The disk that is read: the path of a raw image, or of a layer over the raw image base. */
struct reader_disk {
	const char *path;
	const char *base; /* NULL: path is raw */
	bool direct;	  /* no link may be on the way to path */
};
/* Boots the reader. config is the recorded config of the workspace that is read. */
int reader_boot(struct reader *reader, const json_t *config, const struct reader_disk *disk,
		enum reader_use use, struct error *err);
void reader_end(struct reader *reader); /* leaves nothing; accepts READER_NONE */

#endif
