/* SPDX-License-Identifier: MIT */
#include "supervisor/inputs/boot_files.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/architecture.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "base/platform/file.h"
#include "channel/own_initrd.h"
#include "store/disk_file.h"
#include "store/layer.h"
#include "store/own_links.h"
#include "store/taken.h"
#include "supervisor/inputs/ram_root.h"
#include "supervisor/inputs/rootfs.h"

#define SECTOR 512

static const char *const file_fields[BOOT_FILE_COUNT] = {
	[BOOT_KERNEL] = "config.kernelPath",
	[BOOT_INITRD] = "config.initrdPath",
	[BOOT_INIT] = "config.initrdPath",
	[BOOT_BASE] = "config.rootfsBase",
	[BOOT_MODEL] = "config.macos.hardwareModelPath",
	[BOOT_IDENTIFIER] = "config.macos.machineIdentifierPath",
	[BOOT_AUXILIARY] = "config.macos.auxiliaryStoragePath",
	[BOOT_ROOTFS] = "config.rootfsPath",
};
/* The fields of the config that name the boot files of a machine whose root file system is in
 * memory. */
static const char *const ram_root_fields[BOOT_FILE_COUNT] = {
	[BOOT_KERNEL] = "config.kernelPath",
	[BOOT_INITRD] = "config.kernelPath",
	[BOOT_INIT] = "config.kernelPath",
	[BOOT_ROOTFS] = "config.initrdPath",
};
static_assert(ARRAY_SIZE(file_fields) == BOOT_FILE_COUNT, "a field for every file");

static const char *field_of(const struct boot_files *files, enum boot_file which)
{
	if (which == BOOT_INITRD && files->beside)
		which = BOOT_KERNEL;
	return (files->ram_root ? ram_root_fields : file_fields)[which];
}

static char *initrd_path(const struct config *config)
{
	char *path = NULL;

	if (config->rootfs_path)
		return strdup(config->initrd_path);
	return asprintf(&path, "%s.initrd", config->kernel_path) < 0 ? NULL : path;
}

static bool is_beside(const char *kernel, const char *initrd)
{
	size_t len = strlen(kernel);

	return strncmp(initrd, kernel, len) == 0 && strcmp(initrd + len, ".initrd") == 0;
}

/* Checks that a file is regular and not empty. `given` is a descriptor of the file at `path`; -1:
 * the file could not be opened, and *err has the reason. Returns `given`; if the check fails,
 * closes `given` and returns -1 with an error. */
static int check_regular(int given, const char *path, struct error *err)
{
	autoclose int fd = given;
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) < 0)
		return error_errno(err, errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return error_set(
			err, ERR_INVALID,
			"%s is not a regular file: name a file that a machine can boot from", path);
	if (st.st_size == 0)
		return error_set(err, ERR_INVALID, "%s is empty", path);
	return steal_fd(&fd);
}

static int open_regular(const char *path, struct error *err)
{
	return check_regular(own_links_file(path, O_RDONLY, NULL, err), path, err);
}

static bool is_written(enum rootfs_use use)
{
	return use == ROOTFS_BOOT || use == ROOTFS_OTHERS_WRITE;
}

static int open_disk(const char *path, enum rootfs_use use, struct error *err)
{
	bool others = use == ROOTFS_OTHERS_LOOK || use == ROOTFS_OTHERS_WRITE;
	int flags = is_written(use) ? O_RDWR : O_RDONLY;

	return check_regular(disk_file_open(path, flags, others, err), path, err);
}

/* Opens and hashes a file to which no guest writes. Protects kernel and initrd from being written
 * (file_hold()), from before they are hashed until the VMM has read them (vm_has_read()). A file
 * that cannot be protected is accepted too. */
static void open_hashed(struct boot_files *files, enum boot_file which)
{
	struct error *err = &files->file[which].error;

	files->file[which].fd = open_regular(files->file[which].path, err);
	if (files->file[which].fd < 0)
		return;
	if (which == BOOT_KERNEL || which == BOOT_INITRD)
		(void)file_hold(files->file[which].fd, limit_get(LIMIT_LOAD_MS));
	if (digest_of(files->file[which].fd, DIGEST_FILE, files->file[which].sha256, err) < 0)
		error_prefix(err, "%s", files->file[which].path);
}

