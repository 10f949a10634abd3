/* SPDX-License-Identifier: MIT */
/*
 * The cell in which a VMM or a companion runs, if the program is not a part of microagent, such as
 * QEMU or virtiofsd. A cell is made by bubblewrap. A cell has its own user, pid, mount, net, ipc
 * and uts namespaces. The root of the cell is read-only and has only the files that the program
 * needs. The program is PID 1 of its pid namespace, so all processes that it starts end with it.
 *
 * If root makes the cell, the cell also has its own user id: CELL_FIRST_ID plus the pid of the
 * calling process. The group id is the same number. A live supervisor has exactly one VM, and no
 * other process has its pid while it lives. So no two VMs have the same id, and the id need not be
 * recorded. These numbers have no other use: systemd, containers and the distributions leave the
 * uids 1879048192 to 2147483647 unused.
 *
 * If the id is not mapped into the user namespace of this process, the cell has the id of "nobody"
 * (65534). If the namespace maps no other user at all, the cell keeps the id of this process. No
 * file belongs to the cell's id. The program gets all files that it reads or writes as
 * descriptors.
 *
 * If the config asks for the confinement "seccomp", the VMM runs in no cell, and only its system
 * call filters confine it.
 */
#ifndef BACKEND_PARTS_CELL_H
#define BACKEND_PARTS_CELL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/proc.h"

#define CELL_FIRST_ID 1900000000u
#define CELL_LAST_ID (CELL_FIRST_ID + 4194304u) /* the kernel's highest pid is 4194304 */
#define CELL_NOBODY 65534u
#define CELL_TUN "/dev/net/tun"

/* A read-only file of the cell, which has the bytes of `fd` from position 0 on. Reading these bytes
 * changes the position of `fd`. */
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
 * leads to exactly the file that the descriptor has open. If root makes the cell, the file looks as
 * if the cell's user owned it. */
struct cell_file {
	int fd;
	const char *path;
	bool read_only;
};

struct cell_spec {
	const char *bwrap; /* the path of bwrap; NULL: the config wants no cell */
	/* The absolute path of the program. NULL: the program is one of `files`. */
	const char *program;
	const char *const *argv; /* the arguments of the program, beginning with argv[0] */
	const char *const
		/* Paths of the host that the cell sees if they exist. NULL ends the array. */
		*readable;
	/* The path of the device that the cell sees as /dev/kvm; NULL: the cell has no /dev/kvm. */
	const char *device;
	bool tun;  /* the cell has /dev/net/tun */
	bool proc; /* the cell has /proc */
	/* Files that bwrap makes in the cell. The files are ignored if there is no bwrap. */
	const struct cell_data *data;
	size_t ndata;
	/* Files of the host that the cell sees; used only with bwrap. */
	const struct cell_file *files;
	size_t nfiles;
	/* Descriptors for the program; `to` is 2 for stderr, and 3, 4 and so on for the others. */
	const struct proc_fd *fds;
	size_t nfds;
	/* The next two members are for a program in a user namespace that the caller has made. */
	const char *const
		/* The capabilities that the program's root keeps. NULL: the program is not in a
		 * namespace of the caller. */
		*capabilities;
	const struct cell_share *share; /* a directory that the cell sees; NULL: the cell sees no
					 * such directory */
	/* Variables that the program and bwrap get in addition to cell_environment, as NAME, VALUE,
	 * NAME, VALUE and so on. NULL ends the array. A NULL array means that there are no such
	 * variables. */
	const char *const *environment;
	int filter; /* a file with a compiled system call filter; 0: there is no filter */
};

struct cell {
	/* The child of this process: bwrap, or the program if there is no cell. */
	struct proc monitor;
	pid_t pid; /* the program's pid as this process sees it */
	int pidfd; /* the program's pidfd */
	/* This process's ends of bwrap's pipes, while the cell is made; -1 otherwise. */
	int info_fd, hold_fd;
	bool confined;
};
#define CELL_NONE                                                               \
	{                                                                       \
		.monitor = PROC_NONE, .pidfd = -1, .info_fd = -1, .hold_fd = -1 \
	}

/* Begins to make the cell, and returns before the cell is complete. The program does not run
 * yet. */
int cell_spawn(const struct cell_spec *spec, struct cell *out, struct error *err);
/* Waits until the program's process exists, at most LIMIT_CELL_MS, and opens its pidfd. At that
 * point the namespaces of the process exist, but the program does not run yet. If the function
 * fails, the caller must call cell_end(). */
int cell_await(struct cell *cell, struct error *err);
/* Lets the program run. Calls cell_await() first if the caller has not done so. Without bwrap the
 * program has been running since cell_spawn(). If the function fails, the caller must call
 * cell_end(). */
int cell_release(struct cell *cell, struct error *err);
/* Sends SIGKILL to the program, and does not wait. When the program has ended, the monitor ends
 * too. */
void cell_kill(const struct cell *cell);
/* Kills the program and reaps it. Waits at most LIMIT_KILL_MS. Accepts CELL_NONE. Sets *cell to
 * CELL_NONE. */
void cell_end(struct cell *cell);

/* The environment of a program in a cell. The program gets no variable of this process. */
extern const char *const cell_environment[];

/* Returns true if every user may enter all directories of `path`, so that any user of a cell
 * reaches `path`. `path` must be absolute. */
bool cell_is_reachable(const char *path);

/* Sets the number from which the ids of cells are made. By default the number is the pid of this
 * process. The call is needed in a pid namespace other than the host's, since another process of
 * the host may have the same pid in its own namespace. Must be called before the first cell is
 * made. */
void cell_number(pid_t number);
/* Returns the user id for the cells of this process. Returns 0 if the cells keep the id of this
 * process. The result is always 0 if this process is not root. */
uid_t cell_id(void);
/* Returns true if the id is mapped into the namespace of this process, as a user and as a group. */
bool cell_id_is_usable(unsigned long id);
/* Returns true if the id is in `map`, which is the text of a uid_map or gid_map (lines of "inside
 * outside count"). */
bool cell_id_is_mapped(const char *map, unsigned long id);

#endif
