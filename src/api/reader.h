/* SPDX-License-Identifier: MIT */
/*
 * A machine that reads (or writes) the disk of a workspace from outside: our kernel and init, no
 * network, and nothing of the disk is run. The host itself parses no file system of a guest.
 *
 * It is a workspace in the directory of the one that it reads, <workspace>/reader, and ends with
 * us. While it has the disk of a workspace at rest, its lease is that workspace's own (one file,
 * two names): nobody can start or delete it as long as anything of the reader lives.
 */
#ifndef API_READER_H
#define API_READER_H

#include "api/api.h"

/* Where the disk is mounted in the reader. */
#define READER_ROOT "/disk"

struct reader {
	const struct microagent *agent;
	struct state_dir dir;	      /* the workspace's directory */
	struct workspace ws;	      /* of the reader */
	const struct workspace *of;   /* what is read */
	const struct workspace *held; /* the same once its lease is the reader's; NULL: it is not */
	struct supervisor_run supervisor;
	int lock; /* one at a time */
};
#define READER_NONE                                                                                \
	{                                                                                          \
		.dir = {.fd = -1}, .ws = {.fd = -1}, .supervisor = SUPERVISOR_RUN_NONE, .lock = -1 \
	}

enum reader_use { READER_READ, READER_WRITE };

/* Takes the lock and makes the directory, empty. out must not move until reader_end(). */
int reader_begin(const struct microagent *agent, const struct open_workspace *existing,
		 struct reader *out, struct error *err);
/* Makes the lease of the workspace the reader's. ERR_CONFLICT when something of it lives. */
int reader_hold(struct reader *reader, const struct open_workspace *existing, struct error *err);
/* What is read: the path of a raw image, or of a layer over the raw image base. */
struct reader_disk {
	const char *path;
	const char *base; /* NULL: path is raw */
	bool direct;	  /* no link may be on the way to path */
};
/* Boots; config is the workspace's recorded one. */
int reader_boot(struct reader *reader, const json_t *config, const struct reader_disk *disk,
		enum reader_use use, struct error *err);
void reader_end(struct reader *reader); /* leaves nothing; accepts READER_NONE */

#endif
