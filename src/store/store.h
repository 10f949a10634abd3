/* SPDX-License-Identifier: MIT */
/*
 * A state directory and the workspaces in it. The code of the store handles only files, and runs no
 * machine. All records of a workspace are in its directory, except the locks, digests and proofs
 * that the workspace's processes must not reach. These are in the directory .locks/. The lease
 * shows whether a process of the workspace lives. A process that holds the command lock may change
 * the records. Every record is replaced as a whole (temporary file and rename). Files have the mode
 * 0600, directories 0700.
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
 * Opens the directory <path>. With `create`, a missing directory is made (0700). Without `create`,
 * a missing directory is an error (ERR_NOT_FOUND). ERR_DENIED: the directory belongs to another
 * user, or its group or other users can write in it. ERR_INVALID: the path does not lead to a
 * directory. With `create`, or if the directory already is a state directory, it is marked, and is
 * not shared with guests from then on (own_dirs.h). Any other directory is left unchanged.
 */
int state_dir_open(const char *path, bool create, struct state_dir *out, struct error *err);
/* Returns 0 if this process may write into the directory <path>. If <path> is missing, checks the
 * nearest existing directory above it instead. Otherwise returns -1. ERR_DENIED: the rights are
 * missing. ERR_INVALID: the path does not lead to a directory. Writes nothing. */
int state_dir_check_place(const char *path, struct error *err);
/* Opens a directory inside a state directory, as state_dir_open() does. This directory gets no
 * marker, because the marker of the state directory protects it too (own_dirs.h). `within` is the
 * open state directory, or NULL if the state directory is not open. */
int state_dir_open_part(const char *path, bool create, const struct state_dir *within,
			struct state_dir *out, struct error *err);
void state_dir_close(struct state_dir *dir); /* accepts a zeroed one */
#define auto_state_dir __attribute__((cleanup(state_dir_close)))
/* Returns the path of the state directory: `option` (--state-dir) if it is not NULL, otherwise
 * $MICROAGENT_STATE_DIR if it is set, otherwise ~/.microagent. The path is absolute, and the caller
 * frees it. ERR_INVALID: the option is empty. ERR_NOT_FOUND: the user has no home. */
char *state_dir_default(const char *option, struct error *err);
/* Returns a sorted JSON array of the names of workspaces. A workspace is a directory with a
 * workspace.json or an event.json. Other files, and names that no workspace may have, are skipped.
 * The caller releases the array. */
json_t *state_dir_list(const struct state_dir *dir, struct error *err);
/* Returns the result of runtime_id_taken(): true if no workspace may have the name. */
bool runtime_id_is_reserved(const char *id);
/*
 * Calls flock(`fd`, `operation`), and waits for the lock until the deadline (monotonic time in
 * nanoseconds; UINT64_MAX: no limit). ERR_TIMEOUT: the deadline passed. `what` says for the message
 * what is locked. The lock belongs to the open file description of `fd`.
 */
int flock_until(int fd, int operation, uint64_t deadline_ns, const char *what, struct error *err);

struct workspace {
	const struct state_dir *dir;
	char *id;
	int fd; /* descriptor of <stateDir>/<id>; -1 while the directory does not exist */
};
/* Opens a workspace. If its directory does not exist, and `create` is set, makes the directory. If
 * the directory does not exist, and `create` is not set, succeeds and sets out->fd to -1. `dir`
 * must stay open as long as *out. ERR_CONFLICT: `create` is set, and the directory has files that
 * do not belong to a workspace. */
int workspace_open(const struct state_dir *dir, const char *id, bool create, struct workspace *out,
		   struct error *err);
void workspace_close(struct workspace *ws); /* accepts a zeroed one */
#define auto_workspace __attribute__((cleanup(workspace_close)))
/* Returns true if the directory exists and is a workspace, which may be unfinished. If the function
 * returns false, an existing directory may belong to another program. */
bool workspace_is_recorded(const struct workspace *ws);
/* Returns the path of a file of the workspace. If `file` is NULL, returns the path of the
 * workspace's directory. The caller frees the path. */
char *workspace_path(const struct workspace *ws, const char *file, struct error *err);

/*
 * Takes the command lock <stateDir>/.locks/<id>, an exclusive flock. A command holds the lock only
 * while it reads the state, checks whether it may act in that state, writes the next state and
 * sends signals. A command does not hold the lock while it waits for a machine, because other
 * commands would then have to wait too. This function waits for the lock until `deadline_ns`
 * (monotonic time). ERR_TIMEOUT: the deadline passed. Returns a descriptor, which the caller
 * closes. The lock's file is removed together with its workspace.
 */
int workspace_lock(const struct state_dir *dir, const char *id, uint64_t deadline_ns,
		   struct error *err);
/* Takes the command lock of a workspace that was opened before. ERR_NOT_FOUND: the workspace was
 * removed since it was opened; the lock's file is then removed too. The other errors are those of
 * workspace_lock(). */
