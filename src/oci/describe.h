/* SPDX-License-Identifier: MIT */
/* Functions that make the description of a container for the guest, from the container's config.
 * guest/container/contained.h defines the form of the description. */
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
	/* The guest's name of the pod's first container, which has the machine. NULL: this
	 * container has its own machine. */
	const char *sandbox;
	/* The pid of the stand-in of the pod's first container; 0: this container is the first, or
	 * has no pod. A config may name the namespaces of the stand-in. */
	pid_t sandbox_pid;
	const char *share;  /* the path of the directory that the machine sees (binds.h) */
	const char *bundle; /* the absolute path of the bundle */
};

/* Returns {"container":{...},"process":{...}}, which the caller releases. Also mounts the
 * directories and files of the host that the container needs, below describe->share. */
json_t *describe_container(const struct describe *describe, struct error *err);
/* Returns the description of a further command in a container. The caller releases it. `guest` is
 * the container's name in the guest. `seccomp` is the system call filter of the config; NULL:
 * none. */
json_t *describe_command(const struct oci_process *process, const json_t *seccomp,
			 const char *guest, struct error *err);
/* Returns an object whose names are files of cgroup v2 and whose values are the contents of these
 * files: {"memory.max":"1048576",...}. The caller releases the result. */
json_t *describe_limits(const struct oci_resources *resources, struct error *err);

/* Puts `words`, an array that ends with NULL, into `object` as a list of strings. If `words` is
 * NULL, the list is empty. */
int put_words(json_t *object, const char *key, const char *const *words, struct error *err);

#endif
