/* SPDX-License-Identifier: MIT */
#ifndef BASE_PLATFORM_SYNC_H
#define BASE_PLATFORM_SYNC_H

/* What was written to the file, or is called in the directory, survives a loss of power from here
 * on. -1 and errno. */
int file_sync(int fd);
/* The same of its data and size, without its times. */
int file_sync_data(int fd);

#endif
