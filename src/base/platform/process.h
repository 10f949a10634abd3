/* SPDX-License-Identifier: MIT */
/*
 * The system's calls for processes. Other modules use proc.h if it has the function that they need.
 * A process is held by a descriptor, which is readable when the process has ended. A function that
 * takes this descriptor and the pid acts on this process, and never on another process that has got
 * the same pid later.
 */
#ifndef BASE_PLATFORM_PROCESS_H
#define BASE_PLATFORM_PROCESS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"

/* Opens the descriptor of a process, O_CLOEXEC. Returns -1 with errno on failure (ESRCH: there is
 * no such process). */
int process_open(pid_t pid);
/* Sends a signal. -1 with errno on failure; ESRCH if the process has ended. On Linux pid may be 0
 * if only the descriptor is known. */
int process_signal(pid_t pid, int fd, int signal);
/* Waits for a child to end and reaps it. *code: its exit code, or 128+signal. -1 with errno on
 * failure. */
int process_reap(pid_t pid, int fd, int *code);
/* Returns the pid of the process that a descriptor stands for; 0 if the process has been reaped, or
 * if `fd` is not a descriptor of a process. */
pid_t process_of(int fd);

/* --- this process ----------------------------------------------------------------------------- */

/* Sets the name of this process in lists of processes; at most 15 characters are kept. */
void process_set_name(const char *name);
/* Makes the kernel kill this process, a forked child, when its parent ends. Returns -1 with errno,
 * also if the parent has ended already; ENOTSUP if the system cannot do that. */
int process_end_with(pid_t parent);
/* Makes descendants whose parent has ended children of this process. Returns -1 with errno; ENOTSUP
 * if the system cannot do that. */
int process_adopt_orphans(void);
/* Stores the path of the running program. -1 with errno on failure. */
int process_own_program(char out[PATH_MAX]);
/* Returns the umask without changing it; 077 if it is not known. */
mode_t process_umask(void);

/* --- facts of any process --------------------------------------------------------------------- */

/* Returns the pid of the parent; 0 if the process is gone. */
pid_t process_parent(pid_t pid);
/* Stores the time at which a process began, in a unit that the system chooses. No other process of
 * this boot has the same pid and start time. ERR_NOT_FOUND if there is no such process. */
int process_start_time(pid_t pid, uint64_t *began, struct error *err);
/* Stores the id of this boot: 36 characters and a NUL. Each boot of the system has a new id. */
int process_boot_id(char out[37], struct error *err);
/* Appends the arguments of a process to `out`, each with a NUL behind it. Returns -1 if this
 * process may not see them, or if they exceed out->limit. */
int process_arguments(pid_t pid, struct buf *out);
/* Stores the name of a process, at most 15 characters; "?" if the name is not known. */
void process_name(pid_t pid, char out[17]);

/* How much of the host's memory a process uses, in bytes. */
struct process_memory {
	uint64_t resident;
	uint64_t proportional; /* the size of each page is divided by the number of processes that
			        * have the page */
	uint64_t alone;	       /* memory that no other process has; the end of the process would
			        * free this memory */
};
/* Measures the memory of a process. ERR_NOT_FOUND if there is no such process, ERR_DENIED if this
 * process may not see its memory, ERR_UNSUPPORTED if the system cannot measure it. */
int process_memory(pid_t pid, struct process_memory *out, struct error *err);

/* Calls `fn` with each process of the system, in any order. If `fn` returns another value than 0,
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
 * Calls `fn` with each open file of pid that this process may see and whose path ends in "/name".
 * On Linux `fn` is also called with a removed file whose path ended in "/name". If `fn` returns
 * another value than 0, stops and returns that value; else returns 0. Files with other names are
 * not examined, because a call for a file on a dead network disk could hang. On Linux name may be
 * NULL: then `fn` gets every file that has a name, but only with the facts that the system knows
 * without asking a network disk.
 */
typedef int process_file_fn(const struct process_file *file, void *data);
int process_each_file(pid_t pid, const char *name, process_file_fn *fn, void *data);

#endif