/* Checks the unpacked kernel that belongs to a packed kernel. Compares only its architecture. Does
 * not check that both files are the same kernel: a VMM that needs an unpacked kernel cannot boot
 * the packed one. */
static int check_unpacked(int fd, enum architecture machine, struct error *err)
{
	unsigned char head[KERNEL_HEAD];
	ssize_t n = pread(fd, head, sizeof(head), 0);

	if (n > 0 && architecture_of_program(head, (size_t)n) == machine)
		return 0;
	return error_set(
		err, ERR_INVALID,
		"the file is not an unpacked kernel for %s: remove the file, and refresh the kernels of the cache, which makes the file again",
		architecture_name(machine));
}

static void open_kernel(struct boot_files *files, enum architecture machine)
{
	struct error *err = &files->file[BOOT_KERNEL].error;
	int fd;

	open_hashed(files, BOOT_KERNEL);
	fd = files->file[BOOT_KERNEL].fd;
	if (err->code == ERR_NONE && ((files->unpacked && check_unpacked(fd, machine, err) < 0) ||
				      architecture_check_kernel(fd, machine, err) < 0)) {
		error_prefix(err, "%s", files->file[BOOT_KERNEL].path);
		if (err->reason == REASON_NOT_A_KERNEL)
			error_reason(err, REASON_NOT_A_KERNEL, files->file[BOOT_KERNEL].path);
	}
}

static void find_init(struct boot_files *files)
{
	struct error *err = &files->file[BOOT_INIT].error;
	const char *path = files->file[BOOT_INIT].path;
	int fd = files->file[BOOT_INITRD].fd;

	*err = files->file[BOOT_INITRD].error;
	if (fd < 0 || digest_of(fd, DIGEST_INIT, files->file[BOOT_INIT].sha256, err) == 0)
		return;
	if (err->reason == REASON_INITRD_DAMAGED) {
		error_prefix(err, "initrd %s", path);
		error_reason(err, REASON_INITRD_DAMAGED, path);
	} else {
		error_prefix(err, "the microagent-init in %s cannot be read", path);
	}
}

void boot_files_hash_rootfs(struct boot_files *files)
{
	struct error *err = &files->file[BOOT_ROOTFS].error;
	char *sha256 = files->file[BOOT_ROOTFS].sha256;
	int fd = files->file[BOOT_ROOTFS].fd;
	struct digest_key now = {0};

	if (fd < 0 || (files->ram_root && *sha256))
		return;
	if (digest_key(fd, DIGEST_FILE, &now, err) == 0) {
		if (*sha256 && digest_key_equal(&now, &files->rootfs_key))
			return;
		files->rootfs_key = now;
		*sha256 = '\0';
		if (digest_of(fd, DIGEST_FILE, sha256, err) == 0)
			return;
	}
	error_prefix(err, "%s", files->file[BOOT_ROOTFS].path);
}

int boot_files_take(const struct boot_files *files, bool read_only, struct error *err)
{
	if (files->file[BOOT_AUXILIARY].path &&
	    file_take(files->file[BOOT_AUXILIARY].fd, files->file[BOOT_AUXILIARY].path, read_only,
		      err) < 0)
		return error_prefix(err, "%s", file_fields[BOOT_AUXILIARY]);
	if (files->file[BOOT_BASE].path &&
	    file_take(files->file[BOOT_BASE].fd, files->file[BOOT_BASE].path, true, err) < 0)
		return error_prefix(err, "%s", file_fields[BOOT_BASE]);
	if (file_take(files->file[BOOT_ROOTFS].fd, files->file[BOOT_ROOTFS].path,
		      read_only || files->ram_root, err) < 0)
		return error_prefix(err, "%s", field_of(files, BOOT_ROOTFS));
	return 0;
}

