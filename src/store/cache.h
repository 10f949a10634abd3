/* SPDX-License-Identifier: MIT */
/*
 * The cache of kernels and images, which is outside every state directory. The root of the cache is
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
 *   reviews/<sha256>.ext4    the image of a reviewed directory; the name is the digest of what
 *                            lstat() says of its files; without a record
 *   reviews/<sha256>.list    the list of that image's files
 *
 * The record of an entry is written last and replaced as a whole. An entry without a record is not
 * listed. The functions of this header only read the cache. microagent-artifact installs and builds
 * the entries. The functions compute no digest: each digest that they return was recorded.
 *
 * A list begins with the entries for the host's own architecture. Among the entries for one
 * architecture, the default entry comes first. Kernels are sorted by kind (tuned, debian, custom),
 * and then by version, the newest first. Images are sorted by name, except that busybox comes
 * first.
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
	KERNEL_TUNED,  /* a kernel made by `kernel build`: all drivers are built in, and the initrd
		        * has only microagent-init */
	KERNEL_DEBIAN, /* a kernel made by `kernel install`: Debian's cloud kernel, with the modules
		        * that it needs */
	KERNEL_CUSTOM, /* a kernel made by `kernel install --from`, or a kernel file of the user
		        * outside the cache */
	KERNEL_KIND_COUNT
};
const char *kernel_kind_name(enum kernel_kind kind); /* returns "tuned", "debian" or "custom" */

struct cache_kernel {
	char *name;    /* name of the entry, such as "tuned-6.1.192-2"; for a file of the user, the
		        * last component of its path */
	char *path;    /* absolute */
	char *initrd;  /* absolute path of the initrd; NULL: the kernel has no initrd beside it */
	char *modules; /* absolute path of the file with the modules, which is also a part of the
		        * initrd; NULL: the kernel has no modules */
	char *vmlinux; /* absolute path of the unpacked kernel; NULL: the cache has no unpacked
		        * kernel */
	char *version; /* version of the kernel; NULL: not recorded */
	/* Recorded SHA-256 digests in lower-case hexadecimal digits. A digest that is not recorded
	 * is "". */
	char sha256[65];	/* digest of the file at `path` */
	char initrd_sha256[65]; /* digest of the file at `initrd` */
	char vmlinux_sha256[65];
	char init_sha256[65];	 /* digest of the microagent-init in `initrd` */
	char config_sha256[65];	 /* digest of the configuration fragment of a tuned kernel */
	char package_sha256[65]; /* digest of the Debian package that has the kernel or its
				  * source */
	enum kernel_kind kind;
	/* The recorded architecture. For a kernel file of the user, this is the architecture in the
	 * file, or ARCHITECTURE_COUNT if the file does not name one. */
	enum architecture architecture;
	bool cached;  /* the kernel is in the cache; false: it is a file of the user */
	bool for_pvm; /* the record says that the kernel was built for a paravirtual KVM
		       * (kvm_pvm) */
	/* The kernel is from a guest bundle, whose author chose the kernel's kind and version. So
	 * the kernel comes after all other kernels, and is the default kernel only if
	 * there is no other. */
	bool bundled;
};
struct cache_kernels {
	struct cache_kernel *items; /* the kernels, the default one first */
	size_t count;
};

struct cache_image {
	char *name; /* "busybox" */
	/* The absolute path of the image. A VMM that opens the file must be told that the format is
	 * raw. If the VMM detected the format itself, a guest could write the header of another
	 * format to its disk. */
	char *path;
	char *user; /* the recorded user as which commands run; NULL: no user is recorded */
	/* The settings of an imported image; each is NULL if it is not recorded. `entrypoint` and
	 * `cmd` (arrays of strings) are the program that runs by default. `env` (an object of
	 * strings) is the environment of this program. The members below are the working directory
	 * (`cwd`), the source of the image (`source`), and the digest of the image's manifest
	 * (`source_digest`). */
	json_t *entrypoint, *cmd, *env;
	json_t *notes; /* array of strings: notes for the users of the image; NULL: none */
	char *cwd;
	char *source, *source_digest; /* "oci:/...", "sha256:..." */
	char sha256[65];	      /* recorded digest of the image; "" if not recorded */
	/* Digest of the recipe that the image was built from; "" if not recorded. */
	char recipe_sha256[65];
	uint64_t size; /* bytes */
	/* The recorded architecture. ARCHITECTURE_COUNT: the image is a file of the user, and the
	 * architecture is unknown, because microagent does not read the file system in such an
	 * image. */
	enum architecture architecture;
	bool cached; /* the image is in the cache; false: it is a file of the user */
};
struct cache_images {
	struct cache_image *items; /* the images, the default one first */
	size_t count;
};

