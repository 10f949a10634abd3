/* SPDX-License-Identifier: MIT */
#include "hyperv/inputs/inputs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/architecture.h"
#include "base/cleanup.h"
#include "base/cpio_search.h"
#include "base/json.h"
#include "base/path.h"
#include "hyperv/inputs/vhd_file.h"
#include "hyperv/machine/vhd.h"
#include "hyperv/windows/digest.h"

static int check_kernel_head(HANDLE file, struct error *err)
{
	enum architecture architecture = ARCHITECTURE_COUNT;
	uint8_t head[KERNEL_HEAD];
	uint64_t size = 0;

	if (file_size(file, &size, err) < 0)
		return -1;
	if (size < sizeof(head) || file_read_at(file, 0, head, sizeof(head), err) < 0 ||
	    !architecture_of_kernel(head, sizeof(head), &architecture)) {
		error_set(err, ERR_INVALID,
			  "the file is not a Linux kernel: name a bzImage or an unpacked kernel");
		return error_reason(err, REASON_NOT_A_KERNEL, "");
	}
	if (architecture == ARCHITECTURE_AMD64)
		return 0;
	error_set(err, ERR_UNSUPPORTED,
		  "the file is a kernel for %s, and the machine is amd64: name a kernel for amd64",
		  architecture_name(architecture));
	return error_reason(err, REASON_OTHER_ARCHITECTURE, architecture_name(architecture));
}

/* Opens and hashes an input file. check() tests the contents. `check` may be NULL. */
static int open_input(const char *field, const char *given, int (*check)(HANDLE, struct error *),
		      char **path, char sha256[FILE_DIGEST_TEXT], struct error *err)
{
	autofree char *absolute = path_absolute(given, err);
	autohandle HANDLE file = absolute ? file_open(absolute, err) : NULL;

	if (!absolute || file == INVALID_HANDLE_VALUE)
		return error_prefix(err, "%s", field);
	if ((check && check(file, err) < 0) || file_digest(file, UINT64_MAX, sha256, err) < 0)
		return error_prefix(err, "%s %s", field, absolute);
	*path = steal_ptr(&absolute);
	return 0;
}

/* Checks that the file has the magic number of ext4, in the superblock at byte 1024
 * (Documentation/filesystems/ext4/super.rst), since the guest's init mounts only ext4. */
static int check_ext4(HANDLE file, struct error *err)
{
	uint8_t magic[2] = {0};

	if (file_read_at(file, 1024 + 0x38, magic, sizeof(magic), err) < 0)
		return -1;
	return magic[0] == 0x53 && magic[1] == 0xEF
		       ? 0
		       : error_set(
				 err, ERR_INVALID,
				 "the file is not an ext4 file system image: name the disk of an image");
}

/* Checks the raw file of the root file system, from which a VHD is made. */
static int look_at_rootfs(const char *given, char **path, struct error *err)
{
	autofree char *absolute = path_absolute(given, err);
	autohandle HANDLE file = absolute ? file_open(absolute, err) : NULL;
	uint64_t size = 0;

	if (!absolute || file == INVALID_HANDLE_VALUE || file_size(file, &size, err) < 0)
		return error_prefix(err, "config.rootfsPath");
	if (size == 0 || size % VHD_SECTOR || size > VHD_MAX) {
		error_set(
			err, ERR_INVALID,
			"config.rootfsPath: %s is not a raw disk of whole sectors, because it has %llu bytes: name another disk",
			absolute, (unsigned long long)size);
		return error_reason(err, REASON_NOT_AN_IMAGE, absolute);
	}
	if (check_ext4(file, err) < 0) {
		error_prefix(err, "config.rootfsPath: %s", absolute);
		return error_reason(err, REASON_NOT_AN_IMAGE, absolute);
	}
	*path = steal_ptr(&absolute);
	return 0;
}

static int look_at_vhds(const struct config *config, struct error *err)
{
	const json_t *disk;
	size_t i;

	json_array_foreach(config->disks, i, disk)
	{
		autofree char *path = path_absolute(json_text(disk, "path", ""), err);

		if (!path || vhd_file_check_disk(path, err) < 0)
			return error_prefix(err, "config.disks[%u].path", (unsigned)i);
	}
	return 0;
}

static int64_t read_initrd(void *file, uint64_t at, void *to, size_t len, struct error *err)
{
	uint64_t size = 0, n;

	if (file_size(file, &size, err) < 0)
		return -1;
	if (at >= size)
		return 0;
	n = size - at < len ? size - at : len;
	return file_read_at(file, at, to, (size_t)n, err) < 0 ? -1 : (int64_t)n;
}

/* Hashes the file `init` in the initrd. If the initrd is compressed, or is not from this project
 * and has no such file, the digest is "", which is not an error. */
