/* SPDX-License-Identifier: MIT */
/* Functions for the commands that install and build a kernel: both make an entry of the cache. */
#ifndef ARTIFACT_KERNEL_H
#define ARTIFACT_KERNEL_H

#include <stdbool.h>

#include "artifact/artifact.h"
#include "artifact/place.h"
#include "store/cache.h"

/* The names of the files in the scratch directory that become the entry. */
#define KERNEL_FILE "kernel"
#define MODULES_FILE "modules"
#define VMLINUX_FILE "vmlinux"

struct kernel_entry {
	const char *name; /* "debian-6.1.192-2" */
	const char *version;
	enum kernel_kind kind;
	bool modules; /* the scratch directory has MODULES_FILE */
	/* digest of the configuration that was built; NULL: unknown */
	const char *config_sha256;
	/* digest of the package with the kernel or with its source; NULL: none */
	const char *package_sha256;
	bool for_pvm;	     /* the user says that the kernel is built for a PVM (pvm.h) */
	const char *release; /* the output of `uname -r` in a guest; NULL: unknown */
	enum architecture architecture;
};

/* Finds an entry of the cache by its name, or by a kind of kernel: then the newest entry of that
 * kind for that architecture is found. Returns the name of the entry, which the caller frees.
 * Returns NULL if there is no such entry, or its kernel file is missing. */
char *kernel_installed(const char *name, enum architecture architecture);
/* Returns true if the entry with exactly that name was made from the package with that digest. A
 * name does not prove this, because another package can have the same name and version. An entry
 * without a recorded digest does not match. */
bool kernel_is_of(const char *name, enum architecture architecture, const char *package_sha256);
/* Makes the initrd and publishes the entry. */
int kernel_publish(const struct place *place, const struct kernel_entry *entry, const char *init,
		   struct error *err);
/* Rewrites every initrd of that architecture in the cache whose microagent-init differs from
 * `init`, and unpacks each kernel that is not unpacked yet. Sets *count to the number of initrds
 * unless `count` is NULL. */
int kernel_refresh_all(const char *init, enum architecture architecture, size_t *count,
		       struct error *err);
/* Prints the record of the kernel `name`, with its path, as the answer of a command. `what` says
 * what happened: "installed". */
int kernel_answer(const struct artifact_options *opts, const char *name, const char *what,
		  struct error *err);

#endif
