/* SPDX-License-Identifier: MIT */
/*
 * The record of a container: the directory <root>/<id>/, mode 0700. It has only files, so every
 * command finds it, also after a reboot, and if the bundle or the machine is gone.
 *
 *   state.json    the facts about the container; written once, by the command create
 *   control.sock  the socket at which the stand-in listens while it lives
 *   started       exists once the container's program was started
 *   paused        exists while the whole container is paused
 *   lock          locked by the command that makes or removes the container
 *
 * state.json is an object with these members:
 *
 *   id, bundle, rootfs, created, annotations, terminal
 *   bootID                      the boot of the host in which the container was made
 *   pid, startTime              the stand-in
 *   keeperPid, keeperStartTime  the keeper, if the container has its own
 *   owner                       the user
 *   machine                     the machine's workspace below RECORD_MACHINES
 *   guest                       the container's name in the guest
 *   owns                        true: the machine is the container's own
 *   sandbox                     else: the pod's first container, which has the machine
 *   cgroups                     the list of directories that were made for the container
 *   hooks                       the hooks of the config
 *   boot                        how the container's own machine is made
 */
#ifndef OCI_RECORD_H
#define OCI_RECORD_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/proc.h"
#include "oci/oci.h"

/* The layout of a state directory with sessions. */
#define RECORD_STATE ".machines"
#define RECORD_LIVING "sessions"
#define RECORD_MACHINES RECORD_STATE "/" RECORD_LIVING
#define RECORD_MACHINE "sandbox-"

#define RECORD_SHARES ".shares"
#define RECORD_ID_MAX 255 /* the longest name of a file */

enum oci_status { OCI_CREATING, OCI_CREATED, OCI_RUNNING, OCI_PAUSED, OCI_STOPPED };
extern const char *const oci_status_names[];

struct record {
	const struct oci *oci;
	char *id;
	int dir;       /* -1: none */
	int lock;      /* -1: not held */
	json_t *state; /* NULL: not written yet */
};
#define RECORD_NONE                   \
	{                             \
		.dir = -1, .lock = -1 \
	}

/* Makes a record and locks it. ERR_CONFLICT ("container with given ID already exists"): there is a
 * record with this id. */
int record_make(const struct oci *oci, const char *id, struct record *out, struct error *err);
/* Opens a record. ERR_NOT_FOUND ("container does not exist"): there is no such record. */
int record_open(const struct oci *oci, const char *id, struct record *out, struct error *err);
/* Opens the record of the container to which the machine belongs: the pod's first container, or
 * this container itself. */
int record_holder(const struct record *record, struct record *out, struct error *err);
/* Waits until no other command makes or removes the container, locks the record, and then reads its
 * state. ERR_NOT_FOUND: the container was removed during the wait. */
int record_lock(struct record *record, struct error *err);
int record_write(struct record *record, json_t *state, struct error *err); /* takes over state */
int record_remove(struct record *record, struct error *err);
void record_close(struct record *record); /* accepts RECORD_NONE */
#define autorecord __attribute__((cleanup(record_close)))

enum oci_status record_status(const struct record *record);
/* Returns the pid of the stand-in; 0 if the recorded stand-in does not run any more. */
pid_t record_pid(const struct record *record);
/* Returns the pid of the container's keeper; 0 if the recorded keeper does not run any more. */
pid_t record_keeper(const struct record *record);
/* Functions that hold the stand-in or the keeper by a descriptor, until proc_let_go(). A pid alone
 * could belong to another process when a signal is sent. ERR_NOT_FOUND: the process has ended. */
int record_hold(const struct record *record, struct proc *out, struct error *err);
int record_hold_keeper(const struct record *record, struct proc *out, struct error *err);
/* Returns the path of a file of the record. The caller frees it. */
char *record_path(const struct record *record, const char *file, struct error *err);
bool record_has(const struct record *record, const char *file);
int record_mark(const struct record *record, const char *file, bool there, struct error *err);
const char *record_text(const struct record *record, const char *key);
/* Returns the path of the directory of workspaces: the state directory for microagent_open(), in
 * which a machine's name is a workspace. The caller frees it. */
char *record_machines(const struct oci *oci, struct error *err);
/* Returns <root>/.shares/<machine>. The caller frees it. */
char *record_share(const struct oci *oci, const char *machine, struct error *err);

/* Writes a new name for a machine, in the form of a session's name: "sandbox-", the present time
 * in UTC, "-", 8 hexadecimal digits, and ".bundle". No name is ever used twice. */
#define MACHINE_NAME 48
int record_machine_name(const struct oci *oci, const char *id, char out[MACHINE_NAME],
			struct error *err);

/* Writes a new name by which the guest knows the container. No name is ever used twice, since the
 * guest caches the files that it has seen below a name for a while. */
#define GUEST_NAME 65
void record_guest_name(const struct oci *oci, const char *id, char out[GUEST_NAME]);

/* Returns the sorted ids of all records below root. The caller releases the result. */
json_t *record_list(const struct oci *oci, struct error *err);

#endif