static int refuse_read_only_root(const char *path, struct error *err)
{
	error_set(
		err, ERR_DENIED,
		"%s is read-only, and the guest writes to its root file system; copy it first (cp --sparse=always, then chmod u+w) and name the copy",
		path);
	return error_reason(err, REASON_ROOT_READ_ONLY, path);
}

/* Returns true if the file must not be written, because it cannot be opened for writing, or because
 * its mode forbids writing. The mode is examined as well, since it does not stop root. The mode
 * protects a cached image from which many workspaces are cloned. */
static bool is_read_only(const char *path, int fd)
{
	struct stat st;

	return (fstat(fd, &st) == 0 && !(st.st_mode & S_IWUSR)) ||
	       faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) < 0;
}

/* Opens a root file system in memory. The guest gets a copy of the file in its memory. So the file
 * itself is only read, and must always have its recorded digest. */
static void open_ram_root(struct boot_files *files, int64_t memory_mib)
{
	struct error *err = &files->file[BOOT_ROOTFS].error;

	open_hashed(files, BOOT_ROOTFS);
	if (err->code == ERR_NONE &&
	    ram_root_check(files->file[BOOT_ROOTFS].fd, memory_mib, err) < 0)
		error_prefix(err, "%s", files->file[BOOT_ROOTFS].path);
}

/* Opens the base of the layer that is the root file system. The base is a raw disk and is only
 * read. */
static void open_layer_base(struct boot_files *files)
{
	struct error *err = &files->file[BOOT_BASE].error;

	open_hashed(files, BOOT_BASE);
	if (err->code == ERR_NONE && rootfs_check(files->file[BOOT_BASE].fd, err) < 0)
		error_prefix(err, "%s", files->file[BOOT_BASE].path);
}

/* Checks that a layer fits its base. If the base could not be opened, the layer is not checked,
 * since the error about the base is reported. */
static int check_layer(const struct boot_files *files, int fd, struct error *err)
{
	struct stat base;

	if (files->file[BOOT_BASE].fd < 0)
		return 0;
	if (fstat(files->file[BOOT_BASE].fd, &base) < 0)
		return error_errno(err, errno, "%s", files->file[BOOT_BASE].path);
	return layer_check(fd, (uint64_t)base.st_size, err);
}

/* Checks the disk of a macOS guest. The format of such a disk is unknown, so only its size is
 * checked: a disk must consist of whole sectors. */
static int check_macos_disk(int fd, struct error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_errno(err, errno, "cannot be read");
	if (rootfs_refuse_qcow2(fd, err) < 0)
		return -1;
	return st.st_size % SECTOR == 0
		       ? 0
		       : error_set(
				 err, ERR_INVALID,
				 "the file is not a disk, because its size of %lld bytes is not a whole number of sectors",
				 (long long)st.st_size);
}

static int check_root_disk(const struct boot_files *files, int fd, struct error *err)
{
	if (files->file[BOOT_MODEL].path)
		return check_macos_disk(fd, err);
	return files->file[BOOT_BASE].path ? check_layer(files, fd, err) : rootfs_check(fd, err);
}

static void open_rootfs(struct boot_files *files, enum rootfs_use use)
{
	struct error *err = &files->file[BOOT_ROOTFS].error;
	const char *path = files->file[BOOT_ROOTFS].path;
	int fd = open_disk(path, use, err);

	if (fd < 0 && is_written(use) && (err->errnum == EACCES || err->errnum == EROFS))
		refuse_read_only_root(path, err);
	if (fd < 0)
		return;
	files->file[BOOT_ROOTFS].fd = fd;
	if (use != ROOTFS_LOOK && use != ROOTFS_OTHERS_LOOK && is_read_only(path, fd))
		refuse_read_only_root(path, err);
	else if (check_root_disk(files, fd, err) < 0)
		error_prefix(err, "%s", path);
}

/* Opens the auxiliary storage, to which macOS and its firmware write. Hashes the file now, since it
 * is small. */
static void open_auxiliary(struct boot_files *files, enum rootfs_use use)
{
	struct error *err = &files->file[BOOT_AUXILIARY].error;
	const char *path = files->file[BOOT_AUXILIARY].path;
	int fd = open_disk(path, use, err);

	files->file[BOOT_AUXILIARY].fd = fd;
	if (fd >= 0 && digest_of(fd, DIGEST_FILE, files->file[BOOT_AUXILIARY].sha256, err) < 0)
		error_prefix(err, "%s", path);
}

