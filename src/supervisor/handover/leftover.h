/* SPDX-License-Identifier: MIT */
/*
 * The processes of a workspace whose live supervisor could not clean up, or does not answer.
 * runtime.json names these processes. But the live supervisor writes this file, and an attacker may
 * control the live supervisor. So a process gets a signal only if it has the workspace's lease, or
 * descends from a process that has the lease. The signal is sent through a descriptor of the
 * process that was opened before this check. A runtime.json belongs to this workspace and boot if
 * it names the host's present boot id, and the device and inode of the workspace's directory.
 */
#ifndef SUPERVISOR_LEFTOVER_H
#define SUPERVISOR_LEFTOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/proc.h"
#include "store/store.h"

/* Returns true if runtime.json has the boot id of an earlier boot of the host. */
bool leftover_of_another_boot(const struct workspace *ws);
/* Returns true if the live supervisor that runtime.json names has exited. If that live supervisor
 * is just exiting, first waits for its exit. If runtime.json names no live supervisor, returns
 * false, and only the lease shows if a process lives. If runtime.json belongs to another workspace
 * or boot, returns true only if there is no guard. */
bool leftover_supervisor_is_gone(const struct workspace *ws);
struct proc_list {
	struct proc *at; /* an allocated array of `count` processes */
	size_t count;
};
/* Descriptors that identify one live supervisor. After that live supervisor has exited, the lease
 * and runtime.json may belong to the next live supervisor, but the descriptors never refer to the
 * next one. A live supervisor is the child of its guard, and can neither end nor change its guard.
 * Any process of the machine may pretend to be a guard. So there is a descriptor of each process
 * that has the title of the guard, and of each of its children. If there is no guard, as on macOS,
 * the live supervisor is the process that runtime.json names. */
struct leftover_supervisor {
	struct proc_list guards, children;
	/* The process that runtime.json names. PROC_NONE: there is a guard, or that process has
	 * exited. */
	struct proc proc;
	uint64_t start_time;
};
void leftover_hold_supervisor(const struct workspace *ws, struct leftover_supervisor *out);
/* Closes the descriptors of a held live supervisor. Accepts a zeroed struct. */
void leftover_let_go_supervisor(struct leftover_supervisor *held);
/* Returns true if a live supervisor is held. Returns false if none was found, because it has exited
 * or has not yet started its guard. */
bool leftover_has_held_supervisor(const struct leftover_supervisor *held);
/* Waits until the deadline (monotonic, ns) for the held live supervisor to exit. Returns true if it
 * has exited, or if no live supervisor is held. */
bool leftover_await_supervisor(const struct leftover_supervisor *held, uint64_t deadline_ns);
/* Returns whether the workspace has a live supervisor other than the held one. */
bool leftover_has_another_supervisor(const struct workspace *ws,
				     const struct leftover_supervisor *held);
/* Kills the live supervisor with SIGKILL. All other processes of the workspace end with it. The
 * live supervisor is found as the child of its guard. Without a guard, it is the process that
 * runtime.json names. */
void leftover_kill_supervisor(const struct workspace *ws);
/* Returns whether a process lives that has the title of the workspace's guard, or that runtime.json
 * names. The function is for a workspace whose lease is damaged: such a lease does not show if a
 * process lives. A process that only pretends to be a guard counts too. If the processes cannot be
 * examined, returns true. */
bool leftover_lives_by_name(const struct workspace *ws);
/* Ends all processes of a workspace whose live supervisor has ended according to runtime.json. If
 * the live supervisor still lives, finds it by its guard and kills it. Waits until the deadline
 * (monotonic, ns) for the exit of every process of the workspace that runtime.json names, and then
 * kills the processes that have not exited. Then kills the processes of the workspace in its
 * cgroup, and removes the cgroup. A cgroup that has other processes is not removed, and a line on
 * standard error says so. A runtime.json that cannot be read, or belongs to another workspace or
 * boot, is ignored. */
void leftover_end_all(const struct workspace *ws, uint64_t deadline_ns);
/*
 * The companions that runtime.json names, except the monitor of the VMM's cell. A command holds the
 * companions by descriptors before it asks the live supervisor to cut them off. Only these
 * descriptors prove that the companions have exited. The live supervisor could write anything into
 * its answer and into runtime.json.
 */
struct leftover_companions {
	size_t count;
	struct leftover_companion {
		char name[32];
		struct proc proc;
	} * at;
};
/* Opens descriptors of the companions. ERR_TIMEOUT: runtime.json names more companions than a
 * machine can have. */
int leftover_hold_companions(const struct workspace *ws, struct leftover_companions *out,
			     struct error *err);
/* Closes the descriptors of the companions. Accepts a zeroed struct. */
void leftover_let_go(struct leftover_companions *companions);
/* Waits until the deadline (monotonic, ns) for each companion to exit. ERR_TIMEOUT: a companion
 * still lives, and the message names that companion. */
int leftover_await_companions(const struct leftover_companions *companions, uint64_t deadline_ns,
			      struct error *err);
/* If the workspace's cgroup still exists, ends the processes in the cgroup and removes it, as
 * leftover_end_all() does. Ends no process outside the cgroup. */
void leftover_end_cgroup(const struct workspace *ws, uint64_t deadline_ns);
/* Removes the files that exist only while a live supervisor lives: the sockets, the VMM's
 * directory, and the file LEFTOVER_RESERVE. LEFTOVER_RESERVE occupies space on the host's disk,
 * which is freed for the last records. */
#define LEFTOVER_RESERVE "reserve"
int leftover_remove_files(const struct workspace *ws, struct error *err);
/* Removes all sockets of the workspace except control.sock. The removed sockets connect the host
 * and the guest. */
int leftover_remove_channels(const struct workspace *ws, struct error *err);
/* Returns true if control.sock exists. Then a live supervisor lives, or the last one exited without
 * cleaning up. */
bool leftover_has_control(const struct workspace *ws);

#endif
