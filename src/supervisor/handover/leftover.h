/* SPDX-License-Identifier: MIT */
/*
 * The processes of a workspace whose live supervisor could not clean up, or does not answer.
 * runtime.json names these processes. But the live supervisor writes this file, and may have been
 * taken over. So a process gets a signal only if it has the workspace's lease, or descends from a
 * process that has the lease. The signal is sent through a descriptor of the process that was
 * opened before this check. A runtime.json belongs to this workspace and boot if it has the host's
 * present boot id, and the device and inode of the workspace's directory.
 */
#ifndef SUPERVISOR_LEFTOVER_H
#define SUPERVISOR_LEFTOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/proc.h"
#include "store/store.h"

/* Returns whether runtime.json has the boot id of an earlier boot of the host. */
bool leftover_of_another_boot(const struct workspace *ws);
/* Returns whether the live supervisor that runtime.json names has ended. If this live supervisor is
 * just ending, waits for its end. If runtime.json names no live supervisor, returns false: only the
 * lease then tells whether a process lives. If runtime.json belongs to another workspace or boot,
 * returns whether there is no guard. */
bool leftover_supervisor_is_gone(const struct workspace *ws);
struct proc_list {
	struct proc *at; /* malloc'd */
	size_t count;
};
/* A live supervisor that is held by descriptors. After its end the lease and runtime.json may
 * belong to the next live supervisor, and the descriptors tell the two apart. A live supervisor is
 * the child of its guard, and can neither end its guard nor choose another. Any process of the
 * machine may call itself a guard, so all processes with the title of the guard are held, and all
 * their children. If there is no guard, as on macOS, the live supervisor is the process that
 * runtime.json names. */
struct leftover_supervisor {
	struct proc_list guards, children;
	/* The process that runtime.json names. PROC_NONE: there is a guard, or the named process
	 * does not live. */
	struct proc proc;
	uint64_t start_time;
};
void leftover_hold_supervisor(const struct workspace *ws, struct leftover_supervisor *out);
void leftover_let_go_supervisor(struct leftover_supervisor *held); /* accepts a zeroed one */
/* Returns whether a live supervisor is held. Returns false if none was found: the live supervisor
 * has ended, or has not made its guard yet. */
bool leftover_has_held_supervisor(const struct leftover_supervisor *held);
/* Waits until the deadline (monotonic) for the end of the held live supervisor. Returns true if it
 * has ended, or if none is held. */
bool leftover_await_supervisor(const struct leftover_supervisor *held, uint64_t deadline_ns);
/* Returns whether there is a live supervisor other than the held one. */
bool leftover_has_another_supervisor(const struct workspace *ws,
				     const struct leftover_supervisor *held);
/* Kills the live supervisor with SIGKILL. All other processes of the workspace die with it. The
 * live supervisor is found by its guard, or by runtime.json if there is no guard. */
void leftover_kill_supervisor(const struct workspace *ws);
/* Returns whether a process lives that has the title of the workspace's guard, or that runtime.json
 * names. This function is for a workspace whose lease is damaged, so that the lease does not tell
 * whether a process lives. A process that only calls itself a guard counts too. If the processes
 * cannot be looked at, returns true. */
bool leftover_lives_by_name(const struct workspace *ws);
/* Ends all processes of a workspace whose live supervisor has ended, as runtime.json says. If the
 * live supervisor lives all the same, finds it by its guard and kills it. Waits for the end of
 * every process of the workspace that runtime.json names, and kills those that have not ended by
 * the deadline (monotonic). Then removes the workspace's cgroup, and kills the processes of the
 * workspace in it. A cgroup that has other processes is left, and a line on standard error says so.
 * If runtime.json cannot be read, or belongs to another workspace or boot, it names no process. */
void leftover_end_all(const struct workspace *ws, uint64_t deadline_ns);
/*
 * The companions that runtime.json names, except the monitor of the VMM's cell. A command holds
 * them by descriptors before it asks the live supervisor to cut them off. The live supervisor can
 * write runtime.json, and its word is no proof that the companions have ended; the descriptors are.
 */
struct leftover_companions {
	size_t count;
	struct leftover_companion {
		char name[32];
		struct proc proc;
	} * at;
};
/* Holds the companions. ERR_TIMEOUT: runtime.json names more companions than a machine can have. */
int leftover_hold_companions(const struct workspace *ws, struct leftover_companions *out,
			     struct error *err);
void leftover_let_go(struct leftover_companions *companions); /* accepts a zeroed one */
/* Waits until the deadline (monotonic) for the end of each companion. ERR_TIMEOUT: a companion
 * still lives; the message names it. */
int leftover_await_companions(const struct leftover_companions *companions, uint64_t deadline_ns,
			      struct error *err);
/* Removes only the workspace's cgroup, as leftover_end_all() does, if it still exists. */
void leftover_end_cgroup(const struct workspace *ws, uint64_t deadline_ns);
/* Removes the files that exist only while a live supervisor lives: the sockets, the VMM's own
 * directory, and LEFTOVER_RESERVE, the file that keeps room on the disk for the last records. */
#define LEFTOVER_RESERVE "reserve"
int leftover_remove_files(const struct workspace *ws, struct error *err);
/* Removes the sockets that lead to or from the guest: all except control.sock. */
int leftover_remove_channels(const struct workspace *ws, struct error *err);
/* Returns whether control.sock exists. If it exists, a live supervisor lives, or the last one ended
 * and could not clean up. */
bool leftover_has_control(const struct workspace *ws);

#endif
