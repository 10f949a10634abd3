/* SPDX-License-Identifier: MIT */
/*
 * A state directory and the workspaces in it: only files, no processes. Everything that is true of
 * a workspace is in its directory. The lease tells whether something of the workspace is alive. The
 * command lock tells who may change the record now. Every file is replaced whole (temp file +
 * rename). Files have mode 0600, directories 0700.
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
 * ERR_NOT_FOUND. Refuses a directory of another user, a directory that group or others can write,
 * and a file that is no directory. With `create`, or if something of ours is in the directory
 * already, guests are kept out of it from here on (own_dirs.h). Otherwise a directory of something
 * else stays unchanged.
 */
int state_dir_open(const char *path, bool create, struct state_dir *out, struct error *err);
/* Returns 0 if this process has the rights to write into <path>, or into the nearest existing
 * directory above <path>; else -1, with ERR_DENIED if rights are missing. Writes nothing. */
int state_dir_check_place(const char *path, struct error *err);
/* Opens a directory inside a state directory like state_dir_open(). It gets no marker, since the
 * marker of the state directory keeps guests out of both (own_dirs.h). within is that state
 * directory if it is open, else NULL. */
int state_dir_open_part(const char *path, bool create, const struct state_dir *within,
			struct state_dir *out, struct error *err);
void state_dir_close(struct state_dir *dir); /* accepts a zeroed one */
#define auto_state_dir __attribute__((cleanup(state_dir_close)))
/* Returns the path of the state directory: `option` (--state-dir), else $MICROAGENT_STATE_DIR, else
 * ~/.microagent. The path is absolute, and the caller frees it. */
char *state_dir_default(const char *option, struct error *err);
/* Returns a sorted JSON array of the names of workspaces. These are directories with a
 * workspace.json or an event.json. Foreign files and reserved names are skipped. */
json_t *state_dir_list(const struct state_dir *dir, struct error *err);
bool runtime_id_is_reserved(const char *id); /* runtime_id_taken() */
/*
 * Calls flock(fd, operation) and waits until the deadline (monotonic; UINT64_MAX for none).
 * ERR_TIMEOUT: the deadline passed. `what` names the locked thing in the message. The lock belongs
 * to the open file description of fd, as always with flock.
 */
int flock_until(int fd, int operation, uint64_t deadline_ns, const char *what, struct error *err);

struct workspace {
	const struct state_dir *dir;
	char *id;
	int fd; /* descriptor of <stateDir>/<id>; -1 while the directory does not exist */
};
/* Opens a workspace. If the workspace is absent, out->fd stays -1 unless create is set. */
int workspace_open(const struct state_dir *dir, const char *id, bool create, struct workspace *out,
		   struct error *err);
void workspace_close(struct workspace *ws); /* accepts a zeroed one */
#define auto_workspace __attribute__((cleanup(workspace_close)))
/* Returns whether the directory exists and is a workspace, which may be unfinished. Otherwise the
 * directory may belong to something else. */
bool workspace_is_recorded(const struct workspace *ws);
char *workspace_path(const struct workspace *ws, const char *file, struct error *err);

/*
 * Takes the command lock <stateDir>/.locks/<id>, an exclusive flock. It is held only to read the
 * state, to check the table, to write the transitional state and to signal; never while waiting.
 * Waits until the lock is free, or until deadline_ns (monotonic). Returns a descriptor, which the
 * caller closes. The lock's file is removed with its workspace.
 */
int workspace_lock(const struct state_dir *dir, const char *id, uint64_t deadline_ns,
		   struct error *err);
/* Takes the command lock of a workspace that was opened without the lock. ERR_NOT_FOUND: the
 * workspace has been removed since, and the lock's file is removed too. */
int workspace_lock_opened(const struct workspace *ws, uint64_t deadline_ns, struct error *err);
/* Returns whether the directory of locks exists. Without it no workspace of the state directory is
 * locked or being made. */
bool state_dir_has_locks(const struct state_dir *dir);
/* Removes the lock's file. Only the holder of the lock may call this, as the last step before it
 * gives the lock back: from here on another process may hold a new lock. If the removal fails, an
 * empty file is left. */
void workspace_lock_remove(const struct state_dir *dir, const char *id);

/* Fails if the file system of fd has less free space than a machine needs to start
 * (LIMIT_STATE_FREE_BYTES). `what` names the things that lie there, for the error. */
int state_require_room(int fd, const char *what, struct error *err);

/* The name of the guard: a process that holds a lease until all other holders are gone. Messages to
 * people do not name it as a holder. */
#define LEASE_GUARD "ma-guard"
/* Room for "guard <device>:<inode>", two hexadecimal numbers, and the final NUL. */
#define LEASE_GUARD_ROLE 48
/* Writes the words that stand in the title of a workspace's guard before the workspace's path. The
 * words have the device and inode numbers of the workspace's directory, so that nobody has to
 * follow a path which another process wrote into its own title. Returns -1 if the directory cannot
 * be looked at. */
int lease_guard_role(const struct workspace *ws, char out[LEASE_GUARD_ROLE], struct error *err);

/*
 * The lease <dir>/lease is a FIFO, and every process of the workspace inherits a reading end of it.
 * On macOS it is a file with a lock that all of these processes inherit. While a process has the
 * lease, something of the workspace lives.
 */
struct lease {
	int life; /* the descriptor that other processes inherit */
	/* The lock of the process that took the lease; two processes can never both have it. */
	int lock;
};
#define LEASE_NONE                     \
	{                              \
		.life = -1, .lock = -1 \
	}
