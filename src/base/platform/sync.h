/* SPDX-License-Identifier: MIT */
#ifndef BASE_PLATFORM_SYNC_H
#define BASE_PLATFORM_SYNC_H

/* Makes the data of a file, or the names in a directory, survive a loss of power from here on. -1
 * with errno on failure. */
int file_sync(int fd);
/* Does the same for a file's data and size, without its times. */
int file_sync_data(int fd);

#endif
