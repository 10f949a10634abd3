/* SPDX-License-Identifier: MIT */
#ifndef OCI_CREATE_H
#define OCI_CREATE_H

#include <stdbool.h>

#include "oci/oci.h"
#include "oci/standin.h"

struct create_options {
	const char *bundle, *pid_file, *console_socket;
};

/* Makes a container, whose program waits until the command `start` is run. Sets *standin to the
 * container's stand-in, a child of this process. After an error nothing of the container is
 * left. */
int create_container(const struct oci *oci, const char *id, const struct create_options *options,
		     struct standin *standin, struct error *err);
/* Writes `pid` as text to the file at `path`, which the option --pid-file names. */
int write_pid_file(const char *path, pid_t pid, struct error *err);

/* Removes everything that is left of a container that has ended or was never completed. Ends the
 * container's own machine; all other processes of the container must have ended. The caller holds
 * the lock of the record. Defined in cmd_kill.c. */
struct record;
int remove_container(struct record *record, struct error *err);
/* Removes a container like remove_container(), and then runs its poststop hooks. This is for a
 * container of which at least one hook was run. */
int dispose_container(struct record *record, struct error *err);
/* Kills the container with SIGKILL. First asks the stand-in to kill the container in the guest, so
 * that the output until then is not lost. */
int kill_standin(const struct record *record, struct error *err);
/* Returns {"ociVersion","id","status","pid","bundle",...}. The command `state` prints this object,
 * and hooks get it. The caller releases it. */
json_t *container_state(const struct record *record);

#endif
