/* SPDX-License-Identifier: MIT */
/*
 * The files from which a machine boots: kernel, initrd, the guest's init in the initrd, and root
 * file system. For a macOS guest they are hardware model, machine identifier, auxiliary storage and
 * disk. Each file is opened once and hashed by that descriptor. The machine gets the same
 * descriptor.
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

/* The kinds of boot files. If this guest has no file of a kind, that kind has no path. BOOT_INIT is
 * the microagent-init in the initrd: it has the path of the initrd and no descriptor. BOOT_BASE is
 * the disk below BOOT_ROOTFS, if BOOT_ROOTFS is a layer. A guest writes to BOOT_AUXILIARY and
 * BOOT_ROOTFS. */
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
	/* BOOT_ROOTFS is an initramfs, and BOOT_INITRD is in the kernel's directory. */
	bool ram_root;
	bool unpacked; /* BOOT_KERNEL was unpacked from the kernel that the config names */
	/* The config names no initrd, and BOOT_INITRD is in the kernel's directory or in the
	 * cache. */
	bool beside;
	struct {
		char *path;		  /* the path of the file; NULL: this guest has no such
					   * file */
		int fd;			  /* the descriptor of the file; -1: the file could not be
					   * opened */
		char sha256[DIGEST_TEXT]; /* the digest of the file; "": the file was not hashed */
		struct error error; /* the reason why fd is -1, or why the digest is not known */
	} file[BOOT_FILE_COUNT];
	struct digest_key rootfs_key; /* the digest key of the root file system at the time when it
				       * was hashed */
	/* A guest may have written to the root file system. So its digest is reported, but not
	 * compared. */
	bool rootfs_started;
	/* The time at which the root file system had this digest, in RFC 3339; "": it has this
	 * digest now. */
	char rootfs_observed_at[CLOCK_TEXT];
};

/* The purposes for which the root file system is opened. */
enum rootfs_use {
	/* To look at a recorded file, which may be read-only now. The file is opened for
	 * reading. */
	ROOTFS_LOOK,
	/* To check that a machine can use the file. A read-only file is refused. The file is opened
	 * for reading. */
	ROOTFS_CHECK,
	/* For a machine. A read-only file is refused. The file is opened for writing. */
	ROOTFS_BOOT,
	/* For a machine that reads or writes the disk of another machine. The caller has already
	 * followed the links in the path, and no further link is followed. */
	ROOTFS_OTHERS_LOOK,
	ROOTFS_OTHERS_WRITE,
};

/* What is done for a kernel that has no initrd in its directory. Such a kernel uses an initrd of
 * the cache. */
enum initrd_use {
	/* Nothing is written. If the cache has no such initrd yet, BOOT_INITRD has no path.
	 * BOOT_INIT then has the path of the microagent-init that the initrd would contain. */
	INITRD_FIND,
	INITRD_MAKE, /* if the cache has no such initrd yet, one is made */
};

/* Opens the files that the config names, and hashes all except the root file system. If the backend
 * takes no packed kernels, opens K.vmlinux in place of a packed kernel K. A problem with a file is
 * not an error of this function. It is stored with the file, and boot_files_require() reports
 * it. */
int boot_files_open(const struct config *config, const struct backend *backend, enum rootfs_use use,
		    enum initrd_use initrd, struct boot_files *out, struct error *err);
/*
 * Hashes the root file system, unless it could not be opened, or has not changed since it was
 * hashed. Since this may take long, a command first calls this function before it takes the command
 * lock. It calls the function again under the lock, when no other process writes to the file. So
 * the digest and the state are of the same moment.
 */
void boot_files_hash_rootfs(struct boot_files *files);
/* Takes the root file system and the disk below it, so that no other machine can write to them
 * while they are open (store/taken.h). If `read_only` is true, the guest does not write to the root
 * file system, and other machines may read it at the same time. */
int boot_files_take(const struct boot_files *files, bool read_only, struct error *err);
void boot_files_close(struct boot_files *files); /* closes all files; accepts a zeroed struct */
/* Checks that all files could be opened and have the right contents. The error is about the first
 * file that fails this check, and names the field of the config. */
int boot_files_require(const struct boot_files *files, struct error *err);

/* Returns the artifacts that prepare records: {kernel: {path, sha256}, initrd, init, base?,
 * rootfs}. Each member has the same form as kernel. The caller releases the artifacts. */
json_t *boot_files_record(const struct boot_files *files, struct error *err);
/*
 * Returns the verification block, which compares the present files with the recorded ones. If
 * `recorded` is NULL, there are no recorded ones. The block is {ok, imageRef?, resolvedRef?,
 * imageDigest?, kernel, initrd, init, base?, rootfs, divergence[]}. A root file system to which a
 * guest may have written is not compared. The block only has its digest: as `sha256` if it has this
 * digest now, else as `lastSHA256`. The caller releases the block.
 */
json_t *boot_files_verify(const struct boot_files *files, const json_t *image,
			  const json_t *recorded, struct error *err);
/* Adds a divergence to the block, of an artifact that is not a boot file, and sets the block's `ok`
 * to false. If `error` has a code, it says why the present digest is not known, and `actual` is
 * ignored. */
int verification_add_divergence(json_t *verification, const char *artifact, const char *expected,
				const char *actual, const struct error *error, struct error *err);
/* Replaces the present digest of the root file system in the block (`sha256`) by a last digest
 * (`lastSHA256`) of the time `when` (RFC 3339). Changes nothing if the block has a last digest
 * already. Called when a guest gets the disk. */
int verification_hand_over_rootfs(json_t *verification, const char *when, struct error *err);
/* Checks that the verification block is ok. ERR_CONFLICT: it is not, and the message names the
 * first divergence. */
int verification_require(const json_t *verification, struct error *err);

#endif
