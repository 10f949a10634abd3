/* SPDX-License-Identifier: MIT */
/*
 * The calls of the operating system for processes. Modules use them only if proc.h lacks the needed
 * function. A process is represented by a descriptor, which becomes readable when the process has
 * exited. A function with this descriptor and the pid as arguments acts on this process, and never
 * on another process that has got the same pid later.
 */
#ifndef BASE_PLATFORM_PROCESS_H
#define BASE_PLATFORM_PROCESS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"

/* Opens a descriptor of a process, with O_CLOEXEC. Returns -1 with errno on failure. ESRCH: there
 * is no such process. */
int process_open(pid_t pid);
/* Sends a signal. Returns -1 with errno on failure. ESRCH: the process has exited. On Linux pid may
 * be 0 if only the descriptor is known. */
int process_signal(pid_t pid, int fd, int signal);
/* Waits until a child has exited, and reaps it. Sets *code to its exit code, or to 128 + the signal
 * that killed it. Returns -1 with errno on failure. */
int process_reap(pid_t pid, int fd, int *code);
/* Returns the pid of the process to which a descriptor refers; 0 if the process has been reaped, or
 * if `fd` is not a descriptor of a process. */
pid_t process_of(int fd);

/* --- this process ----------------------------------------------------------------------------- */

/* Sets the name of this process that ps and similar programs show. At most 15 characters of the
 * name are kept. */
void process_set_name(const char *name);
/* Makes the kernel kill this process, a forked child, when its parent exits. Returns -1 with errno,
 * also if the parent has already exited. ENOTSUP: the system does not support this. */
int process_end_with(pid_t parent);
/* Makes this process the parent of each of its descendants whose own parent has exited. Returns -1
 * with errno. ENOTSUP: the system does not support this. */
int process_adopt_orphans(void);
/* Stores the path of the running program. Returns -1 with errno on failure. */
int process_own_program(char out[PATH_MAX]);
/* Returns the umask without changing it; 077 if it is not known. */
mode_t process_umask(void);

/* --- facts of any process --------------------------------------------------------------------- */

/* Returns the pid of the parent; 0 if the process does not exist. */
pid_t process_parent(pid_t pid);
/* Stores the time at which a process started, in a unit that depends on the system. No other
 * process of this boot has the same pid and start time. ERR_NOT_FOUND: there is no such process. */
int process_start_time(pid_t pid, uint64_t *began, struct error *err);
/* Stores the id of the present boot: 36 characters and a NUL. Each boot of the host has another
 * id. */
int process_boot_id(char out[37], struct error *err);
/* Appends the arguments of a process to `out`, each followed by a NUL. Returns -1 if this process
 * may not read them, or if they are longer than out->limit. */
int process_arguments(pid_t pid, struct buf *out);
/* Stores the name of a process, at most 15 characters; "?" if the name is not known. */
void process_name(pid_t pid, char out[17]);

/* The memory that a process uses, in bytes. */
struct process_memory {
	uint64_t resident;
	uint64_t proportional; /* the resident memory, in which each page counts only 1/N if N
			        * processes share it */
	uint64_t alone;	       /* the resident memory that no other process shares; it would be
			        * freed if the process exited */
};
/* Measures the memory of a process. ERR_NOT_FOUND: there is no such process. ERR_DENIED: this
 * process may not examine the other one. ERR_UNSUPPORTED: the system cannot measure memory. */
int process_memory(pid_t pid, struct process_memory *out, struct error *err);

/* Calls `fn` with each process of the host, in any order. If `fn` returns a value other than 0,
 * stops and returns that value. Returns 0 at the end, -1 with an error if the processes cannot be
 * listed. */
typedef int process_fn(pid_t pid, void *data);
int process_each(process_fn *fn, void *data, struct error *err);

/* A file that a process has open. */
struct process_file {
	const char *path; /* the path, as the system reports it */
	bool is_read;	  /* the file is open for reading */
	dev_t dev;
	ino_t ino;
};
/*
 * Calls `fn` with each open file of the process `pid` that this process may examine and whose path
 * ends in "/" and `name`. On Linux `fn` is also called with a removed file whose path ended so. If
 * `fn` returns a value other than 0, stops and returns that value; otherwise returns 0. Files with
 * other names are not examined, because a call for a file on an unreachable network file system
 * could hang. On Linux `name` may be NULL. Then `fn` is called with every file that has a path, but
 * gets only the facts that the kernel knows without asking a network file system.
 */
typedef int process_file_fn(const struct process_file *file, void *data);
int process_each_file(pid_t pid, const char *name, process_file_fn *fn, void *data);

#endif
