/* SPDX-License-Identifier: MIT */
/*
 * Processes of a workspace, for the time after a live supervisor that could not clean up itself, or
 * that does not answer. runtime.json names them, and is written by that supervisor, who may have been
 * taken over: so no process is signalled that does not have the workspace's lease or descends from one
 * that has it. Each is signalled through a descriptor that was opened before that was looked at. The
 * record is of this workspace when boot id and directory are the recorded ones.
 */
#ifndef SUPERVISOR_LEFTOVER_H
#define SUPERVISOR_LEFTOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/proc.h"
#include "store/store.h"

/* The recorded boot id is not the host's present one: the host was rebooted since. */
bool leftover_of_another_boot(const struct workspace *ws);
/* The recorded live supervisor has ended (or is just ending, which is waited for). False where
 * nothing is recorded yet: the lease alone knows. A record of another workspace or boot counts only where
 * there is no guard. */
bool leftover_supervisor_is_gone(const struct workspace *ws);
struct proc_list {
	struct proc *at; /* malloc'd */
	size_t count;
};
/* The live supervisor, held so that nobody takes the next one for it: when it has ended, lease and record
 * may be those of another. It is the child of its guard, which it can neither end nor choose. A process
 * of the machine may call itself a guard, so all guards are held, and all children of theirs. Where there
 * is no guard, as on macOS, the live supervisor is the process that runtime.json names. */
struct leftover_supervisor {
	struct proc_list guards, children;
	/* PROC_NONE where there is a guard, and where runtime.json names none that lives. */
	struct proc proc;
	uint64_t start_time;
};
void leftover_hold_supervisor(const struct workspace *ws, struct leftover_supervisor *out);
void leftover_let_go_supervisor(struct leftover_supervisor *held); /* accepts a zeroed one */
/* False where none was to be found: it has ended, or is about to make its guard. */
bool leftover_has_held_supervisor(const struct leftover_supervisor *held);
/* Waits until the deadline (monotonic) for the end of what is held. True if it has ended, or nobody is
 * held. */
bool leftover_await_supervisor(const struct leftover_supervisor *held, uint64_t deadline_ns);
/* Whether there is another live supervisor than the one that was held. */
bool leftover_has_another_supervisor(const struct workspace *ws,
				     const struct leftover_supervisor *held);
/* SIGKILL to the live supervisor, with which everything of the workspace dies. It is found by its guard,
 * and where that is gone by the record. */
void leftover_kill_supervisor(const struct workspace *ws);
/* Where the lease is damaged and tells nothing: whether there is a guard of the workspace, by its title
 * alone, or a process that runtime.json names. A process that only calls itself a guard counts as well. */
bool leftover_lives_by_name(const struct workspace *ws);
/* For a workspace whose live supervisor is recorded to have ended. Kills one that lives all the same, by
 * its guard. Waits for every recorded process of the workspace to end, then kills what has not by the deadline (monotonic), and removes the
 * workspace's cgroup with the processes of the workspace in it; a group with others in it is left, and
 * standard error says so. A runtime.json that cannot be read, or is of another workspace or boot, names
 * nobody. */
void leftover_end_all(const struct workspace *ws, uint64_t deadline_ns);
/*
 * The companions that runtime.json names, but the monitor of the VMM's cell, held before the live supervisor is asked to cut them off:
 * its own word is no proof that they have ended, and it can write runtime.json.
 */
struct leftover_companions {
	size_t count;
	struct leftover_companion {
		char name[32];
		struct proc proc;
	} * at;
};
/* ERR_TIMEOUT where the record names more than a machine can have. */
int leftover_hold_companions(const struct workspace *ws, struct leftover_companions *out,
			     struct error *err);
void leftover_let_go(struct leftover_companions *companions); /* accepts a zeroed one */
/* Waits until the deadline (monotonic) for the end of each. ERR_TIMEOUT names one that lives. */
int leftover_await_companions(const struct leftover_companions *companions, uint64_t deadline_ns,
			      struct error *err);
/* The cgroup alone, where a live supervisor could not remove it. */
void leftover_end_cgroup(const struct workspace *ws, uint64_t deadline_ns);
/* What is there only while a live supervisor is: the sockets, the VMM's directory of its own, and
 * the file that keeps room on the disk for the last records. */
#define LEFTOVER_RESERVE "reserve"
int leftover_remove_files(const struct workspace *ws, struct error *err);
/* The sockets that lead to or from the guest: all but control.sock. */
int leftover_remove_channels(const struct workspace *ws, struct error *err);
/* control.sock is there: a live supervisor lives, or did not come to clean up. */
bool leftover_has_control(const struct workspace *ws);

#endif
