/* SPDX-License-Identifier: MIT */
/* The inputs of a machine: the kernel, initrd and disks that the config names. */
#ifndef HYPERV_INPUTS_H
#define HYPERV_INPUTS_H

#include <jansson.h>

#include "contract/request.h"
#include "hyperv/machine/document.h"
#include "hyperv/store/store.h"
#include "hyperv/windows/file.h"

struct inputs {
	char *kernel, *initrd, *rootfs;
	char kernel_sha256[FILE_DIGEST_TEXT], initrd_sha256[FILE_DIGEST_TEXT];
	/* The SHA-256 digest of the file `init` in the initrd; "": no such file was found. */
	char init_sha256[FILE_DIGEST_TEXT];
	/* The SHA-256 digest of the root file system; "": the root file system was not hashed. */
	char rootfs_sha256[FILE_DIGEST_TEXT];
};

/* Opens and hashes kernel and initrd, and checks the root file system. If a file is wrong, the
 * error names its field of the config, and *artifact is set to the file's name in a verification
 * block. `artifact` may be NULL. */
int inputs_find(const struct config *config, struct inputs *out, const char **artifact,
		struct error *err);
/* Does the same as inputs_find(), and also checks all further disks. */
int inputs_open(const struct config *config, struct inputs *out, struct error *err);
void inputs_close(struct inputs *inputs); /* accepts zeroed inputs */
/* Hashes the raw file of the root file system that the config names. */
int inputs_hash_raw(struct inputs *inputs, struct error *err);
/* Checks that the file ROOT_VHD of the workspace is a VHD. If `hash` is true, also hashes the
 * contents of the disk in the VHD. */
int inputs_check_vhd(struct inputs *inputs, const struct store *store, bool hash,
		     struct error *err);

/* Returns the JSON object that prepare records: {kernel: {path, sha256}, initrd, init, rootfs}. The
 * members initrd, init and rootfs have the same form as kernel. The caller releases the result. */
json_t *inputs_record(const struct inputs *inputs, struct error *err);
/* Returns the verification block of an answer, which compares these inputs with the recorded
 * inputs. `recorded` is NULL if nothing is recorded. The caller releases the result. */
json_t *inputs_verify(const struct inputs *inputs, const json_t *image, const json_t *recorded,
		      struct error *err);
/* Checks that the verification block has no difference. Fails with ERR_CONFLICT and a message that
 * names the first difference. */
int inputs_require(const json_t *verification, struct error *err);

/* The disks in the order of their LUNs. The VHD of the root file system comes first. */
struct disks {
	struct machine_disk *list;
	size_t count;
	json_t *guest; /* describes all disks except the root disk for the guest */
};
int disks_of(const struct config *config, const struct store *store, struct disks *out,
	     struct error *err);
void disks_free(struct disks *disks); /* accepts a zeroed list */

#endif
