/* SPDX-License-Identifier: MIT */
/* The inputs of a machine: kernel, initrd and disks of a config, by absolute paths. */
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
	char init_sha256[FILE_DIGEST_TEXT];   /* the digest of the initrd's init; "": none was found
					       */
	char rootfs_sha256[FILE_DIGEST_TEXT]; /* "": not hashed */
};

/* Opens and hashes kernel and initrd, and checks the root file system. An error names the wrong
 * field of the config. *artifact gets the name of this field in a verification block; `artifact`
 * may be NULL. */
int inputs_find(const struct config *config, struct inputs *out, const char **artifact,
		struct error *err);
/* Opens and hashes kernel and initrd, and checks the root file system and all further disks. */
int inputs_open(const struct config *config, struct inputs *out, struct error *err);
void inputs_close(struct inputs *inputs); /* accepts a zeroed one */
/* Hashes the raw root file system of the config. */
int inputs_hash_raw(struct inputs *inputs, struct error *err);
/* Checks that the file ROOT_VHD of the workspace is a VHD. If `hash` is true, the disk in the VHD
 * is hashed too. */
int inputs_check_vhd(struct inputs *inputs, const struct store *store, bool hash,
		     struct error *err);

/* Returns {kernel: {path, sha256}, initrd, init, rootfs}, which prepare records. The caller
 * releases it. */
json_t *inputs_record(const struct inputs *inputs, struct error *err);
/* Returns the verification block, which compares the present inputs with the recorded ones.
 * `recorded` is NULL if nothing is recorded. */
json_t *inputs_verify(const struct inputs *inputs, const json_t *image, const json_t *recorded,
		      struct error *err);
/* Checks that the block has no difference. ERR_CONFLICT names the first difference. */
int inputs_require(const json_t *verification, struct error *err);

/* The disks in the order of their LUNs, the root's VHD first. */
struct disks {
	struct machine_disk *list;
	size_t count;
	json_t *guest; /* the description of the disks other than the root disk, for the guest */
};
int disks_of(const struct config *config, const struct store *store, struct disks *out,
	     struct error *err);
void disks_free(struct disks *disks); /* accepts a zeroed one */

#endif
