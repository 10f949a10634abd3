/* SPDX-License-Identifier: MIT */
/* Functions for the commands kernel-install and kernel-build. Both commands make an entry of the
 * cache. */
#ifndef ARTIFACT_KERNEL_H
#define ARTIFACT_KERNEL_H

#include <stdbool.h>

#include "artifact/artifact.h"
#include "artifact/place.h"
#include "store/cache.h"

/* The names of files in the scratch directory. These files become the files of the entry. */
#define KERNEL_FILE "kernel"
#define MODULES_FILE "modules"
#define VMLINUX_FILE "vmlinux"

struct kernel_entry {
	const char *name; /* "debian-6.1.192-2" */
	const char *version;
	enum kernel_kind kind;
	bool modules; /* the scratch directory has MODULES_FILE */
	/* digest of the configuration that the kernel was built with; NULL: unknown */
	const char *config_sha256;
	/* digest of the package with the kernel or with its source; NULL: the kernel is not from a
	 * package */
	const char *package_sha256;
	bool for_pvm;	     /* the user says that the kernel is built for a PVM (pvm.h) */
	const char *release; /* the output of `uname -r` in a guest; NULL: unknown */
	enum architecture architecture;
};

/* Finds a kernel in the cache. `name` is the name of an entry, or the name of a kind of kernel. For
 * a kind, finds the newest entry of this kind for `architecture`. Returns the name of the entry,
 * which the caller frees. Returns NULL if the cache has no such entry, or if the entry's kernel
 * file is missing. */
char *kernel_installed(const char *name, enum architecture architecture);
/* Returns true if the entry `name` was made from the package with the digest package_sha256.
 * Comparing names is not enough, because another package can have the same name and version.
 * Returns false if no digest is recorded. */
bool kernel_is_of(const char *name, enum architecture architecture, const char *package_sha256);
/* Makes the initrd, and publishes the entry in the cache. */
int kernel_publish(const struct place *place, const struct kernel_entry *entry, const char *init,
		   struct error *err);
/* Rewrites every initrd for `architecture` in the cache that contains a microagent-init other than
 * `init`. Also unpacks each kernel that is not unpacked yet. Sets *count to the number of rewritten
 * initrds; `count` may be NULL. */
int kernel_refresh_all(const char *init, enum architecture architecture, size_t *count,
		       struct error *err);
/* Prints the answer of a command: the record and the path of the kernel `name`. `what` is a
 * participle for the answer's text, such as "installed". */
int kernel_answer(const struct artifact_options *opts, const char *name, const char *what,
		  struct error *err);

#endif
