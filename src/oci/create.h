/* SPDX-License-Identifier: MIT */
#ifndef OCI_CREATE_H
#define OCI_CREATE_H

#include <stdbool.h>

#include "oci/oci.h"
#include "oci/standin.h"

struct create_options {
	const char *bundle, *pid_file, *console_socket;
};

/* Makes a container that waits for its start. The stand-in is a child of this process. On failure
 * nothing is left. */
int create_container(const struct oci *oci, const char *id, const struct create_options *options,
		     struct standin *standin, struct error *err);
/* Writes a --pid-file. */
int write_pid_file(const char *path, pid_t pid, struct error *err);

/* Removes what is left of a container that has ended or was never completed; none of its processes
 * may be alive. The caller holds the lock. Defined in cmd_kill.c. */
struct record;
int remove_container(struct record *record, struct error *err);
/* Removes a container like remove_container(), and then runs its poststop hooks. It is for a
 * container of which some or all hooks have been run. */
int dispose_container(struct record *record, struct error *err);
/* Kills the container with SIGKILL. First tries to kill it in order, so that its output until then
 * is not lost. */
int kill_standin(const struct record *record, struct error *err);
/* Returns {"ociVersion","id","status","pid","bundle",...}, as `state` prints it and hooks get
 * it. */
json_t *container_state(const struct record *record);

#endif
