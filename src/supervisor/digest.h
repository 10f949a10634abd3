/* SPDX-License-Identifier: MIT */
/*
 * SHA-256 of files, remembered. Hashing is microagent-artifact's business, run only when nothing is
 * remembered: digests.json in the cache directory knows a file by device, inode, size, mtime and
 * ctime, and takes no file that changed within the last seconds, since a further change in the same
 * tick of the clock would go unnoticed.
 */
#ifndef SUPERVISOR_DIGEST_H
#define SUPERVISOR_DIGEST_H

#include "base/error.h"

#define DIGEST_TEXT 65

/* The whole file behind fd, whose offset is left alone; lower-case hex. */
int digest_of(int fd, char out[DIGEST_TEXT], struct error *err);

#endif
