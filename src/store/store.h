/* SPDX-License-Identifier: MIT */
/*
 * A state directory and the workspaces in it: only files, no processes. All records of a workspace
 * are in its directory, except the locks, digests and proofs that the workspace's own processes
 * must not reach (.locks/). The lease tells whether a process of the workspace lives. The holder of
 * the command lock may change the records. Every record is replaced whole (temp file + rename).
 * Files have mode 0600, directories 0700.
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
 * Opens <path>. With `create` a missing directory is made (0700); without `create` it gives
 * ERR_NOT_FOUND. ERR_DENIED: the directory belongs to another user, or its group or other users can
 * write in it. ERR_INVALID: the file is no directory. With `create`, or if the directory already is
 * a state directory, it is marked, and guests are kept out of it from here on (own_dirs.h). Any
 * other directory is left unchanged.
 */
int state_dir_open(const char *path, bool create, struct state_dir *out, struct error *err);
/* Returns 0 if this process has the rights to write into <path>, or, if <path> is missing, into the
 * nearest existing directory above it. Otherwise returns -1. ERR_DENIED: rights are missing.
 * ERR_INVALID: the path is no directory. Writes nothing. */
int state_dir_check_place(const char *path, struct error *err);
/* Opens a directory inside a state directory, like state_dir_open(). The directory gets no marker,
 * since the marker of the state directory keeps guests out of both (own_dirs.h). `within` is the
 * state directory if it is open, else NULL. */
int state_dir_open_part(const char *path, bool create, const struct state_dir *within,
			struct state_dir *out, struct error *err);
void state_dir_close(struct state_dir *dir); /* accepts a zeroed one */
#define auto_state_dir __attribute__((cleanup(state_dir_close)))
/* Returns the path of the state directory: `option` (--state-dir), else $MICROAGENT_STATE_DIR, else
 * ~/.microagent. The path is absolute, and the caller frees it. ERR_INVALID: the option is empty.
 * ERR_NOT_FOUND: the user has no home. */
char *state_dir_default(const char *option, struct error *err);
/* Returns a sorted JSON array of the names of workspaces. A workspace is a directory with a
 * workspace.json or an event.json. Other files, and names that no workspace may have, are skipped.
 * The caller releases the array. */
json_t *state_dir_list(const struct state_dir *dir, struct error *err);
/* Returns the result of runtime_id_taken(): whether no workspace may have the name. */
bool runtime_id_is_reserved(const char *id);
/*
 * Calls flock(`fd`, `operation`), and waits for the lock until the deadline (monotonic; UINT64_MAX:
 * without a bound). ERR_TIMEOUT: the deadline passed. `what` names the locked thing in the message.
 * The lock belongs to the open file description of `fd`, as always with flock.
 */
int flock_until(int fd, int operation, uint64_t deadline_ns, const char *what, struct error *err);

struct workspace {
	const struct state_dir *dir;
	char *id;
	int fd; /* descriptor of <stateDir>/<id>; -1 while the directory does not exist */
};
/* Opens a workspace. If the workspace is absent, create makes its directory; without create the
 * call succeeds and out->fd is -1. `dir` must stay open as long as *out. ERR_CONFLICT: `create` is
 * set, and the directory has files that do not belong to a workspace. */
int workspace_open(const struct state_dir *dir, const char *id, bool create, struct workspace *out,
		   struct error *err);
void workspace_close(struct workspace *ws); /* accepts a zeroed one */
#define auto_workspace __attribute__((cleanup(workspace_close)))
/* Returns whether the directory exists and is a workspace, which may be unfinished. If the function
 * returns false, an existing directory may belong to another program. */
bool workspace_is_recorded(const struct workspace *ws);
/* Returns the path of a file of the workspace. `file` NULL: the path of the workspace's directory.
 * The caller frees the path. */
char *workspace_path(const struct workspace *ws, const char *file, struct error *err);

/*
 * Takes the command lock <stateDir>/.locks/<id>, an exclusive flock. A command holds the lock only
 * while it reads the state, checks whether it may act in that state, writes the next state and
 * sends signals. It never holds the lock while it waits. This function waits for the lock until
 * `deadline_ns` (monotonic). ERR_TIMEOUT: the deadline passed. Returns a descriptor, which the
 * caller closes. The lock's file is removed with its workspace.
 */
int workspace_lock(const struct state_dir *dir, const char *id, uint64_t deadline_ns,
		   struct error *err);
/* Takes the command lock of a workspace that was opened before. ERR_NOT_FOUND: the workspace was
 * removed after it was opened; no file of the lock is left. The other errors are those of
 * workspace_lock(). */