int workspace_lock_opened(const struct workspace *ws, uint64_t deadline_ns, struct error *err);
/* Returns true if the directory of locks (.locks/) exists. If this directory is missing, no
 * workspace of the state directory is locked or being made. */
bool state_dir_has_locks(const struct state_dir *dir);
/* Removes the lock's file, and all other files of the workspace in .locks/. Only the process that
 * holds the lock may call this function, as its last step before it releases the lock. From then
 * on, another process may make and lock a new file. A failure is not reported, because it leaves
 * only the lock's empty file. */
void workspace_lock_remove(const struct state_dir *dir, const char *id);

/* Checks that the file system of `fd` has the free space that a machine needs to start
 * (LIMIT_STATE_FREE_BYTES). ERR_UNAVAILABLE: the file system has less free space. `what` says for
 * the message what is stored in the file system. */
int state_require_room(int fd, const char *what, struct error *err);

/* The process name of the guard. The guard holds the lease until all other processes of the
 * workspace have exited. So messages about the processes that hold the lease do not name the
 * guard. */
#define LEASE_GUARD "ma-guard"
/* The size of a buffer for "guard <device>:<inode>", with two hexadecimal numbers and a NUL. */
#define LEASE_GUARD_ROLE 48
/* Writes the words that come before the workspace's path in the title of its guard: "guard", and
 * the device and inode numbers of the workspace's directory. A reader of the title compares these
 * numbers, and need not trust the path: any process can write any path into its own title. Returns
 * -1 with err set if the numbers cannot be read. */
int lease_guard_role(const struct workspace *ws, char out[LEASE_GUARD_ROLE], struct error *err);

/*
 * The lease is the file <stateDir>/<id>/lease. On Linux the lease is a FIFO, and every process of
 * the workspace inherits a reading end of this FIFO. On macOS the lease is a regular file with a
 * lock, which every process of the workspace inherits. While any process holds the lease, the
 * workspace counts as alive.
 */
struct lease {
	int life; /* descriptor of the lease that the processes of the workspace inherit */
	/* Descriptor of the lock of the process that took the lease. Only one process can hold this
	 * lock. */
	int lock;
};
#define LEASE_NONE                     \
	{                              \
		.life = -1, .lock = -1 \
	}
/* Takes the lease. ERR_CONFLICT: another process has the lease. ERR_IO: the lease is damaged. */
int lease_take(const struct workspace *ws, struct lease *out, struct error *err);
void lease_drop(struct lease *lease); /* accepts LEASE_NONE; sets *lease to LEASE_NONE */
#define auto_lease __attribute__((cleanup(lease_drop)))
bool lease_is_held(const struct workspace *ws);
/* Returns true if the file at the path of the lease has a type that no lease has, for example a
 * directory or a link. Also sets *why, whose message names the file. Such a file does not show
 * whether a process of the workspace lives, so lease_is_held() then returns true, to be safe. */
bool lease_is_damaged(const struct workspace *ws, struct error *why);
/* Waits until no process has the lease. ERR_TIMEOUT: the deadline (monotonic time in nanoseconds)
 * passed. */
int lease_wait_free(const struct workspace *ws, uint64_t deadline_ns, struct error *err);
/* Returns a descriptor with which the caller can wait until all processes that now hold the lease
 * have exited, even if the workspace is removed meanwhile. The caller closes the descriptor.
 * Returns -1 with an errno if no process holds the lease (ENOENT, ENXIO), or if the lease cannot be
 * opened. */
int lease_watch(const struct workspace *ws);
/* Returns true if the process `pid` has the lease that is open as `watch`, a descriptor from
 * lease_watch(). Returns false if that process does not have the lease, or if the caller may not
 * see its open files. A process without the lease cannot pretend to have it, even if it can write
 * to the workspace. On Linux, the lease is the only FIFO in the workspace, and nothing that runs in
 * the workspace can make another FIFO. A process that has the lease can close it, and then the
 * function returns false. */
bool lease_is_had_by(int watch, pid_t pid);
/* Returns true if a process belongs to the workspace: it has the lease that is open as `watch`, or
 * descends from a process that has it. bwrap is such a descendant, because it closes all
 * descriptors that it inherits. runtime.json does not prove that a process belongs to the
 * workspace: a live supervisor that was taken over can write the pid of any process into it. The
 * caller must hold a handle of the process (such as a pidfd), so that the pid is not reused. */
bool lease_covers(int watch, pid_t pid);
/* Waits as lease_wait_free() does, for the lease that is open as `watch`, a descriptor from
 * lease_watch(). */
int lease_wait_over(const struct workspace *ws, int watch, uint64_t deadline_ns, struct error *err);

/* --- quarantine_proof.c: the proof that a quarantined machine is cut off ---------------------- */

/* Opens the file of the proof. Makes the file if it is missing. Returns a descriptor, or -1 with
 * err set. A live supervisor must not have this descriptor: only its broker may. */