/* Takes the lease. ERR_CONFLICT: the lease is held. */
int lease_take(const struct workspace *ws, struct lease *out, struct error *err);
void lease_drop(struct lease *lease); /* accepts LEASE_NONE, and sets it */
#define auto_lease __attribute__((cleanup(lease_drop)))
bool lease_is_held(const struct workspace *ws);
/* Returns whether the file in the place of the lease has a type that no lease has, for example a
 * directory or a link. Such a file does not tell who lives, and the lease counts as held then. why
 * names the file. */
bool lease_is_damaged(const struct workspace *ws, struct error *why);
/* Waits until the lease is free. ERR_TIMEOUT: the deadline passed. */
int lease_wait_free(const struct workspace *ws, uint64_t deadline_ns, struct error *err);
/* Returns a descriptor by which the caller can wait for the end of the present holders of the
 * lease. The wait also works if the workspace is removed before. Returns -1 if nobody holds the
 * lease. */
int lease_watch(const struct workspace *ws);
/* Returns whether the process has the lease that lease_watch() gave, as far as this process can see
 * the other's open files. Even a process that can write to the workspace cannot pretend to have the
 * lease: on Linux the workspace has no other FIFO, and nobody who runs in the workspace can make
 * one. A process that has the lease can close it. */
bool lease_is_had_by(int watch, pid_t pid);
/* Returns whether a process belongs to the workspace: it has the lease, or descends from a process
 * that has the lease. bwrap is such a descendant, since it closes what it inherits. runtime.json
 * does not tell this: the live supervisor writes it, and a live supervisor that was taken over can
 * name any process of the host in it. The caller holds a handle of the process. */
bool lease_covers(int watch, pid_t pid);
/* Waits like lease_wait_free(), but for the lease that lease_watch() gave. */
int lease_wait_over(const struct workspace *ws, int watch, uint64_t deadline_ns, struct error *err);

/* --- quarantine_proof.c: what proves that the machine of a workspace is cut off, as quarantine wants it --- */

/* Opens the file of the proof, which is made if it is missing. Only the broker of a live supervisor
 * keeps the descriptor. */
int cut_proof_open(const struct workspace *ws, struct error *err);
/* Gives the proof, which holds until the last copy of the descriptor is closed. Once the proof was
 * given, workspace_state() says that the workspace is quarantined, until cut_proof_take_back(). */
int cut_proof_give(int fd, struct error *err);
bool cut_proof_is_given(const struct workspace *ws);
bool cut_proof_was_given(const struct workspace *ws);
/* Takes the proof back when somebody has asked to end the quarantine. The caller has the command
 * lock. */
int cut_proof_take_back(const struct workspace *ws, struct error *err);

/* Reads a JSON document of a workspace: "workspace.json", "event.json", "runtime.json",
 * "result.json"... Returns NULL with ERR_NOT_FOUND if the file is absent. A bad file gives ERR_IO,
 * and the message has its full path. */
json_t *workspace_read(const struct workspace *ws, const char *file, struct error *err);
/* Sets ERR_IO for a caller that finds the contents of such a file wrong. The message has the full
 * path, why->msg and the next step. err may be why. */
int workspace_damaged(const struct workspace *ws, const char *file, const struct error *why,
		      struct error *err);
enum store_sync { STORE_NO_SYNC, STORE_SYNC };
int workspace_write(const struct workspace *ws, const char *file, const json_t *value,
		    enum store_sync sync, struct error *err);
/* Makes the document survive a loss of power from here on, and every other name in its directory
 * too. */
int workspace_sync(const struct workspace *ws, const char *file, struct error *err);

/* Reads the latest event (event.json) and its state. An absent workspace has STATE_UNKNOWN, and its
 * event is NULL. */
int workspace_state(const struct workspace *ws, enum state *state, json_t **event,
		    struct error *err);
/* Makes event the latest event. Writes events.json (an array, oldest first, LIMIT_EVENTS_KEPT),
 * then event.json. */
int workspace_record_event(const struct workspace *ws, const json_t *event, struct error *err);

/* The file with the last digest of the root file system. It is written when a guest gets the disk,
 * and removed by each prepare. */
#define ROOTFS_RECORD "rootfs.json"
/* Returns whether a guest has got, or may have got, the root file system since prepare recorded its
 * digest. The disk belongs to the guest then. The state does not tell this, since stop, kill, halt
 * and quarantine also change the state of a workspace that was never started. */
bool workspace_was_started(const struct workspace *ws);

/* A file in a directory that is being made and has no record yet (api/unfinished.c). */
#define WORKSPACE_MAKING ".making"

/* Removes a file or socket of the workspace. Returns success if the file is missing. */
int workspace_remove_file(const struct workspace *ws, const char *file, struct error *err);
/* Removes the whole directory, by descriptor and without following links. Removes also what an
 * earlier call that was killed has left. Returns success if the directory is missing. */
int workspace_remove(struct workspace *ws, struct error *err);

/* Fails with ERR_CONFLICT if something is mounted on the workspace's directory or below it. The
 * message names the mount. */
int workspace_refuse_mounts(const struct workspace *ws, struct error *err);

/* --- trash.c: a removal that is killed leaves nothing under the name ---------------------------
 */

/* Removes dir/id and everything below, like path_remove_tree_at(). Returns success if it is
 * missing. */
int trash_remove(const struct state_dir *dir, const char *id, struct error *err);
/* Removes what a killed trash_remove() has left of id, unless another process is removing it now.
 */
int trash_finish(const struct state_dir *dir, const char *id, struct error *err);
bool trash_has(const struct state_dir *dir, const char *id);
/* Calls trash_finish() for everything in the trash. fn (may be NULL) is told what was removed, or
 * why it was not. */
typedef void trash_fn(const char *id, const struct error *why, void *data);
void trash_sweep(const struct state_dir *dir, trash_fn *fn, void *data);

#endif