static int hash_init(struct inputs *inputs, struct error *err)
{
	autohandle HANDLE file = file_open(inputs->initrd, err);
	struct error why = {0};
	uint64_t at = 0, size = 0;

	if (file == INVALID_HANDLE_VALUE)
		return -1;
	if (cpio_search(read_initrd, file, "init", &at, &size, &why) < 0)
		return why.code == ERR_NOT_FOUND ? 0 : error_copy(err, &why);
	return file_digest_range(file, at, size, inputs->init_sha256, err);
}

int inputs_find(const struct config *config, struct inputs *out, const char **artifact,
		struct error *err)
{
	struct inputs inputs = {0};
	const char *wrong = NULL;

	if (open_input("config.kernelPath", config->kernel_path, check_kernel_head, &inputs.kernel,
		       inputs.kernel_sha256, err) < 0)
		wrong = "kernel";
	else if (open_input("config.initrdPath", config->initrd_path, NULL, &inputs.initrd,
			    inputs.initrd_sha256, err) < 0)
		wrong = "initrd";
	else if (hash_init(&inputs, err) < 0)
		wrong = "init";
	else if (look_at_rootfs(config->rootfs_path, &inputs.rootfs, err) < 0)
		wrong = "rootfs";
	if (!wrong) {
		*out = inputs;
		return 0;
	}
	if (artifact)
		*artifact = wrong;
	inputs_close(&inputs);
	return -1;
}

int inputs_open(const struct config *config, struct inputs *out, struct error *err)
{
	struct inputs inputs = {0};

	if (inputs_find(config, &inputs, NULL, err) < 0)
		return -1;
	if (look_at_vhds(config, err) < 0) {
		inputs_close(&inputs);
		return -1;
	}
	*out = inputs;
	return 0;
}

void inputs_close(struct inputs *inputs)
{
	free(inputs->kernel);
	free(inputs->initrd);
	free(inputs->rootfs);
	*inputs = (struct inputs){0};
}

int inputs_hash_raw(struct inputs *inputs, struct error *err)
{
	autohandle HANDLE file = file_open(inputs->rootfs, err);

	if (file == INVALID_HANDLE_VALUE ||
	    file_digest(file, UINT64_MAX, inputs->rootfs_sha256, err) < 0)
		return error_prefix(err, "config.rootfsPath");
	return 0;
}

int inputs_check_vhd(struct inputs *inputs, const struct store *store, bool hash, struct error *err)
{
	autofree char *vhd = store_path(store, ROOT_VHD, err);

	return vhd ? vhd_file_check(vhd, hash ? inputs->rootfs_sha256 : NULL, err) : -1;
}

/* --- disks -------------------------------------------------------------------------------------
 */

void disks_free(struct disks *disks)
{
	for (size_t i = 0; i < disks->count; i++) {
		free((void *)(uintptr_t)disks->list[i].name);
		free((void *)(uintptr_t)disks->list[i].path);
	}
	free(disks->list);
	json_decref(disks->guest);
	*disks = (struct disks){0};
}

/* Adds a disk to the list. The disk's index in the list is its LUN (the number on the SCSI
 * controller). The disk's name contains the LUN. */
static int add_machine_disk(struct disks *disks, char *path, bool read_only, struct error *err)
{
	char *name = NULL;

	if (!path)
		return -1;
	if (disks->count == 0)
		name = strdup("rootfs");
	else if (asprintf(&name, "disk%u", (unsigned)disks->count) < 0)
		name = NULL;
	disks->list[disks->count++] = (struct machine_disk){name, path, read_only};
	return name ? 0 : error_errno(err, ENOMEM, "memory");
}

static int add_further_disk(struct disks *disks, const json_t *disk, struct error *err)
{
	const char *mode = json_text(disk, "mode", "");
	json_t *told;

	if (add_machine_disk(disks, path_absolute(json_text(disk, "path", ""), err),
			     strcmp(mode, "ro") == 0, err) < 0)
		return -1;
	told = json_pack("{s:s, s:s, s:s}", "serial", disks->list[disks->count - 1].name,
			 "mountpoint", json_text(disk, "mountpoint", ""), "mode", mode);
	return json_array_append_new(disks->guest, told) < 0 ? error_errno(err, ENOMEM, "memory")
							     : 0;
}

int disks_of(const struct config *config, const struct store *store, struct disks *out,
	     struct error *err)
{
	size_t most = 1 + json_array_size(config->disks);
	struct disks disks = {.list = calloc(most, sizeof(*disks.list)), .guest = json_array()};
	int status = disks.list && disks.guest ? 0 : error_errno(err, ENOMEM, "memory");

	if (status == 0)
		status = add_machine_disk(&disks, store_path(store, ROOT_VHD, err), false, err);
	for (size_t i = 0; status == 0 && i + 1 < most; i++)
		status = add_further_disk(&disks, json_array_get(config->disks, i), err);
	if (status < 0)
		disks_free(&disks);
	else
		*out = disks;
	return status;
}