static char *kernel_file(const struct config *config, const struct backend *backend, bool *unpacked)
{
	char *path = NULL;

	*unpacked = backend->takes_no_bzimage && architecture_is_packed_kernel(config->kernel_path);
	if (!*unpacked)
		return strdup(config->kernel_path);
	return asprintf(&path, "%s.vmlinux", config->kernel_path) < 0 ? NULL : path;
}

/* Copies the paths of the config into `files`. Returns -1 if there is no memory. */
static int name_linux_files(struct boot_files *files, const struct config *config,
			    const struct backend *backend)
{
	files->file[BOOT_KERNEL].path = kernel_file(config, backend, &files->unpacked);
	files->file[BOOT_INITRD].path = initrd_path(config);
	files->file[BOOT_INIT].path = initrd_path(config);
	files->ram_root = !config->rootfs_path;
	files->beside = files->file[BOOT_INITRD].path &&
			is_beside(config->kernel_path, files->file[BOOT_INITRD].path);
	files->file[BOOT_ROOTFS].path =
		strdup(files->ram_root ? config->initrd_path : config->rootfs_path);
	if (config->rootfs_base)
		files->file[BOOT_BASE].path = strdup(config->rootfs_base);
	return files->file[BOOT_KERNEL].path && files->file[BOOT_INITRD].path &&
			       files->file[BOOT_INIT].path && files->file[BOOT_ROOTFS].path &&
			       (files->file[BOOT_BASE].path || !config->rootfs_base)
		       ? 0
		       : -1;
}

static void name_initrd(struct boot_files *files, char *initrd, char *init)
{
	free(files->file[BOOT_INITRD].path);
	free(files->file[BOOT_INIT].path);
	files->file[BOOT_INITRD].path = initrd;
	files->file[BOOT_INIT].path = init;
}

static void make_own_initrd(struct boot_files *files, const struct config *config)
{
	struct error *why = &files->file[BOOT_INITRD].error;
	autofree char *initrd = own_initrd(config->kernel_path, config->architecture, why);
	char *init = initrd ? strdup(initrd) : NULL;

	if (init)
		name_initrd(files, steal_ptr(&initrd), init);
	else if (initrd)
		error_errno(why, ENOMEM, "%s", initrd);
}

/* Finds the initrd of the cache for the kernel, but does not make it. If the cache does not have
 * this initrd yet, stores only the init that it would contain. */
static void find_own_initrd(struct boot_files *files, const struct config *config)
{
	struct error *why = &files->file[BOOT_INITRD].error;
	struct own_initrd own = {0};
	char *init;

	if (own_initrd_find(config->kernel_path, config->architecture, &own, why) < 0)
		return;
	init = own.path ? strdup(own.path) : steal_ptr(&own.init);
	if (!init) {
		error_errno(why, ENOMEM, "%s", own.path);
	} else {
		if (!own.path)
			memcpy(files->file[BOOT_INIT].sha256, own.init_sha256, DIGEST_TEXT);
		name_initrd(files, steal_ptr(&own.path), init);
	}
	own_initrd_free(&own);
}

/* Uses an initrd of the cache for a kernel that has no initrd in its directory. If this initrd
 * cannot be made, stores the reason with the file. Makes no initrd for a kernel that is refused. If
 * the kernel is missing, an initrd that was made for it earlier can still be found. */
static void use_own_initrd(struct boot_files *files, const struct config *config,
			   enum initrd_use use)
{
	const struct error *kernel = &files->file[BOOT_KERNEL].error;

	if (!files->beside ||
	    (kernel->code != ERR_NONE && (use == INITRD_MAKE || kernel->errnum != ENOENT)) ||
	    access(files->file[BOOT_INITRD].path, F_OK) == 0 || errno != ENOENT)
		return;
	if (use == INITRD_MAKE)
		make_own_initrd(files, config);
	else
		find_own_initrd(files, config);
}

