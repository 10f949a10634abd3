/* SPDX-License-Identifier: MIT */
/*
 * Attributes for variables whose value is released automatically at the end of their block. Such a
 * variable must be initialised, if only with NULL or -1. A function that returns or stores the
 * value takes it out of the variable with steal_ptr() or steal_fd(), so that it is not released.
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

/* Take the value out of a variable: return it, and set the variable to NULL or -1. */
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
