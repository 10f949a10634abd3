/* SPDX-License-Identifier: MIT */
/*
 * Cleanup attributes. A variable that has one is initialised where it is declared (NULL or -1). To
 * pass its value on, use steal_ptr() or steal_fd().
 */
#ifndef BASE_CLEANUP_H
#define BASE_CLEANUP_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_free(void *p)
{
	free(*(void **)p);
}
static inline void cleanup_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}
static inline void cleanup_file(FILE **f)
{
	if (*f)
		fclose(*f);
}
static inline void cleanup_dir(DIR **d)
{
	if (*d)
		closedir(*d);
}
#define autofree __attribute__((cleanup(cleanup_free)))
#define autoclose __attribute__((cleanup(cleanup_close)))
#define autofile __attribute__((cleanup(cleanup_file)))
#define autodir __attribute__((cleanup(cleanup_dir)))

/* Return the value and leave NULL (or -1) in its place. */
#define steal_ptr(p)                                \
	({                                          \
		__auto_type steal_ptr_value = *(p); \
		*(p) = NULL;                        \
		steal_ptr_value;                    \
	})
static inline int steal_fd(int *fd)
{
	int value = *fd;
	*fd = -1;
	return value;
}

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#endif
