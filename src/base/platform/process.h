/* SPDX-License-Identifier: MIT */
/*
 * Processes as the system has them; proc.h is what others use of it, where it has a function for
 * that. A process is held by a descriptor, which is readable when it has ended: what is done to it
 * by that descriptor and its pid is done to it, and to none that got the number later.
 */
#ifndef BASE_PLATFORM_PROCESS_H
#define BASE_PLATFORM_PROCESS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"

/* O_CLOEXEC; -1 and errno (ESRCH: there is none). */
int process_open(pid_t pid);
/* -1 and errno; ESRCH when it has ended. pid may be 0 where only the descriptor is known, which
 * Linux alone is content with. */
int process_signal(pid_t pid, int fd, int signal);
/* Waits for a child to end and reaps it. *code: its exit code, or 128+signal. -1 and errno. */
int process_reap(pid_t pid, int fd, int *code);
/* The pid behind such a descriptor; 0: it has been reaped, or it is none. */
pid_t process_of(int fd);

/* --- this process ----------------------------------------------------------------------------- */

/* As lists of processes show it; up to 15 characters. */
void process_set_name(const char *name);
/* A forked child is killed when its parent ends, from now on; it may have ended already, which is
 * an error too. -1 and errno; ENOTSUP where the system has no such thing. */
int process_end_with(pid_t parent);
/* What has lost its parent below this process becomes its child. -1 and errno, as above. */
int process_adopt_orphans(void);
/* The path of the program that runs. -1 and errno. */
int process_own_program(char out[PATH_MAX]);
/* The umask, without changing it; 077 where it cannot be told. */
mode_t process_umask(void);

/* --- facts of any process --------------------------------------------------------------------- */

/* 0 when it is gone. */
pid_t process_parent(pid_t pid);
/* When it began, in a unit of the system's: with its pid it is what no other process of this boot
 * has. ERR_NOT_FOUND. */
int process_start_time(pid_t pid, uint64_t *began, struct error *err);
/* 36 characters and NUL that no other boot of this system has. */
int process_boot_id(char out[37], struct error *err);
/* Its arguments, each with a NUL behind it, bounded by out->limit. -1: they are not shown to us. */
int process_arguments(pid_t pid, struct buf *out);
/* Up to 15 characters; "?" when it is not to be had. */
void process_name(pid_t pid, char out[17]);

/* What a process has of the host's memory, in bytes. */
struct process_memory {
	uint64_t resident;
	uint64_t proportional; /* each page by how many have it */
	uint64_t alone;	       /* what only it has: what its end would give back */
};
/* ERR_NOT_FOUND, ERR_DENIED: not shown to us; ERR_UNSUPPORTED. */
int process_memory(pid_t pid, struct process_memory *out, struct error *err);

/* Calls fn with each process that there is, in no order, until fn does not return 0, which is then
 * returned; 0 at the end, -1 with err when there is no list. */
typedef int process_fn(pid_t pid, void *data);
int process_each(process_fn *fn, void *data, struct error *err);

/* A file that a process has open. */
struct process_file {
	const char *path; /* as the system has it */
	bool is_read;	  /* open for reading */
	dev_t dev;
	ino_t ino;
};
/*
 * Calls fn with each open file of pid, as far as they are shown to us, whose path ends in "/name" or
 * did when the file still had that name (Linux alone tells), until fn does not return 0, which is then
 * returned; else 0. Files of other names are not looked at: asking one of a dead network disk could
 * hang. name may be NULL on Linux: then each file is looked at that has a name, and only what the
 * system knows of it without asking a network.
 */
typedef int process_file_fn(const struct process_file *file, void *data);
int process_each_file(pid_t pid, const char *name, process_file_fn *fn, void *data);

#endif
