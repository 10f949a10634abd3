/* SPDX-License-Identifier: MIT */
#ifndef OCI_CREATE_H
#define OCI_CREATE_H

#include <stdbool.h>

#include "oci/oci.h"
#include "oci/standin.h"

struct create_options {
	const char *bundle, *pid_file, *console_socket;
};

/* A container that waits for its start. The stand-in is a child of ours. On failure nothing is
 * left. */
int create_container(const struct oci *oci, const char *id, const struct create_options *options,
		     struct standin *standin, struct error *err);
/* What is written to a --pid-file. */
int write_pid_file(const char *path, pid_t pid, struct error *err);

/* cmd_kill.c: what is left of one that has ended; nothing of it lives. Also of one that was never
 * made whole. The lock is held. */
struct record;
int remove_container(struct record *record, struct error *err);
/* The same, and the poststop hooks then: of one whose hooks have been run, all of them or not. */
int dispose_container(struct record *record, struct error *err);
/* SIGKILL for the container. In order if it can be had: what the container
 * has said until then is not lost. */
int kill_standin(const struct record *record, struct error *err);
/* {"ociVersion","id","status","pid","bundle",...}, as state prints it and hooks are told. */
json_t *container_state(const struct record *record);

#endif
