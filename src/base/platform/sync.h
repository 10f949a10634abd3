/* SPDX-License-Identifier: MIT */
#ifndef BASE_PLATFORM_SYNC_H
#define BASE_PLATFORM_SYNC_H

/* Waits until the data of a file, or the entries of a directory, are on the disk, so that a loss of
 * power cannot destroy them. Returns -1 with errno on failure. */
int file_sync(int fd);
/* Works like file_sync(), but does not wait for the times of the file. */
int file_sync_data(int fd);

#endif
