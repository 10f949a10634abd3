/* SPDX-License-Identifier: MIT */
/* What a machine is made of: kernel, initrd and disks of a config, by absolute paths. */
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
	char init_sha256[FILE_DIGEST_TEXT];   /* of the initrd; "": none is to be seen in it */
	char rootfs_sha256[FILE_DIGEST_TEXT]; /* "": not looked at */
};

/* Opens and hashes kernel and initrd, and looks at the root file system. The error names the field
 * of what is wrong; artifact (may be NULL): its name in a verification block. */
int inputs_find(const struct config *config, struct inputs *out, const char **artifact,
		struct error *err);
/* Does the same, and looks at all further disks. */
int inputs_open(const struct config *config, struct inputs *out, struct error *err);
void inputs_close(struct inputs *inputs); /* accepts a zeroed one */
/* Hashes the root file system: the raw one of the config. */
int inputs_hash_raw(struct inputs *inputs, struct error *err);
/* That the VHD which was made of it is one; hash: the same of what is in it. */
int inputs_check_vhd(struct inputs *inputs, const struct store *store, bool hash,
		     struct error *err);

/* {kernel: {path, sha256}, initrd, init, rootfs}, as prepare records it. */
json_t *inputs_record(const struct inputs *inputs, struct error *err);
/* The verification block: now against what is recorded (NULL: nothing is). */
json_t *inputs_verify(const struct inputs *inputs, const json_t *image, const json_t *recorded,
		      struct error *err);
/* ERR_CONFLICT naming the first divergence. */
int inputs_require(const json_t *verification, struct error *err);

/* The disks in the order of their LUNs, the root's VHD first. */
struct disks {
	struct machine_disk *list;
	size_t count;
	json_t *guest; /* what the guest is told of those beside the root */
};
int disks_of(const struct config *config, const struct store *store, struct disks *out,
	     struct error *err);
void disks_free(struct disks *disks); /* accepts a zeroed one */

#endif