int workspace_lock_opened(const struct workspace *ws, uint64_t deadline_ns, struct error *err);
/* Returns whether the directory of locks exists. If it is missing, no workspace of the state
 * directory is locked or being made. */
bool state_dir_has_locks(const struct state_dir *dir);
/* Removes the lock's file, and all other files that .locks/ has of the workspace. Only the holder
 * of the lock may call this, as the last step before it gives the lock back: from here on another
 * process may hold the lock of a new file. A failure is not reported: it leaves only the lock's
 * empty file. */
void workspace_lock_remove(const struct state_dir *dir, const char *id);

/* Checks that the file system of `fd` has the free space that a machine needs to start
 * (LIMIT_STATE_FREE_BYTES). ERR_UNAVAILABLE: the file system has less free space. `what` names the
 * things that lie in the file system, for the message. */
int state_require_room(int fd, const char *what, struct error *err);

/* The process name of the guard. The guard holds the lease until all other holders have ended, so
 * messages do not name it as a holder. */
#define LEASE_GUARD "ma-guard"
/* Room for "guard <device>:<inode>", two hexadecimal numbers, and the final NUL. */
#define LEASE_GUARD_ROLE 48
/* Writes the words that the title of a workspace's guard has before the workspace's path: "guard"
 * and the device and inode numbers of the workspace's directory. A reader of the title compares
 * these numbers, and need not follow a path that any process can write into its own title. Returns
 * -1 if the directory cannot be looked at. */
int lease_guard_role(const struct workspace *ws, char out[LEASE_GUARD_ROLE], struct error *err);

/*
 * The lease: the file <stateDir>/<id>/lease. It is a FIFO, and every process of the workspace
 * inherits a reading end of the FIFO. On macOS the lease is a file with a lock, which all of these
 * processes inherit. While any process has the lease, the workspace counts as alive.
 */
struct lease {
	int life; /* the descriptor that other processes inherit */
	/* The lock of the process that took the lease. Only one process can have this lock. */
	int lock;
};
#define LEASE_NONE                     \
	{                              \
		.life = -1, .lock = -1 \
	}
/* Takes the lease. ERR_CONFLICT: another process has the lease. ERR_IO: the lease is damaged. */
int lease_take(const struct workspace *ws, struct lease *out, struct error *err);
void lease_drop(struct lease *lease); /* accepts LEASE_NONE, and sets it */
#define auto_lease __attribute__((cleanup(lease_drop)))
bool lease_is_held(const struct workspace *ws);
/* Returns whether the file at the path of the lease has a type that no lease has, for example a
 * directory or a link. Such a file does not tell whether a process of the workspace lives, so
 * lease_is_held() returns true for such a file. If the result is true, *why is set and names the
 * file. */
bool lease_is_damaged(const struct workspace *ws, struct error *why);
/* Waits until no process has the lease. ERR_TIMEOUT: the deadline (monotonic) passed. */
int lease_wait_free(const struct workspace *ws, uint64_t deadline_ns, struct error *err);
/* Returns a descriptor with which the caller can wait for the end of the present holders of the
 * lease, also if the workspace is removed meanwhile. The caller closes the descriptor. Returns -1
 * with an errno if nobody holds the lease (ENOENT, ENXIO), or if the lease cannot be opened. */
int lease_watch(const struct workspace *ws);
/* Returns whether the process pid has the lease that lease_watch() returned. Returns false also if
 * this process may not see the open files of `pid`. A process that has no lease cannot pretend to
 * have it, even if it can write to the workspace: on Linux no FIFO except the lease is in the
 * workspace, and nothing that runs in the workspace can make a FIFO. But a process that has the
 * lease can close it, and the result is false then. */
bool lease_is_had_by(int watch, pid_t pid);
/* Returns whether a process belongs to the workspace: it has the lease that lease_watch() returned,
 * or descends from a process that has it. bwrap is such a descendant, since it closes all
 * descriptors that it inherits. runtime.json is no proof that a process belongs to the workspace: a
 * live supervisor that was taken over can write any process of the host into it. The caller holds a
 * handle of the process, so that its number is not reused. */
bool lease_covers(int watch, pid_t pid);
/* Waits like lease_wait_free(), but for the lease that lease_watch() returned. */
int lease_wait_over(const struct workspace *ws, int watch, uint64_t deadline_ns, struct error *err);

/* --- quarantine_proof.c: the proof that the machine of a quarantined workspace is cut off ------
 */

/* Opens the file of the proof, which is made if it is missing. Returns a descriptor. Only the
 * broker of a live supervisor keeps this descriptor. */
int quarantine_proof_open(const struct workspace *ws, struct error *err);
/* Gives the proof that the machine is cut off. The proof is valid until the last copy of the
 * descriptor `fd` is closed. The fact that a proof was given is kept longer: workspace_state() says
 * that the workspace is quarantined until quarantine_proof_take_back() is called. */
