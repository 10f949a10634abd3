/* SPDX-License-Identifier: MIT */
/*
 * Starts Firecracker in its cell. Firecracker opens files by name. So the cell has fixed names
 * (cell_file) for the files that were checked, and each name is made from the descriptor with which
 * the file was checked.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/firecracker/binary.h"
#include "backend/firecracker/firecracker.h"
#include "backend/parts/confinement.h"
#include "backend/parts/kvm_probe.h"
#include "backend/parts/vmm_filter.h"
#include "base/argv.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "base/path.h"

#define FILTER_VARIABLE "MICROAGENT_FIRECRACKER_SECCOMP"
#define READABLE_MAX 32
#define LOOKED_AT "looked-at"
enum { LEASE_FD = 3 };

struct cell_parts {
	char *program, *bwrap;
	struct fc_version version;
	const char *readable[READABLE_MAX + 2];
	char names[FC_DISKS_MAX + 1][32];
	struct cell_file files[FC_DISKS_MAX + 4];
	size_t nfiles;
	struct cell_data data[1];
	size_t ndata;
};

static void parts_free(struct cell_parts *p)
{
	free(p->program);
	free(p->bwrap);
	fc_version_free(&p->version);
}

static int find_cell_parts(struct cell_parts *p, struct error *err)
{
	const json_t *path;
	size_t i;

	p->program = fc_find(err);
	if (!p->program || fc_check(p->program, &p->version, err) < 0)
		return -1;
	p->bwrap = confinement_bwrap(err);
	if (!p->bwrap)
		return -1;
	p->readable[0] = "/etc/ld.so.cache";
	json_array_foreach(p->version.stand_in, i, path)
	{
		if (i < READABLE_MAX)
			p->readable[i + 1] = json_string_value(path);
	}
	return 0;
}

static void add_file(struct cell_parts *p, int fd, const char *path, bool read_only)
{
	p->files[p->nfiles++] = (struct cell_file){fd, path, read_only};
}

static void add_disk(struct cell_parts *p, const char *serial, int fd, bool read_only)
{
	char *name = p->names[p->nfiles % (FC_DISKS_MAX + 1)];

	requests_disk_path(serial, name);
	add_file(p, fd, name, read_only);
}

static int list_cell_files(struct cell_parts *p, const struct vm_boot *boot, int rootfs, int run,
			   struct error *err)
{
	if (boot->disk_count > FC_DISKS_MAX)
		return error_set(
			err, ERR_INVALID,
			"a Firecracker machine has room for %d disks, and its root disk, config.disks and config.bundles are more together: leave some out",
			FC_DISKS_MAX);
	if (rootfs >= 0)
		add_disk(p, "rootfs", rootfs, false);
	for (size_t i = 0; i < boot->disk_count; i++)
		add_disk(p, boot->disks[i].serial, boot->disks[i].fd, boot->disks[i].read_only);
	add_file(p, run, FC_RUN, false);
	add_file(p, boot->kernel_fd, FC_KERNEL, true);
	/* If the root file system is in memory, the initramfs is a file in memory too. No path
	 * names such a file, so the cell gets a copy. */
	if (fcntl(boot->initrd_fd, F_GET_SEALS) >= 0)
		p->data[p->ndata++] = (struct cell_data){boot->initrd_fd, FC_INITRD, false};
	else
		add_file(p, boot->initrd_fd, FC_INITRD, true);
	return 0;
}

/*
 * Copies a disk that is only read. Returns the copy's descriptor, which the caller closes, or -1
 * with an error. Even a machine that only reads its disk writes to it: a file system that was not
 * unmounted must replay its journal before it can be read. Firecracker has no layer for these
 * writes, so the machine gets a copy of the disk.
 *
 * The copy shares its blocks with the disk if the host's file system can do that. The copy
 * is removed with the run directory. If blocks must be copied, LIMIT_STATE_FREE_BYTES must be left
 * free on the host's file system. Otherwise the function fails.
 */
static int copy_looked_at(const struct vm_boot *boot, int run, struct error *err)
{
	if (path_clone_with_room_at(boot->rootfs_fd, run, LOOKED_AT, 0600,
				    limit_get(LIMIT_STATE_FREE_BYTES), err) < 0)
		return error_prefix(
			err, "the workspace's disk cannot be copied for the machine that reads it");
	int fd = openat(run, LOOKED_AT, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	return fd < 0 ? error_errno(err, errno, LOOKED_AT) : fd;
}

static int spawn_parts(struct firecracker *fc, const struct vm_boot *boot,
		       const struct fc_ends *ends, const struct cell_parts *p, struct error *err)
{
	const struct proc_fd fds[] = {
		{ends->in, 0}, {ends->out, 1}, {ends->err, 2}, {boot->lease_fd, LEASE_FD}};
	autoargv struct argv words = ARGV_INIT;
	autoclose int filter = -1;

	if (vmm_filter_mode(FILTER_VARIABLE, &fc->vm.unfiltered, err) < 0)
		return -1;
	if (fc->vm.unfiltered && fc->vm.log)
		log_line(
			fc->vm.log,
			"the filter refuses Firecracker no system call: the kernel's log has the calls that it would refuse");
	if (vmm_filter_open(VMM_FIRECRACKER, fc->vm.unfiltered, &filter, err) < 0)
		return -1;
	/* Firecracker does not get the label, since it accepts only an id of letters and digits. */
	argv_add(&words, p->program);
	argv_add(&words, "--api-sock");
	argv_add(&words, FC_RUN "/" FC_API_NAME);
	const struct cell_spec spec = {
		.bwrap = p->bwrap,
		.program = p->program,
		.argv = argv_finish(&words, err),
		.readable = p->readable,
		.device = p->version.stand_in ? NULL : kvm_device(),
		/* the tests' stand-in for Firecracker needs /proc */
		.proc = p->version.stand_in != NULL,
		.tun = fc->vm.net.mode != NETWORK_ISOLATED,
		.data = p->data,
		.ndata = p->ndata,
		.files = p->files,
		.nfiles = p->nfiles,
		.fds = fds,
		.nfds = ARRAY_SIZE(fds),
		.filter = filter < 0 ? 0 : filter,
	};
	return spec.argv ? cell_spawn(&spec, &fc->vm.cell, err) : -1;
}

int fc_start(struct firecracker *fc, const struct vm_boot *boot, const struct fc_ends *ends,
	     struct error *err)
{
	__attribute__((cleanup(parts_free))) struct cell_parts parts = {0};
	autoclose int run = fc_run_open(fc, boot, err);
	autoclose int copy = -1;

	if (run < 0 || find_cell_parts(&parts, err) < 0)
		return -1;
	if (boot->use == VM_READ && boot->rootfs_fd >= 0) {
		copy = copy_looked_at(boot, run, err);
		if (copy < 0)
			return -1;
	}
	if (list_cell_files(&parts, boot, copy >= 0 ? copy : boot->rootfs_fd, run, err) < 0 ||
	    spawn_parts(fc, boot, ends, &parts, err) < 0)
		return -1;
	fc->vm.monitor_pid = fc->vm.cell.monitor.pid;
	return 0;
}
