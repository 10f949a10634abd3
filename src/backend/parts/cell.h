/* SPDX-License-Identifier: MIT */
/*
 * The cell in which a program that is not part of microagent (QEMU, virtiofsd) runs: a bubblewrap
 * with its own user, pid, mount, net, ipc and uts namespaces, and a read-only root with only the
 * files that the program needs. The program is PID 1 of its pid namespace, so all processes that it
 * starts end with it.
 *
 * If root makes the cell, the cell also has its own user id: CELL_FIRST_ID plus the pid of the
 * calling process. The group id is the same number. A live supervisor owns exactly one VM, and its
 * pid is unique while it lives. So no two VMs share an id, and no id must be recorded. Nothing else
 * uses these numbers (systemd, containers and the distributions leave the uids 1879048192 to
 * 2147483647 unused). If the id is not mapped into the user namespace of this process, the id is
 * that of "nobody" (65534). If the namespace maps no other user at all, the cell keeps the id of
 * this process. The cell's id owns no file: the program gets all files that it reads or writes as
 * descriptors.
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
#define CELL_LAST_ID (CELL_FIRST_ID + 4194304u) /* 4194304 is the highest pid of the kernel */
#define CELL_NOBODY 65534u
#define CELL_TUN "/dev/net/tun"

/* A read-only file of the cell, with the bytes of `fd` from position 0. The position of `fd` is
 * changed. */
struct cell_data {
	int fd;
	const char *path;
	bool executable;
};

/* A directory of the host, at the path `from`, which the cell sees at the path `to`. */
struct cell_share {
	const char *from, *to;
	bool read_only;
};

/* A file or directory of the host, given by its descriptor, and its path in the cell. The path
 * shows exactly the file that the descriptor has open. If root makes the cell, the file looks as if
 * the cell's user owned it. */
struct cell_file {
	int fd;
	const char *path;
	bool read_only;
};

struct cell_spec {
	const char *bwrap; /* the path of bwrap; NULL: the config wants no cell */
	/* The absolute path of the program; NULL: the program is one of `files`. */
	const char *program;
	const char *const *argv; /* the arguments of the program, from argv[0] on */
	const char *const
		/* Paths of the host that the cell sees if they exist; NULL ends the array. */
		*readable;
	const char *device; /* the path of the device that the cell sees as /dev/kvm; NULL: none */
	bool tun;	    /* the cell has /dev/net/tun */
	bool proc;	    /* the cell has /proc */
	/* Files that bwrap makes in the cell; ignored without bwrap. */
	const struct cell_data *data;
	size_t ndata;
	const struct cell_file *files; /* used only with bwrap */
	size_t nfiles;
	const struct proc_fd *fds; /* `to` is 2 for stderr, then 3, 4... */
	size_t nfds;
	/* The next two are for a program in a user namespace that the caller has made. */
	const char *const
		/* The capabilities that the program's root keeps; NULL: the program is not in a
		 * namespace of the caller. */
		*capabilities;
	const struct cell_share *share; /* a directory that the cell sees; NULL: none */
	/* Variables that the program and bwrap get in addition to cell_environment: NAME, VALUE,
	 * ..., with NULL at the end. NULL: none. */
	const char *const *environment;
	int filter; /* a file with a compiled system call filter; 0: there is none */
};

struct cell {
	struct proc monitor;  /* the child of this process: bwrap, or without a cell the program */
	pid_t pid;	      /* the program's pid in the pid namespace of this process */
	int pidfd;	      /* the program's pidfd */
	int info_fd, hold_fd; /* bwrap's pipes while the cell is made; else -1 */
	bool confined;
};
#define CELL_NONE                                                               \
	{                                                                       \
		.monitor = PROC_NONE, .pidfd = -1, .info_fd = -1, .hold_fd = -1 \
	}

/* Starts to make the cell, and returns before it is complete. The program does not run yet. */
int cell_spawn(const struct cell_spec *spec, struct cell *out, struct error *err);
/* Waits (at most LIMIT_CELL_MS) until the program's process exists, and opens its pidfd. The
 * namespaces of the process exist then, but the program does not run yet. After an error the caller
 * calls cell_end(). */
int cell_await(struct cell *cell, struct error *err);
/* Lets the program run. Calls cell_await() first if the caller has not. Without bwrap the program
 * runs since cell_spawn(). After an error the caller calls cell_end(). */
int cell_release(struct cell *cell, struct error *err);
/* Sends SIGKILL to the program. When the program has ended, the monitor ends by itself. Does not
 * wait. */
void cell_kill(const struct cell *cell);
/* Kills the program and reaps it. Waits at most LIMIT_KILL_MS. Accepts CELL_NONE and leaves *cell
 * as CELL_NONE. */
void cell_end(struct cell *cell);

/* The environment in a cell. The program gets nothing of the environment of this process. */
extern const char *const cell_environment[];

/* Returns whether every user may pass through the directories of `path`, which is absolute. The
 * cell's user may be any user. */
bool cell_is_reachable(const char *path);

/* Sets the number from which the ids of cells are made, in place of this process's pid. This is
 * needed in a pid namespace other than the host's, since another process may have the same pid
 * there. Called before the first cell. */
void cell_number(pid_t number);
/* Returns the user id for the cells of this process. Returns 0 if the cells keep the id of this
 * process, which they always do if this process is not root. */
uid_t cell_id(void);
/* Returns whether id is mapped, as user and as group, into the namespace of this process. */
bool cell_id_is_usable(unsigned long id);
/* Returns whether id is in a uid_map or gid_map text ("inside outside count" lines). */
bool cell_id_is_mapped(const char *map, unsigned long id);

#endif
