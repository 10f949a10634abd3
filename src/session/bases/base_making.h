/* SPDX-License-Identifier: MIT */
/* A base in the making, shared by the files that make it. */
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
	json_t *provisioning; /* what was done to the image; NULL: nothing */
	json_t *macos;	      /* the guest's version and needs (macos/macos.h); NULL: a Linux */
	/* The fetched restore image; NULL: it is the user's, or there is none. */
	char *fetched;
	char *fetched_from; /* the address at Apple of `fetched`; NULL if `fetched` is NULL */
};

/* --- base_seal.c ----------------------------------------------------------------------------- */

/* Gives the directory its final name. *base is the metadata with "path". */
int base_seal(struct making *m, json_t **base, struct error *err);

/* Seals a file, so that nobody writes to it any more. Stores its state and digest. */
int base_seal_file(int dir, const char *name, struct stat *st, char digest[DIGEST_TEXT],
		   struct error *err);
/* Remembers the digest of a file although the file is young, because only its maker has had the
 * file. digest NULL: the digest is not known. */
void base_remember_sealed(int dir, const char *file, const char *digest);

/* Sets or clears the flag that lets nobody change a file. This works if the file system has the
 * flag and this process may set it. The file's mode protects it everywhere. linux/immutable.c,
 * darwin/immutable.c */
void file_set_immutable(int fd, bool on);

/* --- provision.c ----------------------------------------------------------------------------- */

/* Returns whether the spec asks for more than the unchanged image. */
bool provision_is_asked(const struct microagent_base_spec *spec);
/*
 * Boots a machine on the disk in the making, makes it do what the spec says, and switches it off.
 * Afterwards only BASE_LOG and m->provisioning are left of it. The message of a failure names the
 * log, which is in <state>/logs then.
 */
int provision(struct making *m, struct error *err);
/* Waits for the end of the processes of a killed provisioning that may still live. This must be
 * done before dir is removed. */
void provision_wait_gone(const char *dir);

#endif
