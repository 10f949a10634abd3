/* SPDX-License-Identifier: MIT */
#ifndef BASE_PLATFORM_SYNC_H
#define BASE_PLATFORM_SYNC_H

/* Returns when the data of a file, or the names in a directory, are on the disk, so that a loss of
 * power cannot destroy them. -1 with errno on failure. */
int file_sync(int fd);
/* Works like file_sync(), but only for the data and the size of a file, and not for its times. */
int file_sync_data(int fd);

#endif
