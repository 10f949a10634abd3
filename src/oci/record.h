/* SPDX-License-Identifier: MIT */
/*
 * What is known of a container: <root>/<id>/, 0700, of files alone, so that every command finds it
 * with the bundle gone, with the machine gone, after a reboot.
 *
 *   state.json    as below; written once, by create
 *   control.sock  the stand-in listens there as long as it lives
 *   started       there is one when the program was let go
 *   paused        ... while all of it stands still
 *   lock          held by who makes or removes it
 *
 * {"id", "pid", "startTime": of the stand-in, "keeperPid", "keeperStartTime": where it has one,
 * "bootID", "bundle", "rootfs", "created", "owner": the user, "annotations", "machine": its
 * workspace below RECORD_MACHINES, "guest": its name in there, "owns": the machine is its own,
 * "sandbox": the pod's first, whose machine it is else, "cgroups": [made for it], "hooks": of the
 * config, "boot": how its own machine is made, "terminal"}
 */
#ifndef OCI_RECORD_H
#define OCI_RECORD_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/proc.h"
#include "oci/oci.h"

/* As a state directory with sessions is laid out. */
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

/* Makes it, and holds the lock. ERR_CONFLICT: "container with given ID already exists". */
int record_make(const struct oci *oci, const char *id, struct record *out, struct error *err);
/* ERR_NOT_FOUND: "container does not exist". */
int record_open(const struct oci *oci, const char *id, struct record *out, struct error *err);
/* Of the one that has the machine: a pod's first, or this one. */
int record_holder(const struct record *record, struct record *out, struct error *err);
/* Waits until no other command makes or removes it, and reads the state that it is in then.
 * ERR_NOT_FOUND: removed meanwhile. */
int record_lock(struct record *record, struct error *err);
int record_write(struct record *record, json_t *state, struct error *err); /* state is stolen */
int record_remove(struct record *record, struct error *err);
void record_close(struct record *record); /* accepts RECORD_NONE */
#define autorecord __attribute__((cleanup(record_close)))

enum oci_status record_status(const struct record *record);
/* Of the stand-in, if it is the one that was recorded; 0. */
pid_t record_pid(const struct record *record);
/* Of its keeper, likewise. */
pid_t record_keeper(const struct record *record);
/* Either of them in hand, until proc_let_go(): its number may be another's by the time that it is
 * signalled. ERR_NOT_FOUND: it has ended. */
int record_hold(const struct record *record, struct proc *out, struct error *err);
int record_hold_keeper(const struct record *record, struct proc *out, struct error *err);
/* The path of a file of it, malloc'd. */
char *record_path(const struct record *record, const char *file, struct error *err);
bool record_has(const struct record *record, const char *file);
int record_mark(const struct record *record, const char *file, bool there, struct error *err);
const char *record_text(const struct record *record, const char *key);
/* The machine's workspace, opened: microagent_...() take the name; malloc'd path of its directory
 * of workspaces. */
char *record_machines(const struct oci *oci, struct error *err);
/* <root>/.shares/<machine>, malloc'd. */
char *record_share(const struct oci *oci, const char *machine, struct error *err);

/* "sandbox-", when this is, and 8 digits, in the form of a session's: none is used twice. */
#define MACHINE_NAME 48
int record_machine_name(const struct oci *oci, const char *id, char out[MACHINE_NAME],
			struct error *err);

/* A name by which the guest knows the container. It remembers for a while what it has seen below
 * that, so that none is used twice. */
#define GUEST_NAME 65
void record_guest_name(const struct oci *oci, const char *id, char out[GUEST_NAME]);

/* The ids below root, sorted. */
json_t *record_list(const struct oci *oci, struct error *err);

#endif
