/* SPDX-License-Identifier: MIT */
/*
 * The files that a VM is made of: kernel, initrd, the guest's init in it, root file system; or,
 * where the guest is macOS, hardware model, machine identifier, auxiliary storage and disk. Opened
 * once, hashed on that descriptor, and that descriptor is what the VM gets.
 */
#ifndef SUPERVISOR_BOOT_FILES_H
#define SUPERVISOR_BOOT_FILES_H

#include <jansson.h>
#include <stdbool.h>

#include "backend/backend.h"
#include "base/clock.h"
#include "base/error.h"
#include "channel/hasher.h"
#include "contract/request.h"

/* Those that there are none of have no path. BOOT_INIT is the microagent-init in the initrd: it has
 * that one's path and no descriptor. BOOT_BASE is the disk below BOOT_ROOTFS where that is a layer.
 * BOOT_AUXILIARY is written by a guest, as BOOT_ROOTFS is. */
enum boot_file {
	BOOT_KERNEL,
	BOOT_INITRD,
	BOOT_INIT,
	BOOT_BASE,
	BOOT_MODEL,
	BOOT_IDENTIFIER,
	BOOT_AUXILIARY,
	BOOT_ROOTFS,
	BOOT_FILE_COUNT
};

struct boot_files {
	bool ram_root; /* BOOT_ROOTFS is an initramfs, and BOOT_INITRD the one beside the kernel */
	bool unpacked; /* the kernel is what is packed in the config's */
	bool beside; /* nobody named BOOT_INITRD: it is the one beside the kernel, or the cache's */
	struct {
		char *path;		  /* NULL: there is none */
		int fd;			  /* -1: could not be opened */
		char sha256[DIGEST_TEXT]; /* "": not hashed */
		struct error error;	  /* why there is no fd or no digest */
	} file[BOOT_FILE_COUNT];
	struct digest_key rootfs_key; /* what it was like when it was hashed */
	bool rootfs_started; /* a guest has written to the root file system: it is told, not compared */
	/* When the root file system had that digest, RFC 3339; "": it has it now. */
	char rootfs_observed_at[CLOCK_TEXT];
};

/* The guest writes to its root file system. */
enum rootfs_use {
	ROOTFS_LOOK,  /* at what is recorded: it may be read-only by now */
	ROOTFS_CHECK, /* a VM could have it: refused where it is read-only, opened for reading */
	ROOTFS_BOOT,  /* a VM gets it: the same, opened for writing */
	/* It is the disk of another machine, which a reader looks at or writes to. The caller has
	 * followed the links on the way to it, and no link is followed here. */
	ROOTFS_OTHERS_LOOK,
	ROOTFS_OTHERS_WRITE,
};

/* A kernel that stands alone has an initrd made for it in the cache. */
enum initrd_use {
	INITRD_FIND, /* nothing is written: one that is not there yet has no path, and BOOT_INIT has
		      * that of the microagent-init which it would be made of */
	INITRD_MAKE,
};

/* Opens what the config names (of a packed kernel K, where the backend takes none, K.vmlinux) and
 * hashes all but the root file system. What is wrong with a file is kept with it and is no failure:
 * boot_files_require() makes it one. */
int boot_files_open(const struct config *config, const struct backend *backend, enum rootfs_use use,
		    enum initrd_use initrd, struct boot_files *out, struct error *err);
/*
 * Hashes the root file system too, unless it could not be opened, or was hashed and is as it was
 * then. Done before the lock, since it may take long, and again under it, where nobody writes: the
 * digest is of the moment of the state.
 */
void boot_files_hash_rootfs(struct boot_files *files);
/* Takes the root file system, and the disk below it, for as long as they are open (store/taken.h);
 * where the guest does not write to it others may read it too. */
int boot_files_take(const struct boot_files *files, bool read_only, struct error *err);
void boot_files_close(struct boot_files *files); /* accepts a zeroed one */
/* The first file that is missing, unreadable or not what it must be, by its config field. */
int boot_files_require(const struct boot_files *files, struct error *err);

/* What prepare records: {kernel: {path, sha256}, initrd, init, base?, rootfs}. */
json_t *boot_files_record(const struct boot_files *files, struct error *err);
/*
 * The verification block: the files now against the recorded ones (NULL: nothing is recorded).
 * {ok, imageRef?, resolvedRef?, imageDigest?, kernel, initrd, init, base?, rootfs, divergence[]}. A
 * root file system that a guest has written to is told and not compared. Its digest is `sha256` if
 * it has that now, else `lastSHA256`.
 */
json_t *boot_files_verify(const struct boot_files *files, const json_t *image,
			  const json_t *recorded, struct error *err);
/* Adds the divergence of what is no boot file to the block, which is not ok then. actual is not
 * told beside an error, which says why there is no digest. */
int verification_add_divergence(json_t *verification, const char *artifact, const char *expected,
				const char *actual, const struct error *error, struct error *err);
/* Makes the digest of the root file system in the block, which it had at that time (RFC 3339), the
 * last one: a guest gets the disk. A digest that is the last one already stays as it is. */
int verification_hand_over_rootfs(json_t *verification, const char *when, struct error *err);
/* ERR_CONFLICT naming the first divergence of a verification block that is not ok. */
int verification_require(const json_t *verification, struct error *err);

#endif
