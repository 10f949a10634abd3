/* SPDX-License-Identifier: MIT */
/*
 * A state directory and the workspaces in it: files only, no process. What is true of a workspace
 * is in its directory; who is alive is said by the lease; who may change the record now is said by
 * the command lock. Every file is replaced whole (temp file + rename), 0600 in 0700 directories.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "contract/state.h"

struct state_dir {
	int fd;
	char *path; /* absolute */
};
/*
 * Opens <path>, making it (0700) where create is set and it is missing. Refused: a directory of
 * another user, one that group or others can write, a non-directory. ERR_NOT_FOUND without create.
 * With create, or where something of ours is in it already, guests are kept out of it from here on
 * (own_dirs.h). Without, a directory of something else stays as it is.
 */
int state_dir_open(const char *path, bool create, struct state_dir *out, struct error *err);
/* Returns 0 if this process has the rights to write into <path>, or into the nearest directory above it that
 * is there; else -1, with ERR_DENIED where rights are missing. Writes nothing. */
int state_dir_check_place(const char *path, struct error *err);
/* The same as state_dir_open() for a directory in one, which guests are kept out of with that (own_dirs.h). */
/* within: that one, if it is open; NULL. */
int state_dir_open_part(const char *path, bool create, const struct state_dir *within,
			struct state_dir *out, struct error *err);
void state_dir_close(struct state_dir *dir); /* accepts a zeroed one */
#define auto_state_dir __attribute__((cleanup(state_dir_close)))
/* The directory --state-dir, else $MICROAGENT_STATE_DIR, else ~/.microagent; malloc'd, absolute. */
char *state_dir_default(const char *option, struct error *err);
/* Names of workspaces (directories with a workspace.json or an event.json), sorted; foreign files
 * and reserved names are passed over. A JSON array of strings. */
json_t *state_dir_list(const struct state_dir *dir, struct error *err);
bool runtime_id_is_reserved(const char *id); /* runtime_id_taken() */
/*
 * flock(fd, operation), waiting until the deadline (monotonic; UINT64_MAX for none). ERR_TIMEOUT
 * when it passes; what is in the message names the thing locked. The lock belongs to fd's open
 * description, as always with flock.
 */
int flock_until(int fd, int operation, uint64_t deadline_ns, const char *what, struct error *err);

struct workspace {
	const struct state_dir *dir;
	char *id;
	int fd; /* of <stateDir>/<id>; -1 while it does not exist */
};
/* fd stays -1 for an absent workspace unless create is set. */
int workspace_open(const struct state_dir *dir, const char *id, bool create, struct workspace *out,
		   struct error *err);
void workspace_close(struct workspace *ws); /* accepts a zeroed one */
#define auto_workspace __attribute__((cleanup(workspace_close)))
/* The directory is there, and is a workspace, if perhaps an unfinished one; else it may be one of
 * something else. */
bool workspace_is_recorded(const struct workspace *ws);
char *workspace_path(const struct workspace *ws, const char *file, struct error *err);

/*
 * The command lock <stateDir>/.locks/<id>: an exclusive flock, held only to read the state, check
 * the table, write the transitional state and signal; never while waiting. Waits until it is free
 * or deadline_ns (monotonic). Returns a descriptor to close. The file goes with its workspace.
 */
int workspace_lock(const struct state_dir *dir, const char *id, uint64_t deadline_ns,
		   struct error *err);
/* The same of a workspace that was opened without it: ERR_NOT_FOUND where that has been removed
 * since, and nothing of the lock is left then. */
int workspace_lock_opened(const struct workspace *ws, uint64_t deadline_ns, struct error *err);
/* Whether there is a directory of locks. Without one no workspace is locked or being made there. */
bool state_dir_has_locks(const struct state_dir *dir);
/* Removes the lock's file. Only by who holds the lock, and as the last thing before giving it back:
 * from here on somebody else may hold a new one. What fails leaves an empty file behind. */
void workspace_lock_remove(const struct state_dir *dir, const char *id);

/* Fails where the file system of fd has not the room that a machine needs to be started
 * (LIMIT_STATE_FREE_BYTES). what: what lies there, for the error. */
int state_require_room(int fd, const char *what, struct error *err);

/* The name of a process that has a lease until all others are gone, and is not told to people. */
#define LEASE_GUARD "ma-guard"
/* Room for "guard <device>:<inode>", two hexadecimal numbers, and the final NUL. */
#define LEASE_GUARD_ROLE 48
/* Writes the words that stand in the title of a workspace's guard before the workspace's path. They name
 * the workspace's directory by its numbers, so that nobody has to follow a path which another process
 * wrote into its own title. Returns -1 if the directory cannot be looked at. */
int lease_guard_role(const struct workspace *ws, char out[LEASE_GUARD_ROLE], struct error *err);

/*
 * The lease <dir>/lease: a FIFO of which every process of the workspace inherits a reading end (on
 * macOS: a file with a lock that all of them inherit). While somebody has it, something of the
 * workspace lives.
 */
struct lease {
	int life; /* to be inherited */
	int lock; /* of the one that took it, and of nobody else: two can not both have it */
};
#define LEASE_NONE                     \
	{                              \
		.life = -1, .lock = -1 \
	}
