/* SPDX-License-Identifier: MIT */
/*
 * The cache of kernels and images, outside every state directory. Its root is
 * ${MICROAGENT_CACHE_DIR:-${XDG_CACHE_HOME:-~/.cache}/microagent}. The root has these files:
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
 * The record of an entry is written last and replaced whole: an entry without a record is not
 * listed. The functions of this header only read; microagent-artifact installs and builds. They
 * compute no digests: a sha256 is the recorded one.
 *
 * A list begins with the entries for the host's own architecture. Within each architecture the
 * default comes first. Kernels: tuned before debian before custom, newest version first. Images:
 * busybox first, then by name.
 *
 * One cache has entries of both architectures. The name of an entry for arm64 ends in "-arm64". A
 * record without an architecture was written by an older program, and its entry is for amd64.
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
	char *name;    /* "tuned-6.1.192-2"; for a path of the user's the last component */
	char *path;    /* absolute */
	char *initrd;  /* absolute; NULL: the kernel has no initrd beside it */
	char *modules; /* absolute; NULL: none */
	char *vmlinux; /* the unpacked kernel; absolute; NULL: none */
	char *version; /* NULL when not recorded */
	/* Recorded digests, in lower-case hexadecimal digits; "" if not recorded. */
	char sha256[65];	/* digest of the file at path */
	char initrd_sha256[65]; /* digest of the file at initrd */
	char vmlinux_sha256[65];
	char init_sha256[65];	 /* digest of the microagent-init in initrd */
	char config_sha256[65];	 /* digest of the configuration fragment of a tuned kernel */
	char package_sha256[65]; /* digest of the Debian package of the kernel or of its source */
	enum kernel_kind kind;
	/* For a path of the user's: the architecture that the file states. ARCHITECTURE_COUNT if it
	 * states none. */
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
	/* Absolute; a user of the path must take the file as a raw disk and never probe it. */
	char *path;
	char *user; /* the recorded user; NULL: none */
	/* The settings of an imported image: the program that runs by default (entrypoint and cmd
	 * are arrays of strings, env is an object of strings), the working directory (cwd), the
	 * source of the image and the digest of its manifest. Each member is NULL if not recorded.
	 */
	json_t *entrypoint, *cmd, *env;
	json_t *notes; /* notes for the users of the image, an array of strings; NULL: none */
	char *cwd;
	char *source, *source_digest; /* "oci:/...", "sha256:..." */
	char sha256[65];	      /* the recorded digest; "" if not recorded */
	/* Digest of the recipe that it was built from; "" if not recorded. */
	char recipe_sha256[65];
	uint64_t size; /* bytes */
	/* ARCHITECTURE_COUNT for a path of the user's: nobody looks into the file system of such an
	 * image. */
	enum architecture architecture;
	bool cached; /* false: a path of the user's */
};
struct cache_images {
	struct cache_image *items; /* the default first */
	size_t count;
};

/* Returns the absolute path of the cache's root and does not make the directory. The caller frees
 * the path. ERR_NOT_FOUND: neither of the two variables is set, and HOME is not set either. */
char *cache_dir(struct error *err);
/* Opens the cache's root. If the root does not exist, it is made with `create`, and without
 * `create` the error is ERR_NOT_FOUND. ERR_DENIED: other users could change what is in the root
 * (own_dirs.h). */
int cache_open(bool create, struct error *err);
enum cache_part { CACHE_KERNELS, CACHE_IMAGES, CACHE_INITRDS };
/* Returns the path of the directory of a part, for example "<cache_dir>/kernels", and does not make
 * the directory. The caller frees the path. */
char *cache_subdir(enum cache_part part, struct error *err);

/* Checks whether a record from elsewhere could be a record of the cache. */
int cache_record_check(enum cache_part part, const char *name, const json_t *record,
		       struct error *err);

/* Functions that list the kernels and the images of the cache. An absent cache gives an empty list.
 * A record that cannot be read gives ERR_IO, and the message names the file. The subject of the
 * reason (REASON_KERNEL_DAMAGED, REASON_IMAGE_DAMAGED) is the entry's name. */
int cache_kernels(struct cache_kernels *out, struct error *err);
int cache_images(struct cache_images *out, struct error *err);
void cache_kernels_free(struct cache_kernels *list);
void cache_images_free(struct cache_images *list);
void cache_kernel_free(struct cache_kernel *kernel);
void cache_image_free(struct cache_image *image);

/* Writes the digest of an image with "sha256:" before it: the digest of the manifest if the image
 * was imported, else the digest of the file. Returns false if no digest is recorded, and leaves out
 * unchanged then. */
#define CACHE_DIGEST_TEXT (sizeof("sha256:") + 64)
bool cache_image_digest(const struct cache_image *image, char out[CACHE_DIGEST_TEXT]);

/* Returns the path of the initrd that has only the microagent-init of that digest. The caller frees
 * the path. ERR_NOT_FOUND: the initrd is not made yet. ERR_DENIED: other users could change the
 * initrd. */
char *cache_initrd_find(const char *init_sha256, struct error *err);

/* Returns the file name of the microagent-init for the initrds of an architecture. The file lies
 * beside our programs. */
const char *cache_init_program(enum architecture architecture);

/* Returns the name of an entry. Adds the ending of the architecture if the architecture has one and
 * the name does not end in it. The caller frees the name. */
char *cache_entry_name(const char *name, enum architecture architecture, struct error *err);

/*
 * Functions that find the kernel or the image that a user means, for a machine of that
 * architecture; ARCHITECTURE_COUNT: any architecture. A text that is NULL means the default. A text
 * with a '/' is a path. The path is made absolute and must lead to a regular file, and a path into
 * the cache finds its record. Any other text is one of these, in this order: a name in the cache,
 * with or without the ending of the architecture; a kind's name ("tuned", "debian": the newest
 * kernel of that kind); a file of that name in the working directory. initrd is <path>.initrd if
 * that file exists. ERR_NOT_FOUND names what was looked for and the command that makes it.
 * ERR_UNSUPPORTED: the entry of that name is for another architecture.
 */
int cache_kernel_find(const char *text, enum architecture machine, struct cache_kernel *out,
		      struct error *err);
int cache_image_find(const char *text, enum architecture machine, struct cache_image *out,
		     struct error *err);
/* Returns whether the file is a packed or unpacked kernel of the cache that is recorded as built
 * for a paravirtual KVM. Returns false also if the file or the records cannot be read. */
bool cache_kernel_is_for_pvm(const char *path);

/* Functions that check a name for an imported image, or for a kernel of the user's. ERR_INVALID:
 * the name is not allowed. ARCHITECTURE_COUNT: the name is for any machine, for example while the
 * kernel's file has not been read yet. */
int cache_image_check_name(const char *name, enum architecture architecture, struct error *err);
int cache_kernel_check_name(const char *name, enum architecture architecture, struct error *err);

/* Compares two versions with numbers by their value: "6.1.55-1" is before "6.1.192-2". Returns a
 * result like that of strcmp(). */
int cache_compare_versions(const char *a, const char *b);

#endif
