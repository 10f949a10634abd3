/* SPDX-License-Identifier: MIT */
/*
 * The cell in which a program of others (QEMU, later virtiofsd) runs: a bubblewrap with its own
 * user, pid, mount, net, ipc and uts namespaces, and a read-only root with only the files that the
 * program needs. The program is PID 1 of its pid namespace, so that nothing that it starts outlives
 * it.
 *
 * If root makes the cell, the cell also has a user id of its own: CELL_FIRST_ID plus the pid of the
 * calling process. The group id is the same number. A live supervisor owns exactly one VM, and its
 * pid is unique while it lives. So no two VMs share an id, and no id has to be recorded. Nothing
 * else uses the range (uids 1879048192 to 2147483647 are unused by systemd, containers and the
 * distributions). If the id is not mapped into our user namespace, "nobody" (65534) is taken. In a
 * namespace that maps no other user, our own id is kept. The id owns no file: all that the program
 * reads or writes comes as a descriptor.
 *
 * If the config says so (confinement "seccomp"), the VMM runs in no cell, and only its system call
 * filters confine it.
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

/* A read-only file of the cell with the bytes of fd, from position 0. Moves fd's position. */
struct cell_data {
	int fd;
	const char *path;
	bool executable;
};

/* A directory of the host that the cell sees at another path. */
struct cell_share {
	const char *from, *to;
	bool read_only;
};

/* A file or directory of the host, given by descriptor, with a path in the cell. The path shows
 * exactly what the descriptor is open on. If root makes the cell, a file looks as if the cell's
 * user owned it. */
struct cell_file {
	int fd;
	const char *path;
	bool read_only;
};

struct cell_spec {
	const char *bwrap;	      /* path; NULL: no cell, as the config wants */
	const char *program;	      /* absolute, argv[0]; NULL: one of the files */
	const char *const *argv;      /* of the program */
	const char *const *readable;  /* host paths to show, if they exist; NULL-terminated */
	const char *device;	      /* what becomes /dev/kvm, or NULL */
	bool tun;		      /* the cell has /dev/net/tun */
	bool proc;		      /* the cell has /proc */
	const struct cell_data *data; /* made files; ignored without bwrap */
	size_t ndata;
	const struct cell_file *files; /* only with bwrap */
	size_t nfiles;
	const struct proc_fd *fds; /* to: 2 for stderr, then 3, 4... */
	size_t nfds;
	/* The next two are for a program in a user namespace that was made before. */
	const char *const *capabilities; /* what its root keeps; NULL: no such namespace */
	const struct cell_share *share;	 /* a directory to show, with /proc; or NULL */
	/* The environment of the program besides cell_environment, which bwrap has too: NAME,
	 * VALUE, ..., with NULL at the end. NULL: nothing. */
	const char *const *environment;
	int filter; /* file with a compiled system call filter; 0: only its own one */
};

struct cell {
	struct proc monitor;  /* our child: bwrap, or without a cell the program */
	pid_t pid;	      /* of the program in our numbering */
	int pidfd;	      /* of the program */
	int info_fd, hold_fd; /* while it is being made; -1 else */
	bool confined;
};
#define CELL_NONE                                                               \
	{                                                                       \
		.monitor = PROC_NONE, .pidfd = -1, .info_fd = -1, .hold_fd = -1 \
	}

/* Starts to make the cell. Returns while the cell is still being made; the program is held back. */
int cell_spawn(const struct cell_spec *spec, struct cell *out, struct error *err);
/* Waits (at most LIMIT_CELL_MS) until the program's process exists, and opens its pidfd. Then its
 * namespaces exist, and it does nothing yet. After a failure call cell_end(). */
int cell_await(struct cell *cell, struct error *err);
/* Lets the program run. Calls cell_await() first if that was not done. Without bwrap the program
 * runs already. After a failure call cell_end(). */
int cell_release(struct cell *cell, struct error *err);
/* Sends SIGKILL to the program. When the program has ended, the monitor ends by itself. Does not
 * wait. */
void cell_kill(const struct cell *cell);
/* Kills the program and reaps it. Waits at most LIMIT_KILL_MS. Accepts CELL_NONE and leaves *cell
 * as CELL_NONE. */
void cell_end(struct cell *cell);

/* The environment in a cell. A program of others needs nothing of our environment. */
extern const char *const cell_environment[];

/* Returns whether every user may pass through the directories of path, which is absolute. The
 * cell's user may be any user. */
bool cell_is_reachable(const char *path);

/* Sets a number that is used in place of our pid. A pid from another pid namespace than the host's
 * is not unique. Called before the first cell. */
void cell_number(pid_t number);
/* Returns the user id for the cells of this process; 0: our own id is kept, as always if we are not
 * root. */
uid_t cell_id(void);
/* Returns whether id is mapped, as user and as group, into our namespace. */
bool cell_id_is_usable(unsigned long id);
/* Returns whether id is in a uid_map or gid_map text ("inside outside count" lines). */
bool cell_id_is_mapped(const char *map, unsigned long id);

#endif
