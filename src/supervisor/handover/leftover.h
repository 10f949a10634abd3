/* SPDX-License-Identifier: MIT */
/*
 * The processes of a workspace whose live supervisor could not clean up, or does not answer.
 * runtime.json names them. But that live supervisor, which may have been taken over, writes the
 * file. So no process is signalled unless it has the workspace's lease, or descends from a process
 * that has it. Each process is signalled through a descriptor that was opened before this check. A
 * record belongs to this workspace if boot id and directory are the recorded ones.
 */
#ifndef SUPERVISOR_LEFTOVER_H
#define SUPERVISOR_LEFTOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/proc.h"
#include "store/store.h"

/* Returns whether the recorded boot id is not the host's present one: the host was rebooted
 * since. */
bool leftover_of_another_boot(const struct workspace *ws);
/* Returns whether the recorded live supervisor has ended. If it is just ending, waits for its end.
 * Returns false if nothing is recorded yet: then only the lease can tell. A record of another
 * workspace or boot counts only if there is no guard. */
bool leftover_supervisor_is_gone(const struct workspace *ws);
struct proc_list {
	struct proc *at; /* malloc'd */
	size_t count;
};
/* The live supervisor, held by descriptors so that it cannot be mistaken for the next one. When it
 * has ended, lease and record may belong to another live supervisor. It is the child of its guard;
 * it can neither end nor choose its guard. A process of the machine may call itself a guard, so all
 * guards are held, and all their children. If there is no guard, as on macOS, the live supervisor
 * is the process that runtime.json names. */
struct leftover_supervisor {
	struct proc_list guards, children;
	/* PROC_NONE if there is a guard, or if runtime.json names no process that lives. */
	struct proc proc;
	uint64_t start_time;
};
void leftover_hold_supervisor(const struct workspace *ws, struct leftover_supervisor *out);
void leftover_let_go_supervisor(struct leftover_supervisor *held); /* accepts a zeroed one */
/* Returns whether a live supervisor is held. Returns false if none was found: it has ended, or is
 * about to make its guard. */
bool leftover_has_held_supervisor(const struct leftover_supervisor *held);
/* Waits until the deadline (monotonic) for the end of the held live supervisor. Returns true if it
 * has ended, or if none is held. */
bool leftover_await_supervisor(const struct leftover_supervisor *held, uint64_t deadline_ns);
/* Returns whether there is a live supervisor other than the held one. */
bool leftover_has_another_supervisor(const struct workspace *ws,
				     const struct leftover_supervisor *held);
/* Kills the live supervisor with SIGKILL; everything of the workspace dies with it. It is found by
 * its guard, or by the record if the guard has gone. */
void leftover_kill_supervisor(const struct workspace *ws);
/* For a lease that is damaged and tells nothing. Returns whether there is a guard of the workspace,
 * found only by its title, or a process that runtime.json names. A process that only calls itself a
 * guard counts too. */
bool leftover_lives_by_name(const struct workspace *ws);
/* Ends all processes of a workspace whose live supervisor is recorded to have ended. If a live
 * supervisor lives all the same, finds it by its guard and kills it. Waits for every recorded
 * process of the workspace to end, and kills those that have not ended by the deadline (monotonic).
 * Then removes the workspace's cgroup together with the processes of the workspace in it. A group
 * with other processes in it is left, and standard error says so. A runtime.json that cannot be
 * read, or that belongs to another workspace or boot, names no process. */
void leftover_end_all(const struct workspace *ws, uint64_t deadline_ns);
/*
 * The companions that runtime.json names, except the monitor of the VMM's cell. They are held
 * before the live supervisor is asked to cut them off. Its own word is no proof that they have
 * ended, and it can write runtime.json.
 */
struct leftover_companions {
	size_t count;
	struct leftover_companion {
		char name[32];
		struct proc proc;
	} * at;
};
/* Holds the companions. ERR_TIMEOUT: the record names more than a machine can have. */
int leftover_hold_companions(const struct workspace *ws, struct leftover_companions *out,
			     struct error *err);
void leftover_let_go(struct leftover_companions *companions); /* accepts a zeroed one */
/* Waits until the deadline (monotonic) for the end of each companion. ERR_TIMEOUT names one that
 * still lives. */
int leftover_await_companions(const struct leftover_companions *companions, uint64_t deadline_ns,
			      struct error *err);
/* Ends only the cgroup, if a live supervisor could not remove it. */
void leftover_end_cgroup(const struct workspace *ws, uint64_t deadline_ns);
/* Removes the files that exist only while a live supervisor lives: the sockets, the VMM's own
 * directory, and LEFTOVER_RESERVE, the file that keeps room on the disk for the last records. */
#define LEFTOVER_RESERVE "reserve"
int leftover_remove_files(const struct workspace *ws, struct error *err);
/* Removes the sockets that lead to or from the guest: all except control.sock. */
int leftover_remove_channels(const struct workspace *ws, struct error *err);
/* Returns whether control.sock exists: then a live supervisor lives, or it could not clean up. */
bool leftover_has_control(const struct workspace *ws);

#endif