int quarantine_proof_give(int fd, struct error *err);
/* Returns whether a proof is valid now. */
bool quarantine_proof_is_given(const struct workspace *ws);
/* Returns whether a proof was given, which may be valid no more, and was not taken back. */
bool quarantine_proof_was_given(const struct workspace *ws);
/* Forgets that a proof was given, after a command has asked to end the quarantine. The caller has
 * the command lock. */
int quarantine_proof_take_back(const struct workspace *ws, struct error *err);

/* Reads a JSON document of a workspace: "workspace.json", "event.json", "runtime.json",
 * "result.json"... The caller releases it. Returns NULL with an error. ERR_NOT_FOUND: the file or
 * the workspace is absent. ERR_IO (REASON_WORKSPACE_DAMAGED): the file is damaged, and the message
 * has its full path. */
json_t *workspace_read(const struct workspace *ws, const char *file, struct error *err);
/* Sets ERR_IO (REASON_WORKSPACE_DAMAGED) for a caller that finds that the contents of such a file
 * are wrong. The message has the full path and why->msg. `err` may be the same struct as `why`.
 * Returns -1. */
int workspace_damaged(const struct workspace *ws, const char *file, const struct error *why,
		      struct error *err);
enum store_sync { STORE_NO_SYNC, STORE_SYNC };
int workspace_write(const struct workspace *ws, const char *file, const json_t *value,
		    enum store_sync sync, struct error *err);
/* Syncs the document and its directory to the disk, so that the document survives a loss of power,
 * and so do the names of all other files in the directory. */
int workspace_sync(const struct workspace *ws, const char *file, struct error *err);

/* Reads the latest event (event.json) and its state. An absent workspace has STATE_UNKNOWN, and its
 * event is NULL. If a proof says that the machine was cut off (quarantine_proof_give()), the state
 * is STATE_QUARANTINED, whatever the file says. `event` may be NULL; else the caller releases
 * *event. */
int workspace_state(const struct workspace *ws, enum state *state, json_t **event,
		    struct error *err);
/* Makes `event` the latest event. Adds it to events.json, which has the last LIMIT_EVENTS_KEPT
 * events, the oldest first, and then writes event.json. */
int workspace_record_event(const struct workspace *ws, const json_t *event, struct error *err);

/* The file that records the last digest of the root file system. It is written when a guest gets
 * the disk, and removed by each prepare. */
#define ROOTFS_RECORD "rootfs.json"
/* Returns whether a guest got, or may have got, the root file system after prepare recorded the
 * digest of the root file system. If so, the guest may have changed the disk. The state does not
 * tell this, since stop, kill, halt and quarantine also change the state of a workspace that was
 * never started. */
bool workspace_was_started(const struct workspace *ws);

/* A file in the directory of a workspace that is being made and has no record yet
 * (api/unfinished.c). */
#define WORKSPACE_MAKING ".making"

/* Removes a file or socket of the workspace. Returns success if the file is missing. */
int workspace_remove_file(const struct workspace *ws, const char *file, struct error *err);
/* Removes the whole directory, by descriptor and without following links. Removes also the files
 * that an earlier, killed call has left. Returns success if the directory is missing. ERR_CONFLICT:
 * the directory has files that do not belong to a workspace, and nothing was removed. */
int workspace_remove(struct workspace *ws, struct error *err);

/* Checks that nothing is mounted on the workspace's directory or below it. ERR_CONFLICT: there is
 * such a mount, and the message names it. Returns success if the mounts cannot be read. */
int workspace_refuse_mounts(const struct workspace *ws, struct error *err);

/* --- trash.c: a removal that is killed leaves nothing under the name ---------------------------
 */

/* Moves dir/id into the trash and removes it with everything below, like path_remove_tree_at(). If
 * the move fails, removes dir/id in its place. Returns success if dir/id is missing. */
int trash_remove(const struct state_dir *dir, const char *id, struct error *err);
/* Removes the files of `id` that a killed trash_remove() has left. If another process is removing
 * it now, waits for that process up to LIMIT_COMMAND_LOCK_MS, and returns success in any case. */
int trash_finish(const struct state_dir *dir, const char *id, struct error *err);
/* Returns whether the trash still has files of `id`. */
bool trash_has(const struct state_dir *dir, const char *id);
/* Removes everything in the trash, except files that another process is removing now. Calls `fn`
 * (may be NULL) for each name: `why` is NULL if it was removed, else the error. */
typedef void trash_fn(const char *id, const struct error *why, void *data);
void trash_sweep(const struct state_dir *dir, trash_fn *fn, void *data);

#endif
