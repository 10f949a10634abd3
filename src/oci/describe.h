/* SPDX-License-Identifier: MIT */
/* Describes a container to the guest, from its config. guest/container/contained.h has the
 * shape. */
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
	const char *sandbox; /* the first container of the machine; NULL: this one */
	pid_t sandbox_pid;   /* its namespaces may be named in a config */
	const char *share;   /* the directory of binds.h */
	const char *bundle;  /* absolute */
};

/* Returns {"container":{...},"process":{...}}. Mounts what the container needs of the host. */
json_t *describe_container(const struct describe *describe, struct error *err);
/* Describes a further command; guest is the container's name there. seccomp is the config's filter,
 * or NULL. */
json_t *describe_command(const struct oci_process *process, const json_t *seccomp,
			 const char *guest, struct error *err);
/* Returns limits as files of cgroup v2: {"memory.max":"1048576",...}. */
json_t *describe_limits(const struct oci_resources *resources, struct error *err);

/* Puts a list of strings into object; NULL counts as an empty list. */
int put_words(json_t *object, const char *key, const char *const *words, struct error *err);

#endif
