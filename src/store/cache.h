/* SPDX-License-Identifier: MIT */
/*
 * The cache of kernels and images, outside every state directory. Its root is
 * ${MICROAGENT_CACHE_DIR:-${XDG_CACHE_HOME:-~/.cache}/microagent}; in it
 *
 *   kernels/<name>           the kernel
 *   kernels/<name>.initrd    what boots with it: the modules, then microagent-init
 *   kernels/<name>.modules   the initrd's first part; absent for a kernel without modules
 *   kernels/<name>.json      the record
 *   images/<name>.ext4       a raw file system
 *   images/<name>.json       the record
 *   initrds/<sha256>.initrd  microagent-init alone, whose digest the name is: for kernels that have
 *                            no initrd beside them; without a record
 *
 * The record is written last and replaced whole: an entry without one is not listed. This file
 * only reads; microagent-artifact installs and builds. Nothing here hashes: a sha256 is the
 * recorded one.
 *
 * Lists have what is for the host's own architecture first, and of each the default first. Kernels:
 * tuned before debian before custom, newest version first. Images: busybox first, then by name.
 *
 * Entries of both architectures are in one cache: those for arm64 have names that end in "-arm64".
 * A record without an architecture is an older program's, and for amd64.
 */
#ifndef STORE_CACHE_H
#define STORE_CACHE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/architecture.h"
#include "base/error.h"

#define CACHE_DEFAULT_IMAGE "busybox"

enum kernel_kind {
	KERNEL_TUNED,  /* kernel build: everything built in, the initrd holds init alone */
	KERNEL_DEBIAN, /* kernel install: Debian's cloud kernel and the modules it needs */
	KERNEL_CUSTOM, /* kernel install --from, or a path of the user's */
	KERNEL_KIND_COUNT
};
const char *kernel_kind_name(enum kernel_kind kind); /* "tuned", "debian", "custom" */

struct cache_kernel {
	char *name;    /* "tuned-6.1.192-2"; the last component for a path of the user's */
	char *path;    /* absolute */
	char *initrd;  /* absolute; NULL: there is none beside the kernel */
	char *modules; /* absolute; NULL: none */
	char *vmlinux; /* the kernel unpacked; absolute; NULL: none */
	char *version; /* NULL when not recorded */
	/* Recorded digests, lower-case hex; "" when not recorded. */
	char sha256[65];	/* of path */
	char initrd_sha256[65]; /* of initrd */
	char vmlinux_sha256[65];
	char init_sha256[65];	 /* of the microagent-init in initrd */
	char config_sha256[65];	 /* of the configuration fragment of a tuned one */
	char package_sha256[65]; /* of the Debian package that it, or its source, was in */
	enum kernel_kind kind;
	/* Of a path of the user's, what the file says; ARCHITECTURE_COUNT where it says none. */
	enum architecture architecture;
	bool cached;  /* false: a path of the user's */
	bool for_pvm; /* recorded as built for a paravirtual KVM (kvm_pvm) */
};
struct cache_kernels {
	struct cache_kernel *items; /* the default first */
	size_t count;
};

struct cache_image {
	char *name; /* "busybox" */
	char *path; /* absolute; always to be taken as a raw disk, never probed */
	char *user; /* recorded user; NULL: none */
	/* Of an imported one: what runs in it by default, arrays of strings and an object of
	 * strings, the working directory, where it came from and the manifest's digest. Each NULL
	 * when not recorded. */
	json_t *entrypoint, *cmd, *env;
	json_t *notes; /* what who uses it should know, an array of strings; NULL: none */
	char *cwd;
	char *source, *source_digest; /* "oci:/...", "sha256:..." */
	char sha256[65];	      /* recorded; "" when not */
	char recipe_sha256[65];	      /* of what it was built from; "" when not recorded */
	uint64_t size;		      /* bytes */
	/* ARCHITECTURE_COUNT for a path of the user's: nobody looks into its file system. */
	enum architecture architecture;
	bool cached; /* false: a path of the user's */
};
struct cache_images {
	struct cache_image *items; /* the default first */
	size_t count;
};

