/* SPDX-License-Identifier: MIT */
/* What the guest is told of a container, out of its config: guest/container/contained.h has the
 * shape. */
#ifndef OCI_DESCRIBE_H
#define OCI_DESCRIBE_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "oci/config/config.h"

struct describe {
	const struct oci_config *config;
	const char *guest; /* the container's name there */
	bool of_pod;
	const char *sandbox; /* that of the first one of its machine; NULL: it is that itself */
	pid_t sandbox_pid;   /* whose namespaces a config may name */
	const char *share;   /* as of binds.h */
	const char *bundle;  /* absolute */
};

/* {"container":{...},"process":{...}}; what it needs of the host is mounted meanwhile. */
json_t *describe_container(const struct describe *describe, struct error *err);
/* The same of a further command: container is the name. seccomp: the config's, or NULL. */
json_t *describe_command(const struct oci_process *process, const json_t *seccomp,
			 const char *guest, struct error *err);
/* Limits as files of cgroup v2: {"memory.max":"1048576",...}. */
json_t *describe_limits(const struct oci_resources *resources, struct error *err);

/* Puts a list of strings; NULL is an empty one. */
int put_words(json_t *object, const char *key, const char *const *words, struct error *err);

#endif
