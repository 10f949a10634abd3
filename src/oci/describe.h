/* SPDX-License-Identifier: MIT */
/* Functions that make the description of a container for the guest, from its config.
 * guest/container/contained.h has the form of the description. */
#ifndef OCI_DESCRIBE_H
#define OCI_DESCRIBE_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "oci/config/config.h"

struct describe {
	const struct oci_config *config;
	const char *guest; /* the container's name in the guest */
	bool of_pod;
	/* The id of the machine's first container; NULL: this container is the first. */
	const char *sandbox;
	/* The pid of the stand-in of `sandbox`: a config may name the namespaces of this
	 * process. */
	pid_t sandbox_pid;
	const char *share;  /* the machine's directory of binds.h */
	const char *bundle; /* absolute */
};

/* Returns {"container":{...},"process":{...}}, which the caller releases. Mounts the directories
 * and files of the host that the container needs below the share. */
json_t *describe_container(const struct describe *describe, struct error *err);
/* Returns the description of a further command in a container, which the caller releases. `guest`
 * is the container's name in the guest. `seccomp` is the config's filter; NULL: none. */
json_t *describe_command(const struct oci_process *process, const json_t *seccomp,
			 const char *guest, struct error *err);
/* Returns the limits as names and contents of files of cgroup v2: {"memory.max":"1048576",...}. The
 * caller releases the result. */
json_t *describe_limits(const struct oci_resources *resources, struct error *err);

/* Puts a list of strings into `object`; NULL counts as an empty list. */
int put_words(json_t *object, const char *key, const char *const *words, struct error *err);

#endif