/* The cache's root, absolute, malloc'd; not made. ERR_NOT_FOUND with neither of the variables nor
 * HOME set. */
char *cache_dir(struct error *err);
/* Opens it. ERR_NOT_FOUND where there is none, unless it is to be made; ERR_DENIED where others
 * could change what is in it (own_dirs.h). */
int cache_open(bool create, struct error *err);
enum cache_part { CACHE_KERNELS, CACHE_IMAGES, CACHE_INITRDS };
/* The part's directory, "<cache_dir>/kernels" for one; malloc'd; not made. */
char *cache_subdir(enum cache_part part, struct error *err);

/* Whether a record from elsewhere would be one of the cache's. */
int cache_record_check(enum cache_part part, const char *name, const json_t *record,
		       struct error *err);

/* An absent cache is an empty list. A record that cannot be read is ERR_IO and names the file; the
 * reason (REASON_KERNEL_DAMAGED, REASON_IMAGE_DAMAGED) has the entry's name as its subject. */
int cache_kernels(struct cache_kernels *out, struct error *err);
int cache_images(struct cache_images *out, struct error *err);
void cache_kernels_free(struct cache_kernels *list);
void cache_images_free(struct cache_images *list);
void cache_kernel_free(struct cache_kernel *kernel);
void cache_image_free(struct cache_image *image);

/* The digest that an image is known by, with "sha256:" before it: its manifest's where it was
 * imported, else its file's. False: none is recorded, and out is left as it was. */
#define CACHE_DIGEST_TEXT (sizeof("sha256:") + 64)
bool cache_image_digest(const struct cache_image *image, char out[CACHE_DIGEST_TEXT]);

/* The path of the initrd that holds the microagent-init of that digest and nothing else, malloc'd.
 * ERR_NOT_FOUND where it is not made yet; ERR_DENIED where others could change it. */
char *cache_initrd_find(const char *init_sha256, struct error *err);

/* The microagent-init that is put into the initrds of an architecture, as it stands beside our
 * programs. */
const char *cache_init_program(enum architecture architecture);

/* An entry's name, with the ending of its architecture where that has one and the name has it not.
 * malloc'd. */
char *cache_entry_name(const char *name, enum architecture architecture, struct error *err);

/*
 * The kernel or image a user means, for a machine of that architecture; ARCHITECTURE_COUNT: any.
 * NULL: the default. Text with a '/' in it is a path (made absolute; must be a regular file; a path
 * into the cache finds its record). Otherwise a name in the cache, with or without the ending of
 * the architecture, or a kind's name ("tuned", "debian": the newest of that kind), or, when there
 * is none of that name, a file of that name in the working directory. initrd is <path>.initrd when
 * that exists. ERR_NOT_FOUND names what was looked for and the command that makes it;
 * ERR_UNSUPPORTED: what that name has is for another architecture.
 */
int cache_kernel_find(const char *text, enum architecture machine, struct cache_kernel *out,
		      struct error *err);
int cache_image_find(const char *text, enum architecture machine, struct cache_image *out,
		     struct error *err);
/* Whether the file is a kernel of the cache, packed or unpacked, that is recorded as built for a
 * paravirtual KVM. False as well where nothing can be read: nothing is known of the kernel then. */
bool cache_kernel_is_for_pvm(const char *path);

/* ERR_INVALID for what an imported image, or a kernel of the user's, cannot be called.
 * ARCHITECTURE_COUNT: for any machine, as where the kernel's file has not been asked yet. */
int cache_image_check_name(const char *name, enum architecture architecture, struct error *err);
int cache_kernel_check_name(const char *name, enum architecture architecture, struct error *err);

/* "6.1.55-1" is before "6.1.192-2": numbers by their value. As strcmp() has it. */
int cache_compare_versions(const char *a, const char *b);

#endif
