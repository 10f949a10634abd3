/* SPDX-License-Identifier: MIT */
/*
 * The cell in which somebody else's program (QEMU, later virtiofsd) runs: a bubblewrap of its own
 * user, pid, mount, net, ipc and uts namespaces, with a read-only root of only the files it needs.
 * The program is PID 1 of its pid namespace, so that nothing it starts outlives it.
 *
 * As root the cell also has a user id of its own: CELL_FIRST_ID plus the pid of the calling
 * process, the same number as group id. A live supervisor owns exactly one VM and its pid is unique
 * while it lives, so no two VMs share an id and none has to be recorded; the range is used by
 * nobody (uids 1879048192 to 2147483647 are unused by systemd, containers and the distributions).
 * Where it is not mapped into our user namespace, "nobody" (65534) is taken, and in a namespace
 * that holds nobody but us our own id is kept. The id owns no file: all that the program reads or
 * writes comes as a descriptor.
 *
 * Where the config says so (confinement "seccomp") the VMM runs in no cell, under its system call
 * filters alone.
 */
#ifndef BACKEND_PARTS_CELL_H
#define BACKEND_PARTS_CELL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/proc.h"

#define CELL_FIRST_ID 1900000000u
#define CELL_LAST_ID (CELL_FIRST_ID + 4194304u) /* the kernel's highest pid */
#define CELL_NOBODY 65534u
#define CELL_TUN "/dev/net/tun"

/* The bytes of fd, from its position 0, as a read-only file of the cell. Moves fd's position. */
struct cell_data {
	int fd;
	const char *path;
	bool executable;
};

/* A directory of the host, at another place in the cell. */
struct cell_share {
	const char *from, *to;
	bool read_only;
};

/* A file or directory of the host, by descriptor, at a name in the cell: what is there is what the
 * descriptor is. Where root makes the cell a file is shown as the cell's user's own. */
struct cell_file {
	int fd;
	const char *path;
	bool read_only;
};

struct cell_spec {
	const char *bwrap;	      /* path; NULL: no cell, by the config's word */
	const char *program;	      /* absolute, argv[0]; NULL: one of the files */
	const char *const *argv;      /* of the program */
	const char *const *readable;  /* host paths to be seen, where they exist; NULL-terminated */
	const char *device;	      /* what is to be /dev/kvm, or NULL */
	bool tun;		      /* /dev/net/tun is there */
	bool proc;		      /* ... and /proc */
	const struct cell_data *data; /* made files; ignored without bwrap */
	size_t ndata;
	const struct cell_file *files; /* only with bwrap */
	size_t nfiles;
	const struct proc_fd *fds; /* to: 2 for stderr, then 3, 4... */
	size_t nfds;
	/* For a program in a user namespace that was made before: */
	const char *const *capabilities; /* that its root keeps; not NULL: there is such a one */
	const struct cell_share *share;	 /* a directory to be seen, and /proc; or NULL */
	/* What it has in its environment besides cell_environment, which bwrap has too: NAME, VALUE,
	 * NULL at the end. NULL: nothing. */
	const char *const *environment;
	int filter; /* a file that is a compiled system call filter; 0: none but its own */
};

struct cell {
	struct proc monitor;  /* our child: bwrap, or the program itself without it */
	pid_t pid;	      /* of the program in our numbering */
	int pidfd;	      /* of the program */
	int info_fd, hold_fd; /* while it is being made; -1 else */
	bool confined;
};
#define CELL_NONE                                                               \
	{                                                                       \
		.monitor = PROC_NONE, .pidfd = -1, .info_fd = -1, .hold_fd = -1 \
	}

/* Starts making the cell; returns while that goes on, the program held back. */
int cell_spawn(const struct cell_spec *spec, struct cell *out, struct error *err);
/* Waits (LIMIT_CELL_MS) until the program's process exists and opens its pidfd: its namespaces are
 * there, and it does nothing yet. After a failure: cell_end(). */
int cell_await(struct cell *cell, struct error *err);
/* Lets it go, after cell_await() if that was not called. Without bwrap the program runs already.
 * After a failure: cell_end(). */
int cell_release(struct cell *cell, struct error *err);
/* SIGKILL to the program, after whose end the monitor ends by itself. Does not wait. */
void cell_kill(const struct cell *cell);
/* The same, and reaps; for LIMIT_KILL_MS at most. Accepts CELL_NONE and leaves one behind. */
void cell_end(struct cell *cell);

/* A program of others needs nothing of our environment. */
extern const char *const cell_environment[];

/* Whether everybody may pass through the directories of path, which is absolute: the cell's user may
 * be anybody. */
bool cell_is_reachable(const char *path);

/* In a pid namespace that is not the host's our pid is not unique: this is taken instead of it, to
 * be said before the first cell. */
void cell_number(pid_t number);
/* The id for the cells of this process; 0: ours is kept, as always when we are not root. */
uid_t cell_id(void);
/* Is id mapped, as user and as group, into the namespace that we are in? */
bool cell_id_is_usable(unsigned long id);
/* Is id in a uid_map or gid_map text ("inside outside count" lines)? */
bool cell_id_is_mapped(const char *map, unsigned long id);

#endif
