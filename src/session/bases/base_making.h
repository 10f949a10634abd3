/* SPDX-License-Identifier: MIT */
/* A base in the making, between the files that make it. */
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
	struct base_name base; /* its name; the version when it is sealed */
	struct state_dir dir;  /* bases */
	char name[32];	       /* of the directory */
	int fd;
	enum architecture architecture;
	struct cache_kernel kernel;
	struct cache_image image;
	json_t *provisioning; /* what was done to the image; NULL: nothing */
	json_t *macos;	      /* the guest's version and needs (macos/macos.h); NULL: a Linux */
	char *fetched;	      /* its restore image, which was fetched; NULL: the user's, or none */
	char *fetched_from;   /* the address of that at Apple; NULL as well */
};

/* --- base_seal.c ----------------------------------------------------------------------------- */

/* Gives the directory its name. *base is the metadata with "path". */
int base_seal(struct making *m, json_t **base, struct error *err);

/* Nobody writes to the file any more; its state and digest. */
int base_seal_file(int dir, const char *name, struct stat *st, char digest[DIGEST_TEXT],
		   struct error *err);
/* That is its digest, although it is young: nobody but its maker has had it. NULL: none is known.
 */
void base_remember_sealed(int dir, const char *file, const char *digest);

/* Sets or clears the flag that lets nobody change a file. Where the file system knows it and we
 * may set it; the mode holds everywhere. linux/immutable.c, darwin/immutable.c */
void file_set_immutable(int fd, bool on);

/* --- provision.c ----------------------------------------------------------------------------- */

/* Whether more is asked for than the image as it is. */
bool provision_is_asked(const struct microagent_base_spec *spec);
/*
 * Boots a machine on the disk in the making, has it do what the spec says, and switches it off.
 * What is left of it is BASE_LOG and m->provisioning. A failure's text names the log, which is in
 * <state>/logs then.
 */
int provision(struct making *m, struct error *err);
/* What of a provisioning that was killed may still live is waited for, before dir is removed. */
void provision_wait_gone(const char *dir);

#endif