/* ERR_CONFLICT when it is held. */
int lease_take(const struct workspace *ws, struct lease *out, struct error *err);
void lease_drop(struct lease *lease); /* accepts LEASE_NONE, and leaves one behind */
#define auto_lease __attribute__((cleanup(lease_drop)))
bool lease_is_held(const struct workspace *ws);
/* Whether what the lease is looked at by is of a type of which no lease is: a directory, a link. It tells
 * nothing of who lives then, and counts as held; why names it. */
bool lease_is_damaged(const struct workspace *ws, struct error *why);
/* Waits until it is free; ERR_TIMEOUT at the deadline. */
int lease_wait_free(const struct workspace *ws, uint64_t deadline_ns, struct error *err);
/* To wait for the end of who holds it now, which the workspace may not outlast: a descriptor, -1
 * where nobody holds it. */
int lease_watch(const struct workspace *ws);
/* Whether the process has the lease that lease_watch() gave, as far as its open files are shown to us.
 * A process without the lease cannot seem to have it, whoever can write to the workspace: on Linux no
 * other FIFO is there, and nobody who runs in the workspace can make one. A process with the lease can
 * close it. */
bool lease_is_had_by(int watch, pid_t pid);
/* Whether a process is of the workspace: it has the lease, or descends from one that has it, as bwrap
 * does, which closes what it inherits. runtime.json does not tell that: the live supervisor writes it,
 * and one that was taken over can name any process of the host in it. The caller has the process in
 * hand. */
bool lease_covers(int watch, pid_t pid);
/* As lease_wait_free(), of what lease_watch() gave. */
int lease_wait_over(const struct workspace *ws, int watch, uint64_t deadline_ns, struct error *err);

/* --- quarantine_proof.c: what proves that the machine of a workspace is cut off, as quarantine wants it --- */

/* Opens the file of the proof, which is made where it is missing. Only a live supervisor's broker keeps
 * the descriptor. */
int cut_proof_open(const struct workspace *ws, struct error *err);
/* Gives the proof, which holds until the last copy of the descriptor is closed. From then on the
 * workspace is quarantined for workspace_state(), until cut_proof_take_back(). */
int cut_proof_give(int fd, struct error *err);
bool cut_proof_is_given(const struct workspace *ws);
bool cut_proof_was_given(const struct workspace *ws);
/* For who ends a quarantine that somebody has asked to end. Under the command lock. */
int cut_proof_take_back(const struct workspace *ws, struct error *err);

/* JSON documents of a workspace: "workspace.json", "event.json", "runtime.json", "result.json"...
 * NULL with ERR_NOT_FOUND when absent; a bad file is ERR_IO that names it with its full path. */
json_t *workspace_read(const struct workspace *ws, const char *file, struct error *err);
/* For who finds the contents of such a file wrong: ERR_IO with its full path, why->msg and the next
 * step. err may be why. */
int workspace_damaged(const struct workspace *ws, const char *file, const struct error *why,
		      struct error *err);
enum store_sync { STORE_NO_SYNC, STORE_SYNC };
int workspace_write(const struct workspace *ws, const char *file, const json_t *value,
		    enum store_sync sync, struct error *err);
/* The document, and what else its directory has the name of, survive a loss of power from here on.
 */
int workspace_sync(const struct workspace *ws, const char *file, struct error *err);

/* The latest event (event.json) and its state; an absent workspace is STATE_UNKNOWN, event NULL. */
int workspace_state(const struct workspace *ws, enum state *state, json_t **event,
		    struct error *err);
/* Makes event the latest: events.json (array, oldest first, LIMIT_EVENTS_KEPT) then event.json. */
int workspace_record_event(const struct workspace *ws, const json_t *event, struct error *err);

/* The last digest of the root file system. It is written when a guest gets the disk, and goes with
 * each prepare. */
#define ROOTFS_RECORD "rootfs.json"
/* Whether a guest has got the root file system since prepare recorded its digest, or may have: the
 * disk is the guest's own then. The state does not tell that, since stop, kill, halt and quarantine
 * also change the state of a workspace that was never started. */
bool workspace_was_started(const struct workspace *ws);

/* In a directory that is being made and has no record yet (api/unfinished.c). */
#define WORKSPACE_MAKING ".making"

/* A file or socket that may be there; a missing one is success. */
int workspace_remove_file(const struct workspace *ws, const char *file, struct error *err);
/* The whole directory, by descriptor, links never followed, with what an earlier call that was
 * killed has left of it. A missing one is success. */
int workspace_remove(struct workspace *ws, struct error *err);

/* ERR_CONFLICT naming a mount on the workspace's directory or below it. */
int workspace_refuse_mounts(const struct workspace *ws, struct error *err);

/* --- trash.c: a removal that is killed leaves nothing under the name ---------------------------
 */

/* dir/id and everything below, as path_remove_tree_at(). A missing one is success. */
int trash_remove(const struct state_dir *dir, const char *id, struct error *err);
/* Removes what a killed trash_remove() has left of id, unless somebody else is removing it now. */
int trash_finish(const struct state_dir *dir, const char *id, struct error *err);
bool trash_has(const struct state_dir *dir, const char *id);
/* trash_finish() of everything; fn (may be NULL) is told what was removed, or why it was not. */
typedef void trash_fn(const char *id, const struct error *why, void *data);
void trash_sweep(const struct state_dir *dir, trash_fn *fn, void *data);

#endif
