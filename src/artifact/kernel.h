/* SPDX-License-Identifier: MIT */
/* What installing and building a kernel have in common: the entry that comes of it. */
#ifndef ARTIFACT_KERNEL_H
#define ARTIFACT_KERNEL_H

#include <stdbool.h>

#include "artifact/artifact.h"
#include "artifact/place.h"
#include "store/cache.h"

/* Files in the scratch directory under these names become the entry. */
#define KERNEL_FILE "kernel"
#define MODULES_FILE "modules"
#define VMLINUX_FILE "vmlinux"

struct kernel_entry {
	const char *name; /* "debian-6.1.192-2" */
	const char *version;
	enum kernel_kind kind;
	bool modules;		    /* MODULES_FILE is there */
	const char *config_sha256;  /* of the configuration it was built from; NULL: unknown */
	const char *package_sha256; /* of the package that it, or its source, was in; NULL: none */
	bool for_pvm;		    /* the user says that it is built for a PVM (pvm.h) */
	const char *release;	    /* what `uname -r` says in it; NULL: unknown */
	enum architecture architecture;
};

/* The name of the cache's entry of that name, or of the newest of the kind of that name for that
 * architecture, if its kernel is really there; NULL. malloc'd. */
char *kernel_installed(const char *name, enum architecture architecture);
/* Whether the entry of exactly that name was made of that package. Another package can have the
 * same name and version: what is recorded without its digest is of none. */
bool kernel_is_of(const char *name, enum architecture architecture, const char *package_sha256);
/* Makes the initrd and publishes the entry. */
int kernel_publish(const struct place *place, const struct kernel_entry *entry, const char *init,
		   struct error *err);
/* Rewrites every initrd of that architecture in the cache whose microagent-init is another one than
 * init, and unpacks what is not unpacked yet. *count, if not NULL, is their number. */
int kernel_refresh_all(const char *init, enum architecture architecture, size_t *count,
		       struct error *err);
/* The record of <name> with its path; prints it as the answer of a command. what: "installed". */
int kernel_answer(const struct artifact_options *opts, const char *name, const char *what,
		  struct error *err);

#endif
