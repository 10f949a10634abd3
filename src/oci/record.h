/* SPDX-License-Identifier: MIT */
/*
 * The record of a container: <root>/<id>/, mode 0700. It consists only of files, so that every
 * command finds it even if the bundle or the machine is gone, and after a reboot.
 *
 *   state.json    see below; written once, by create
 *   control.sock  the stand-in listens there as long as it lives
 *   started       exists once the program was let go
 *   paused        exists while the whole container is paused
 *   lock          held by the command that makes or removes the container
 *
 * {"id", "pid", "startTime": of the stand-in, "keeperPid", "keeperStartTime": if it has a keeper,
 * "bootID", "bundle", "rootfs", "created", "owner": the user, "annotations", "machine": its
 * workspace below RECORD_MACHINES, "guest": its name in the guest, "owns": the machine is its own,
 * "sandbox": otherwise the pod's first container, which has the machine, "cgroups": [made for it],
 * "hooks": of the config, "boot": how its own machine is made, "terminal"}
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
#define RECORD_ID_MAX 255 /* it is a file name */

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

/* Makes a record and locks it. Fails with ERR_CONFLICT, "container with given ID already
 * exists". */
int record_make(const struct oci *oci, const char *id, struct record *out, struct error *err);
/* Opens a record. Fails with ERR_NOT_FOUND, "container does not exist". */
int record_open(const struct oci *oci, const char *id, struct record *out, struct error *err);
/* Opens the record of the container that has the machine: the pod's first one, or this one. */
int record_holder(const struct record *record, struct record *out, struct error *err);
/* Waits until no other command makes or removes the container, locks it, and then reads its state.
 * Fails with ERR_NOT_FOUND if the container was removed in the meantime. */
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
/* Get a hold on the stand-in or on the keeper until proc_let_go(): its pid may belong to another
 * process by the time it is signalled. Fail with ERR_NOT_FOUND if the process has ended. */
int record_hold(const struct record *record, struct proc *out, struct error *err);
int record_hold_keeper(const struct record *record, struct proc *out, struct error *err);
/* Returns the path of a file of the record. The caller frees it. */
char *record_path(const struct record *record, const char *file, struct error *err);
bool record_has(const struct record *record, const char *file);
int record_mark(const struct record *record, const char *file, bool there, struct error *err);
const char *record_text(const struct record *record, const char *key);
/* Returns the path of the directory of workspaces, in which microagent_...() take the machine's
 * name. The caller frees it. */
char *record_machines(const struct oci *oci, struct error *err);
/* Returns <root>/.shares/<machine>. The caller frees it. */
char *record_share(const struct oci *oci, const char *machine, struct error *err);

/* Writes a machine's name in the form of a session's name: "sandbox-", the present time and 8
 * digits. No name is used twice. */
#define MACHINE_NAME 48
int record_machine_name(const struct oci *oci, const char *id, char out[MACHINE_NAME],
			struct error *err);

/* Writes a name by which the guest knows the container. No name is used twice, since the guest
 * remembers for a while what it has seen below a name. */
#define GUEST_NAME 65
void record_guest_name(const struct oci *oci, const char *id, char out[GUEST_NAME]);

/* Returns the ids below root, sorted. */
json_t *record_list(const struct oci *oci, struct error *err);

#endif