int quarantine_proof_open(const struct workspace *ws, struct error *err);
/* Gives the proof that the machine is cut off. The proof is valid until the last copy of the
 * descriptor `fd` is closed. The record that a proof was given stays longer than the proof:
 * workspace_state() returns STATE_QUARANTINED until quarantine_proof_take_back() is called. */
int quarantine_proof_give(int fd, struct error *err);
/* Returns true if a proof is currently valid. */
bool quarantine_proof_is_given(const struct workspace *ws);
/* Returns true if a proof was given and was not taken back. The proof need not be valid now. */
bool quarantine_proof_was_given(const struct workspace *ws);
/* Removes the record that a proof was given, after a command has asked to end the quarantine. The
 * caller has the command lock. */
int quarantine_proof_take_back(const struct workspace *ws, struct error *err);

/* Reads a JSON document of a workspace: "workspace.json", "event.json", "runtime.json",
 * "result.json"... The caller releases the document. Returns NULL with err set on failure.
 * ERR_NOT_FOUND: the file or the workspace does not exist. ERR_IO (REASON_WORKSPACE_DAMAGED): the
 * file is damaged, and the message has its full path. */
json_t *workspace_read(const struct workspace *ws, const char *file, struct error *err);
/* Sets ERR_IO (REASON_WORKSPACE_DAMAGED) for a caller that finds wrong contents in a document of a
 * workspace. The message has the document's full path and why->msg. `err` may be the same struct as
 * `why`. Returns -1. */
int workspace_damaged(const struct workspace *ws, const char *file, const struct error *why,
		      struct error *err);
enum store_sync { STORE_NO_SYNC, STORE_SYNC };
int workspace_write(const struct workspace *ws, const char *file, const json_t *value,
		    enum store_sync sync, struct error *err);
/* Syncs the document and its directory to the disk. After that, the document and the names of all
 * files in the directory survive a power failure. */
int workspace_sync(const struct workspace *ws, const char *file, struct error *err);

/* Reads the latest event (event.json) and the state in it. A workspace that does not exist has
 * STATE_UNKNOWN, and its event is NULL. If a proof shows that the machine was cut off
 * (quarantine_proof_give()), the state is STATE_QUARANTINED, whatever event.json contains. `event`
 * may be NULL; otherwise the caller releases *event. */
int workspace_state(const struct workspace *ws, enum state *state, json_t **event,
		    struct error *err);
/* Makes `event` the latest event. First adds it to events.json, and then writes event.json.
 * events.json has the last LIMIT_EVENTS_KEPT events, the oldest first. */
int workspace_record_event(const struct workspace *ws, const json_t *event, struct error *err);

/* The name of the file with the last recorded digest of the root file system. A start writes this
 * file when the guest gets the disk, and the command `prepare` removes it. */
#define ROOTFS_RECORD "rootfs.json"
/* Returns true if a guest got, or may have got, the root file system after the command `prepare`
 * recorded its digest, so that the guest may have changed the disk. The recorded state does not
 * show this, because stop, kill, halt and quarantine also change the state of a workspace that was
 * never started. */
bool workspace_was_started(const struct workspace *ws);

/* The name of a file that marks the directory of a workspace as unfinished: the workspace is being
 * made, and has no record yet (api/unfinished.c). */
#define WORKSPACE_MAKING ".making"

/* Removes a file or socket of the workspace. Succeeds if the file is missing. */
int workspace_remove_file(const struct workspace *ws, const char *file, struct error *err);
/* Removes the whole directory of the workspace, by descriptors and without following links. Also
 * removes the files that an earlier, killed call has left. Succeeds if the directory is missing.
 * ERR_CONFLICT: the directory has files that do not belong to a workspace, and nothing was
 * removed. */
int workspace_remove(struct workspace *ws, struct error *err);

/* Checks that nothing is mounted on the workspace's directory or below it. ERR_CONFLICT: there is
 * such a mount, and the message names it. Succeeds if the mounts cannot be read. */
int workspace_refuse_mounts(const struct workspace *ws, struct error *err);

/* --- trash.c: removals that may be killed at any step ----------------------------------------- */

/* Moves the file or directory `id` in `dir` into the trash, and removes it there with everything
 * below it, as path_remove_tree_at() does. If the file or directory cannot be moved, removes it at
 * its path. Succeeds if it does not exist. */
int trash_remove(const struct state_dir *dir, const char *id, struct error *err);
/* Removes the files of `id` that a killed trash_remove() has left in the trash. If another process
 * is removing these files, waits for that process for at most LIMIT_COMMAND_LOCK_MS, and succeeds
 * even if files remain. */
int trash_finish(const struct state_dir *dir, const char *id, struct error *err);
/* Returns true if the trash still has files of `id`. */
bool trash_has(const struct state_dir *dir, const char *id);
/* Removes everything in the trash, except what another process is removing. Calls `fn` for each
 * name. `why` is NULL if the files were removed, and the error otherwise. `fn` may be NULL. */
typedef void trash_fn(const char *id, const struct error *why, void *data);
void trash_sweep(const struct state_dir *dir, trash_fn *fn, void *data);

#endif
