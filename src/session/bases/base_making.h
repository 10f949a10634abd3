/* SPDX-License-Identifier: MIT */
/* A base in the making. The files that make a base share this header. */
#ifndef SESSION_BASE_MAKING_H
#define SESSION_BASE_MAKING_H

#include <sys/stat.h>

#include "session/bases/base.h"
#include "store/digests.h"

#define BASE_DEFAULT_MEMORY_MIB 256
#define BASE_DEFAULT_CPUS 1

struct making {
	const struct microagent *agent;
	const struct microagent_base_spec *spec;
	struct base_name base; /* the name of the base; the version is set when it is sealed */
	struct state_dir dir;  /* the directory of all bases */
	char name[32];	       /* name of the directory in the making */
	int fd;
	enum architecture architecture;
	struct cache_kernel kernel;
	struct cache_image image;
	json_t *provisioning; /* the record of the provisioning; NULL: the image was not
			       * provisioned */
	json_t *macos;	      /* the version and needs of a macOS guest; NULL: the guest is Linux */
	/* The path of the restore image that was fetched; NULL: none was fetched. */
	char *fetched;
	char *fetched_from; /* the address at Apple of `fetched`; NULL if `fetched` is NULL */
};

/* --- base_seal.c ----------------------------------------------------------------------------- */

/* Seals the base and gives its directory the final name. *base is the metadata with "path", which
 * the caller releases. */
int base_seal(struct making *m, json_t **base, struct error *err);

/* Makes a file read-only and syncs it. Sets *st and digest to its attributes and its digest. */
int base_seal_file(int dir, const char *name, struct stat *st, char digest[DIGEST_TEXT],
		   struct error *err);
/* Remembers the digest of a file in store/digests.h. The file is young, but only its maker has had
 * it open, so its digest is sure. If `digest` is NULL, it is not known, and the function does
 * nothing. */
void base_remember_sealed(int dir, const char *file, const char *digest);

/* Sets or clears the flag by which nobody can change a file. A failure is no error: the file system
 * may have no such flag, or this process may not set it. The file's mode protects the file in any
 * case. linux/immutable.c, darwin/immutable.c */
void file_set_immutable(int fd, bool on);

/* --- provision.c ----------------------------------------------------------------------------- */

/* Returns whether the spec asks for more than the unchanged image. */
bool provision_is_asked(const struct microagent_base_spec *spec);
/*
 * Boots a machine on the disk in the making, provisions it as the spec says, and shuts it down.
 * Afterwards only BASE_LOG and m->provisioning have traces of the machine. After a failure the log
 * is kept in <state>/logs, and the error names it.
 */
int provision(struct making *m, struct error *err);
/* Waits until the processes of a provisioning that was killed have ended. Must be called before
 * `dir` is removed. */
void provision_wait_gone(const char *dir);

#endif
