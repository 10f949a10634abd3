/* SPDX-License-Identifier: MIT */
/* A base that is being made. The files that make a base share this header. */
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
	struct base_name base; /* the base's name; its version is set when the base is sealed */
	struct state_dir dir;  /* the directory that contains all bases */
	char name[32];	       /* name of the directory of the unfinished base */
	int fd;
	enum architecture architecture;
	struct cache_kernel kernel;
	struct cache_image image;
	json_t *provisioning; /* the record of the provisioning; NULL: the image was not
			       * provisioned */
	json_t *macos;	      /* the version of a macOS guest, and the memory and processors that it
			       * needs; NULL: the guest is Linux */
	/* The path of the restore image that was downloaded; NULL: no restore image was
	 * downloaded. */
	char *fetched;
	char *fetched_from; /* the address at Apple from which `fetched` was downloaded; NULL if
			     * `fetched` is NULL */
};

/* --- base_seal.c ----------------------------------------------------------------------------- */

/* Seals the base and gives its directory the final name. Sets *base to the metadata with the member
 * "path". The caller releases *base. */
int base_seal(struct making *m, json_t **base, struct error *err);

/* Makes a file read-only and syncs it. Sets *st to the file's attributes, and digest to its
 * digest. */
int base_seal_file(int dir, const char *name, struct stat *st, char digest[DIGEST_TEXT],
		   struct error *err);
/* Remembers the digest of a file (store/digests.h). Digests of new files are usually not
 * remembered, because a writer may still have the file open. This file was open only in this
 * process, so its digest is certain. If `digest` is NULL, does nothing. */
void base_remember_sealed(int dir, const char *file, const char *digest);

/* Sets or clears the immutable flag of a file, with which nobody can change the file. A failure is
 * ignored, because the file system may have no such flag, or this process may lack the right to set
 * the flag. The file's mode protects the file also without the flag. The function is in
 * linux/immutable.c and darwin/immutable.c. */
void file_set_immutable(int fd, bool on);

/* --- provision.c ----------------------------------------------------------------------------- */

/* Returns true if the spec asks for any change of the image. */
bool provision_is_asked(const struct microagent_base_spec *spec);
/*
 * Boots a machine on the disk of the unfinished base, provisions the disk as the spec says, and
 * shuts the machine down. Afterwards only the file BASE_LOG and m->provisioning have records of the
 * machine. After a failure, the log is kept in <state>/logs, and the error names it.
 */
int provision(struct making *m, struct error *err);
/* Waits until the processes of a killed provisioning have exited. Must be called before the
 * directory `dir` is removed, because these processes still write to files in it. */
void provision_wait_gone(const char *dir);

#endif
