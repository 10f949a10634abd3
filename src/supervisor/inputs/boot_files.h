/* SPDX-License-Identifier: MIT */
/*
 * The files from which a machine boots. For a Linux guest these are the kernel, the initrd, the
 * guest's init in the initrd, and the root file system. For a macOS guest these are the hardware
 * model, the machine identifier, the auxiliary storage and the disk. Each file is opened once. The
 * digest is computed by the same descriptor that the machine gets, so the machine boots the file
 * that was checked.
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
 * the base of BOOT_ROOTFS, if BOOT_ROOTFS is a layer. A guest writes to BOOT_AUXILIARY and
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
	/* The config names no initrd, so BOOT_INITRD is a file in the kernel's directory or in the
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
	/* A guest may have written to the root file system, so its digest is reported but not
	 * compared. */
	bool rootfs_started;
	/* The time at which the root file system had this digest, in RFC 3339; "": this is its
	 * present digest. */
	char rootfs_observed_at[CLOCK_TEXT];
};

/* The purposes for which the root file system is opened. */
enum rootfs_use {
	/* To report on a recorded file. A file that has become read-only is accepted. The file is
	 * opened for reading. */
	ROOTFS_LOOK,
	/* To check that a machine could use the file. A read-only file is refused. The file is
	 * opened for reading. */
	ROOTFS_CHECK,
	/* For a machine. A read-only file is refused. The file is opened for writing. */
	ROOTFS_BOOT,
	/* For a machine that reads or writes the disk of another machine. The caller has already
	 * resolved all symbolic links in the path, so a symbolic link that is found now is
	 * refused. */
	ROOTFS_OTHERS_LOOK,
	ROOTFS_OTHERS_WRITE,
};

/* Says what is done for a kernel that has no initrd in its directory. Such a kernel uses an initrd
 * of the cache. */
enum initrd_use {
	/* Nothing is written. If the cache has no such initrd yet, BOOT_INITRD has no path.
	 * BOOT_INIT then has the path of the microagent-init that the initrd would contain. */
	INITRD_FIND,
	INITRD_MAKE, /* if the cache has no such initrd yet, one is made */
};

/* Opens the files that the config names, and hashes all except the root file system. If the backend
 * takes no packed kernels, opens K.vmlinux in place of a packed kernel K. A problem with a file is
 * not an error of this function. Such a problem is stored with the file, and boot_files_require()
 * reports it. */
int boot_files_open(const struct config *config, const struct backend *backend, enum rootfs_use use,
		    enum initrd_use initrd, struct boot_files *out, struct error *err);
/*
 * Hashes the root file system, unless it could not be opened, or has not changed since it was last
 * hashed. Hashing may take long, so a command first calls this function before it takes the command
 * lock. The command calls the function again under the lock, when no other process writes to the
 * file, so that the digest fits the recorded state.
 */
void boot_files_hash_rootfs(struct boot_files *files);
/* Marks the root file system and its base as taken (store/taken.h), so that no other machine can
 * write to them while their descriptors are open. If `read_only` is true, the guest does not write
 * to the root file system, and other machines may read it at the same time. */
int boot_files_take(const struct boot_files *files, bool read_only, struct error *err);
void boot_files_close(struct boot_files *files); /* closes all files; accepts a zeroed struct */
/* Checks that all files could be opened and have valid contents. An error is about the first file
 * that fails this check, and names its field of the config. */
int boot_files_require(const struct boot_files *files, struct error *err);

/* Returns the artifacts that prepare records: {kernel: {path, sha256}, initrd, init, base?,
 * rootfs}. Each member has the same form as `kernel`. The caller releases the object. Returns NULL
 * with an error. */
json_t *boot_files_record(const struct boot_files *files, struct error *err);
/*
 * Returns the verification block, which compares the present files with the recorded ones. If
 * `recorded` is NULL, no files are recorded and nothing is compared. The block is {ok, imageRef?,
 * resolvedRef?, imageDigest?, kernel, initrd, init, base?, rootfs, divergence[]}. A root file
 * system to which a guest may have written is not compared. The block only reports its digest:
 * `sha256` is its present digest, and `lastSHA256` one that it had earlier. The caller releases the
 * block.
 */
json_t *boot_files_verify(const struct boot_files *files, const json_t *image,
			  const json_t *recorded, struct error *err);
/* Adds to the block the divergence of an artifact that is not a boot file, and sets the block's
 * `ok` to false. If error->code is set, `error` says why the present digest is not known, and
 * `actual` is ignored. */
int verification_add_divergence(json_t *verification, const char *artifact, const char *expected,
				const char *actual, const struct error *error, struct error *err);
/* Renames the digest of the root file system in the block from `sha256` to `lastSHA256`, with the
 * time `when` (RFC 3339) at which it was valid. Changes nothing if the block has `lastSHA256`
 * already. Called when a guest gets the disk. */
int verification_hand_over_rootfs(json_t *verification, const char *when, struct error *err);
/* Checks that the block's `ok` is true. ERR_CONFLICT: it is false, and the message names the first
 * divergence. */
int verification_require(const json_t *verification, struct error *err);

#endif