static int name_macos_files(struct boot_files *files, const struct config *config)
{
	files->file[BOOT_MODEL].path = strdup(config->macos.hardware_model);
	files->file[BOOT_IDENTIFIER].path = strdup(config->macos.machine_identifier);
	files->file[BOOT_AUXILIARY].path = strdup(config->macos.auxiliary_storage);
	files->file[BOOT_ROOTFS].path = strdup(config->rootfs_path);
	return files->file[BOOT_MODEL].path && files->file[BOOT_IDENTIFIER].path &&
			       files->file[BOOT_AUXILIARY].path && files->file[BOOT_ROOTFS].path
		       ? 0
		       : -1;
}

static void open_linux_files(struct boot_files *files, const struct config *config,
			     enum initrd_use initrd)
{
	open_kernel(files, config->architecture);
	use_own_initrd(files, config, initrd);
	if (files->file[BOOT_INITRD].path && files->file[BOOT_INITRD].error.code == ERR_NONE)
		open_hashed(files, BOOT_INITRD);
	find_init(files);
	if (files->file[BOOT_BASE].path)
		open_layer_base(files);
	if (files->ram_root)
		open_ram_root(files, config->memory_mib);
}

static void open_macos_files(struct boot_files *files, enum rootfs_use use)
{
	open_hashed(files, BOOT_MODEL);
	open_hashed(files, BOOT_IDENTIFIER);
	open_auxiliary(files, use);
}

int boot_files_open(const struct config *config, const struct backend *backend, enum rootfs_use use,
		    enum initrd_use initrd, struct boot_files *out, struct error *err)
{
	bool macos = config->macos.hardware_model != NULL;
	struct boot_files files = {0};

	for (int i = 0; i < BOOT_FILE_COUNT; i++)
		files.file[i].fd = -1;
	if ((macos ? name_macos_files(&files, config) : name_linux_files(&files, config, backend)) <
	    0) {
		boot_files_close(&files);
		return error_errno(err, ENOMEM, "boot files");
	}
	if (macos)
		open_macos_files(&files, use);
	else
		open_linux_files(&files, config, initrd);
	if (!files.ram_root)
		open_rootfs(&files, use);
	*out = files;
	return 0;
}

void boot_files_close(struct boot_files *files)
{
	for (int i = 0; i < BOOT_FILE_COUNT; i++) {
		if (files->file[i].path && files->file[i].fd >= 0)
			close(files->file[i].fd);
		free(files->file[i].path);
		files->file[i].path = NULL;
	}
}

static int tell_not_unpacked(const char *path, struct error *err)
{
	error_set(
		err, ERR_NOT_FOUND,
		"the kernel is packed (bzImage), which this VMM cannot boot, and the unpacked kernel %s does not exist",
		path);
	return error_reason(err, REASON_KERNEL_PACKED, path);
}

/* Sets the error for a missing file. The error names only the file. The error gives no advice,
 * since the advice depends on the workspace: this function does not know if there is a
 * workspace. */
static int tell_missing(const struct boot_files *files, enum boot_file which, const char *path,
			struct error *err)
{
	enum error_reason reason = which == BOOT_KERNEL	  ? REASON_KERNEL_MISSING
				   : which == BOOT_INITRD ? REASON_INITRD_MISSING
							  : REASON_ROOT_MISSING;

	if (which == BOOT_KERNEL && files->unpacked)
		return tell_not_unpacked(path, err);
	error_set(err, ERR_NOT_FOUND, "%s does not exist", path);
	return error_reason(err, reason, path);
}

int boot_files_require(const struct boot_files *files, struct error *err)
{
	for (int i = 0; i < BOOT_FILE_COUNT; i++) {
		if (files->file[i].error.code == ERR_NONE)
			continue;
		*err = files->file[i].error;
		if (files->file[i].fd < 0 && err->errnum == ENOENT)
			tell_missing(files, (enum boot_file)i, files->file[i].path, err);
		return error_prefix(err, "%s", field_of(files, (enum boot_file)i));
	}
	return 0;
}
