/* SPDX-License-Identifier: MIT */
/*
 * The record of a container is the directory <root>/<id>/, mode 0700. The files in it have all that
 * commands need. So every command finds a container after a reboot too, and even if the bundle or
 * the machine no longer exists.
 *
 *   state.json    the facts about the container; written by the command create
 *   control.sock  the socket at which the stand-in listens
 *   started       exists if the container's program was started
 *   paused        exists while the whole container is paused
 *   lock          locked while a command makes or removes the container
 *
 * state.json is an object with these members:
 *
 *   id, bundle, rootfs, created, annotations, terminal
 *   bootID                      the id of the host's boot in which the container was made
 *   pid, startTime              the stand-in (standin.h) and the time at which it was started
 *   keeperPid, keeperStartTime  the keeper and its start time, if the container has its own machine
 *   owner                       the user, always "root"
 *   machine                     the name of the machine's workspace in RECORD_MACHINES
 *   guest                       the container's name in the guest
 *   owns                        true: the container has its own machine; false: it is in its pod's
 *   sandbox                     if `owns` is false: the id of the pod's first container
 *   cgroups                     the directories of cgroups that were made for the container
 *   hooks, seccomp, process     the values that the config has for the container
 *   boot                        how the container's own machine is made (standin_impl.h)
 */
#ifndef OCI_RECORD_H
#define OCI_RECORD_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/proc.h"
#include "oci/oci.h"

/* The directory RECORD_STATE below the root has the layout of a state directory of microagent(1).
 * Each machine is a session there. */
#define RECORD_STATE ".machines"
#define RECORD_LIVING "sessions"
#define RECORD_MACHINES RECORD_STATE "/" RECORD_LIVING
#define RECORD_MACHINE "sandbox-"

#define RECORD_SHARES ".shares"
#define RECORD_ID_MAX 255 /* the most bytes of an id, which is the name of a directory */

enum oci_status { OCI_CREATING, OCI_CREATED, OCI_RUNNING, OCI_PAUSED, OCI_STOPPED };
extern const char *const oci_status_names[];

struct record {
	const struct oci *oci;
	char *id;
	int dir;       /* a descriptor of the record's directory; -1: none */
	int lock;      /* the descriptor that holds the lock; -1: not held */
	json_t *state; /* the contents of state.json; NULL: not written yet */
};
#define RECORD_NONE                   \
	{                             \
		.dir = -1, .lock = -1 \
	}

/* Makes a record and locks it. ERR_CONFLICT ("container with given ID already exists"): a record
 * with this id exists. */
int record_make(const struct oci *oci, const char *id, struct record *out, struct error *err);
/* Opens a record and reads its state. Does not lock it. ERR_NOT_FOUND ("container does not exist"):
 * no record has this id. */
int record_open(const struct oci *oci, const char *id, struct record *out, struct error *err);
/* Opens the record of the container to which the machine belongs. In a pod this is the pod's first
 * container; otherwise it is the container of `record` itself. */
int record_holder(const struct record *record, struct record *out, struct error *err);
/* Waits until no other command makes or removes the container, locks the record, and then reads its
 * state. ERR_NOT_FOUND: the container was removed during the wait. */
int record_lock(struct record *record, struct error *err);
/* Writes state.json. Takes over the reference to `state`. */
int record_write(struct record *record, json_t *state, struct error *err);
int record_remove(struct record *record, struct error *err);
void record_close(struct record *record); /* accepts RECORD_NONE */
#define autorecord __attribute__((cleanup(record_close)))

enum oci_status record_status(const struct record *record);
/* Returns the pid of the stand-in; 0 if the recorded stand-in does not run any more. */
pid_t record_pid(const struct record *record);
/* Returns the pid of the container's keeper; 0 if the recorded keeper does not run any more. */
pid_t record_keeper(const struct record *record);
/* Open a pidfd of the stand-in or of the keeper; proc_let_go() closes the pidfd. A signal through
 * the pidfd cannot reach another process that gets the same pid later. ERR_NOT_FOUND: the process
 * has ended. */
int record_hold(const struct record *record, struct proc *out, struct error *err);
int record_hold_keeper(const struct record *record, struct proc *out, struct error *err);
/* Returns the path of the file `file` of the record. The caller frees the path. */
char *record_path(const struct record *record, const char *file, struct error *err);
bool record_has(const struct record *record, const char *file);
int record_mark(const struct record *record, const char *file, bool there, struct error *err);
const char *record_text(const struct record *record, const char *key);
/* Returns the path of the directory that has the workspaces of all machines. It is the state
 * directory for microagent_open(). The caller frees the path. */
char *record_machines(const struct oci *oci, struct error *err);
/* Returns the path <root>/.shares/<machine>. The caller frees the path. */
char *record_share(const struct oci *oci, const char *machine, struct error *err);

/* Writes a new name for a machine, in the form of a session's name: "sandbox-", the time in UTC,
 * "-", 8 hexadecimal digits, and ".bundle". No name is ever used twice. */
#define MACHINE_NAME 48
int record_machine_name(const struct oci *oci, const char *id, char out[MACHINE_NAME],
			struct error *err);

/* Writes a new name by which the guest knows the container. No name is ever used twice, since the
 * guest caches the files that it has seen below a name for a while. */
#define GUEST_NAME 65
void record_guest_name(const struct oci *oci, const char *id, char out[GUEST_NAME]);

/* Returns the ids of all records below the root, sorted. The caller releases the result. */
json_t *record_list(const struct oci *oci, struct error *err);

#endif
