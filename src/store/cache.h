/* SPDX-License-Identifier: MIT */
/*
 * The cache of kernels and images, outside every state directory. Its root is
 * ${MICROAGENT_CACHE_DIR:-${XDG_CACHE_HOME:-~/.cache}/microagent}. The root has these files:
 *
 *   kernels/<name>           the kernel
 *   kernels/<name>.initrd    the initrd: the modules, then microagent-init
 *   kernels/<name>.modules   the initrd's first part; absent for a kernel without modules
 *   kernels/<name>.json      the record
 *   images/<name>.ext4       a raw file system
 *   images/<name>.json       the record
 *   initrds/<sha256>.initrd  only microagent-init, with its digest as the name, for kernels that
 *                            have no initrd beside them; without a record
 *
 * The record of an entry is written last and replaced whole: an entry without a record is not
 * listed. The functions of this header only read the cache; microagent-artifact installs and builds
 * entries. These functions compute no digests: a sha256 is the recorded one.
 *
 * A list begins with the entries for the host's own architecture. Within each architecture the
 * default entry comes first. Kernels are sorted by kind (tuned, debian, custom), and then by
 * version, newest first. Images are sorted by name, but busybox comes first.
 *
 * One cache has entries for both architectures. The name of an entry for arm64 ends in "-arm64". A
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
	KERNEL_TUNED,  /* made by `kernel build`: all drivers are built in, and the initrd has
			* only microagent-init */
	KERNEL_DEBIAN, /* made by `kernel install`: Debian's cloud kernel, with the modules that
			* it needs */
	KERNEL_CUSTOM, /* made by `kernel install --from`, or a path of the user's */
	KERNEL_KIND_COUNT
};
const char *kernel_kind_name(enum kernel_kind kind); /* "tuned", "debian", "custom" */

struct cache_kernel {
	char *name;    /* "tuned-6.1.192-2"; for a path of the user's the last component */
	char *path;    /* absolute */
	char *initrd;  /* absolute; NULL: the kernel has no initrd beside it */
	char *modules; /* absolute; NULL: none */
	char *vmlinux; /* the unpacked kernel; absolute; NULL: none */
	char *version; /* NULL if not recorded */
	/* Recorded digests, in lower-case hexadecimal digits; "" if not recorded. */
	char sha256[65];	/* digest of the file at `path` */
	char initrd_sha256[65]; /* digest of the file at `initrd` */
	char vmlinux_sha256[65];
	char init_sha256[65];	 /* digest of the microagent-init in `initrd` */
	char config_sha256[65];	 /* digest of the configuration fragment of a tuned kernel */
	char package_sha256[65]; /* digest of the Debian package of the kernel or of its source */
	enum kernel_kind kind;
	/* The recorded architecture. For a path of the user's: the architecture that the file
	 * states; ARCHITECTURE_COUNT if it states none. */
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
	/* The absolute path. A program that opens the file must be told that it is a raw disk, and
	 * must never detect its format. */
	char *path;
	char *user; /* the recorded user; NULL: none */
	/* The settings of an imported image, each NULL if not recorded. `entrypoint` and `cmd`
	 * (arrays of strings) are the program that runs by default, and `env` (an object of
	 * strings) is the environment of this program. The next members are the working directory
	 * (`cwd`), the source of the image (`source`), and the digest of the image's manifest
	 * (`source_digest`). */
	json_t *entrypoint, *cmd, *env;
	json_t *notes; /* notes for the users of the image, an array of strings; NULL: none */
	char *cwd;
	char *source, *source_digest; /* "oci:/...", "sha256:..." */
	char sha256[65];	      /* the recorded digest; "" if not recorded */
	/* Digest of the recipe from which the image was built; "" if not recorded. */
	char recipe_sha256[65];
	uint64_t size; /* bytes */
	/* The recorded architecture. ARCHITECTURE_COUNT for a path of the user's, since no program
	 * looks into the file system of such an image. */
	enum architecture architecture;
	bool cached; /* false: a path of the user's */
};
struct cache_images {
	struct cache_image *items; /* the default first */
	size_t count;
};

/* Returns the absolute path of the cache's root and does not make the directory. The caller frees
 * the path. ERR_NOT_FOUND: neither MICROAGENT_CACHE_DIR nor XDG_CACHE_HOME is set, and the user has
 * no home. */
