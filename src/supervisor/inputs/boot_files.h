/* SPDX-License-Identifier: MIT */
/*
 * The files that a VM is made of: kernel, initrd, the guest's init in it, and root file system. For
 * a macOS guest they are hardware model, machine identifier, auxiliary storage and disk. Each file
 * is opened once and hashed by that descriptor. The VM gets the same descriptor.
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

/* The kinds of boot files. A file that does not exist for this guest has no path. BOOT_INIT is the
 * microagent-init in the initrd: it has the path of the initrd and no descriptor. BOOT_BASE is the
 * disk below BOOT_ROOTFS if that is a layer. A guest writes to BOOT_AUXILIARY and BOOT_ROOTFS. */
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
	bool ram_root; /* BOOT_ROOTFS is an initramfs; BOOT_INITRD is beside the kernel */
	bool unpacked; /* the kernel was unpacked from the config's kernel */
	bool beside;   /* BOOT_INITRD is beside the kernel or in the cache; the config names none */
	struct {
		char *path;		  /* NULL: there is none */
		int fd;			  /* -1: could not be opened */
		char sha256[DIGEST_TEXT]; /* "": not hashed */
		struct error error;	  /* why there is no fd or no digest */
	} file[BOOT_FILE_COUNT];
	struct digest_key rootfs_key; /* file attributes when it was hashed */
	bool rootfs_started; /* a guest has written to it: its digest is told, not compared */
	/* When the root file system had that digest, RFC 3339; "": the digest is of now. */
	char rootfs_observed_at[CLOCK_TEXT];
};

/* What the root file system is opened for. A guest writes to its root file system. */
enum rootfs_use {
	ROOTFS_LOOK,  /* to look at a recorded one; it may be read-only by now */
	ROOTFS_CHECK, /* to check that a VM can use it: refused if read-only, opened for reading */
	ROOTFS_BOOT,  /* for a VM: refused if read-only, opened for writing */
	/* For a reader or writer of another machine's disk. The caller has followed the links in
	 * its path; no link is followed here. */
	ROOTFS_OTHERS_LOOK,
	ROOTFS_OTHERS_WRITE,
};

/* How to find the initrd of a kernel that has none beside it: in the cache. */
enum initrd_use {
	INITRD_FIND, /* nothing is written: an initrd that does not exist yet has no path, and
		      * BOOT_INIT has the path of the microagent-init that it would be made
		      * from */
	INITRD_MAKE,
};

/* Opens the files that the config names and hashes all except the root file system. If the backend
 * takes no packed kernel, opens K.vmlinux for a packed kernel K. A problem with a file is kept with
 * the file and is no failure here; boot_files_require() reports it. */
int boot_files_open(const struct config *config, const struct backend *backend, enum rootfs_use use,
		    enum initrd_use initrd, struct boot_files *out, struct error *err);
/*
 * Hashes the root file system too, unless it could not be opened, or has not changed since it was
 * hashed. Called before the lock, since it may take long, and again under the lock, where no other
 * process writes. So the digest belongs to the moment of the state.
 */
void boot_files_hash_rootfs(struct boot_files *files);
/* Takes the root file system, and the disk below it, for as long as they are open (store/taken.h).
 * If the guest does not write to it (read_only), others may read it too. */
int boot_files_take(const struct boot_files *files, bool read_only, struct error *err);
void boot_files_close(struct boot_files *files); /* accepts a zeroed one */
/* Returns an error for the first file that is missing, unreadable or not what it must be. The error
 * names its config field. */
int boot_files_require(const struct boot_files *files, struct error *err);

/* Returns what prepare records: {kernel: {path, sha256}, initrd, init, base?, rootfs}. */
json_t *boot_files_record(const struct boot_files *files, struct error *err);
/*
 * Returns the verification block, which compares the present files with the recorded ones (NULL:
 * nothing is recorded). It is {ok, imageRef?, resolvedRef?, imageDigest?, kernel, initrd, init,
 * base?, rootfs, divergence[]}. A root file system that a guest has written to is told and not
 * compared. Its digest is `sha256` if it is of now, else `lastSHA256`.
 */
json_t *boot_files_verify(const struct boot_files *files, const json_t *image,
			  const json_t *recorded, struct error *err);
/* Adds a divergence of something that is no boot file to the block, which is not ok then. Where
 * error is given, it says why there is no digest, and actual is not told. */
int verification_add_divergence(json_t *verification, const char *artifact, const char *expected,
				const char *actual, const struct error *error, struct error *err);
/* Called when a guest gets the disk. Makes the digest of the root file system in the block the last
 * digest, as of the time `when` (RFC 3339). A digest that is the last one already stays as it
 * is. */
int verification_hand_over_rootfs(json_t *verification, const char *when, struct error *err);
/* Returns ERR_CONFLICT, which names the first divergence, if the verification block is not ok. */
int verification_require(const json_t *verification, struct error *err);

#endif