/* Returns the absolute path of the cache's root, without making the directory. The caller frees the
 * path. ERR_NOT_FOUND: neither MICROAGENT_CACHE_DIR nor XDG_CACHE_HOME is set, and the user has no
 * home directory. */
char *cache_dir(struct error *err);
/* Opens the cache's root. A missing root is made if `create` is true. Otherwise the call fails with
 * ERR_NOT_FOUND. ERR_DENIED: other users could change the files in the cache (own_dirs.h). Returns
 * a descriptor, which the caller closes. */
int cache_open(bool create, struct error *err);
enum cache_part { CACHE_KERNELS, CACHE_IMAGES, CACHE_INITRDS, CACHE_REVIEWS };
/* Returns the path of the directory of a part, for example "<cache_dir>/kernels", without making
 * the directory. The caller frees the path. */
char *cache_subdir(enum cache_part part, struct error *err);

/* Checks whether a record from outside the cache would be valid as the record of the entry
 * `name`. */
int cache_record_check(enum cache_part part, const char *name, const json_t *record,
		       struct error *err);

/* List the kernels and the images of the cache. The caller frees the list. If the cache does not
 * exist, the list is empty. ERR_IO: a record is damaged. Then the message names the record's file,
 * the reason is REASON_KERNEL_DAMAGED or REASON_IMAGE_DAMAGED, and the subject of the reason is the
 * entry's name. */
int cache_kernels(struct cache_kernels *out, struct error *err);
int cache_images(struct cache_images *out, struct error *err);
void cache_kernels_free(struct cache_kernels *list);
void cache_images_free(struct cache_images *list);
void cache_kernel_free(struct cache_kernel *kernel);
void cache_image_free(struct cache_image *image);

/* Writes "sha256:" and the digest of an image to out. For an imported image, this is the digest of
 * its manifest. For any other image, it is the digest of the file. If no digest is recorded,
 * returns false and does not change out. */
#define CACHE_DIGEST_TEXT (sizeof("sha256:") + 64)
bool cache_image_digest(const struct cache_image *image, char out[CACHE_DIGEST_TEXT]);

/* Returns the path of the initrd that contains only microagent-init, with the digest `init_sha256`.
 * The caller frees the path. ERR_NOT_FOUND: no such initrd was made yet. ERR_DENIED: other users
 * could change the initrd. */
char *cache_initrd_find(const char *init_sha256, struct error *err);

/* Returns the file name of microagent-init for an architecture. This program is put into initrds.
 * The file is beside the programs of microagent. */
const char *cache_init_program(enum architecture architecture);

/* Returns the name of an entry: `name` with the suffix of the architecture. The suffix is not added
 * if `name` already has it, or if the architecture has no suffix. The caller frees the name. */
char *cache_entry_name(const char *name, enum architecture architecture, struct error *err);

/*
 * Find the kernel or the image that a user means by `text`. The entry must be for the architecture
 * `machine` (ARCHITECTURE_COUNT: any architecture). If `text` is NULL, find the default entry. A
 * text with a '/' is a path, which must lead to a regular file and is made absolute. If the cache
 * has an entry with this path, the entry's record is used. The initrd of a path is the file
 * <path>.initrd if it exists.
 *
 * Any other text is the first of these that exists: an entry of the cache with this name, with or
 * without the suffix of the architecture; a kind of kernel ("tuned", "debian"), which means the
 * newest kernel of that kind; a file in the working directory. ERR_NOT_FOUND: none of these exists;
 * the message names the text. ERR_INVALID: the path does not lead to a regular file.
 * ERR_UNSUPPORTED: the entry with that name is for another architecture.
 */
int cache_kernel_find(const char *text, enum architecture machine, struct cache_kernel *out,
		      struct error *err);
int cache_image_find(const char *text, enum architecture machine, struct cache_image *out,
		     struct error *err);
/* Returns true if the file is a kernel of the cache, packed or unpacked, and its record says that
 * it was built for a paravirtual KVM. Returns false if the file or the records cannot be read. */
bool cache_kernel_is_for_pvm(const char *path);

/* Check a name that a user gives to an imported image, or to a kernel file. ERR_INVALID: the name
 * is not allowed. If `architecture` is ARCHITECTURE_COUNT, the architecture is unknown, for example
 * because the kernel's file has not been read yet. */
int cache_image_check_name(const char *name, enum architecture architecture, struct error *err);
int cache_kernel_check_name(const char *name, enum architecture architecture, struct error *err);

/* Compares two versions. Numbers in the versions are compared by their value, so "6.1.55-1" is
 * before "6.1.192-2". Returns a negative number, 0 or a positive number, as strcmp() does. */
int cache_compare_versions(const char *a, const char *b);

#endif