char *cache_dir(struct error *err);
/* Opens the cache's root. If the root does not exist, it is made with `create`, and without
 * `create` the error is ERR_NOT_FOUND. ERR_DENIED: other users could change the files in the root
 * (own_dirs.h). */
int cache_open(bool create, struct error *err);
enum cache_part { CACHE_KERNELS, CACHE_IMAGES, CACHE_INITRDS };
/* Returns the path of the directory of a part, for example "<cache_dir>/kernels", and does not make
 * the directory. The caller frees the path. */
char *cache_subdir(enum cache_part part, struct error *err);

/* Checks whether a record from outside the cache would be a valid record of the entry `name`. */
int cache_record_check(enum cache_part part, const char *name, const json_t *record,
		       struct error *err);

/* Functions that list the kernels and the images of the cache. An absent cache gives an empty list.
 * ERR_IO: a record is damaged. The message names its file, the reason is REASON_KERNEL_DAMAGED or
 * REASON_IMAGE_DAMAGED, and the subject of the reason is the entry's name. */
int cache_kernels(struct cache_kernels *out, struct error *err);
int cache_images(struct cache_images *out, struct error *err);
void cache_kernels_free(struct cache_kernels *list);
void cache_images_free(struct cache_images *list);
void cache_kernel_free(struct cache_kernel *kernel);
void cache_image_free(struct cache_image *image);

/* Writes "sha256:" and the digest of an image: the digest of the manifest if the image was
 * imported, else the digest of the file. Returns false if no digest is recorded, and leaves out
 * unchanged then. */
#define CACHE_DIGEST_TEXT (sizeof("sha256:") + 64)
bool cache_image_digest(const struct cache_image *image, char out[CACHE_DIGEST_TEXT]);

/* Returns the path of the initrd that has only the microagent-init with the digest `init_sha256`.
 * The caller frees the path. ERR_NOT_FOUND: the initrd is not made yet. ERR_DENIED: other users
 * could change the initrd. */
char *cache_initrd_find(const char *init_sha256, struct error *err);

/* Returns the file name of the microagent-init for the initrds of an architecture. The file lies
 * beside the programs of microagent. */
const char *cache_init_program(enum architecture architecture);

/* Returns the name of an entry: `name`, with the ending of the architecture if the architecture has
 * an ending and `name` does not have it yet. The caller frees the result. */
char *cache_entry_name(const char *name, enum architecture architecture, struct error *err);

/*
 * Functions that find the kernel or the image that a user means, for a machine of an architecture
 * (ARCHITECTURE_COUNT: of any architecture). NULL means the default. A text with a '/' is a path:
 * it is made absolute and must lead to a regular file, and if the cache has an entry with this
 * path, the record of the entry is used. Any other text is one of these, in this order: a name in
 * the cache, with or without the ending of the architecture; a kind of kernel ("tuned", "debian"),
 * which means the newest kernel of that kind; a file in the working directory. The initrd of a path
 * is <path>.initrd, if that file exists. ERR_NOT_FOUND: nothing was found; the message names the
 * text and the command that makes such an entry. ERR_INVALID: the path is no regular file.
 * ERR_UNSUPPORTED: the entry of that name is for another architecture.
 */
int cache_kernel_find(const char *text, enum architecture machine, struct cache_kernel *out,
		      struct error *err);
int cache_image_find(const char *text, enum architecture machine, struct cache_image *out,
		     struct error *err);
/* Returns whether the file is a kernel of the cache, packed or unpacked, whose record says that it
 * was built for a paravirtual KVM. Returns false also if the file or the records cannot be read. */
bool cache_kernel_is_for_pvm(const char *path);

/* Functions that check a name for an imported image, or for a kernel of the user's. ERR_INVALID:
 * the name is not allowed. ARCHITECTURE_COUNT: the architecture is not known, for example because
 * the kernel's file has not been read yet. */
int cache_image_check_name(const char *name, enum architecture architecture, struct error *err);
int cache_kernel_check_name(const char *name, enum architecture architecture, struct error *err);

/* Compares two versions. Numbers in them are compared by their value: "6.1.55-1" is before
 * "6.1.192-2". Returns less than 0, 0 or more than 0, as strcmp() does. */
int cache_compare_versions(const char *a, const char *b);

#endif
