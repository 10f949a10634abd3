/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/parts/cell_args.h"
#include "backend/parts/confinement.h"
#include "backend/parts/vmm_filter.h"
#include "backend/qemu/accelerator.h"
#include "backend/qemu/binary.h"
#include "backend/qemu/command_line.h"
#include "backend/qemu/qemu.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/platform/file.h"
#include "store/layer.h"

#define KERNEL_IN_CELL "/kernel"
#define INITRD_IN_CELL "/initrd"
/* The numbers of further descriptors in the QEMU process. Without a cell, QEMU opens kernel and
 * initrd as /proc/self/fd/NUMBER. */
enum { KERNEL_FD = QEMU_FD_END, INITRD_FD, FIRST_DISK_FD };
#define FILTER_VARIABLE "MICROAGENT_QEMU_SECCOMP"
#define FDS_MAX (FIRST_DISK_FD + MACHINE_EXTRAS_MAX)

/* The number of directories from which QEMU reads its data. Firmware and modules in them must have
 * QEMU's version. */
enum { PROGRAM_DATA = 3 };
struct programs {
	/* The paths of QEMU and bwrap; `bwrap` is NULL if the config wants no cell. */
	char *qemu, *bwrap;
	char *data[PROGRAM_DATA];
	bool qboot; /* one of the directories in `data` has qboot */
	/* This QEMU is not the distribution's, and has its own data, which QEMU may not find by
	 * itself. */
	bool own_data;
};

static void programs_free(struct programs *p)
{
	free(p->qemu);
	free(p->bwrap);
	for (size_t i = 0; i < PROGRAM_DATA; i++)
		free(p->data[i]);
}

/* Finds the programs, and the data of QEMU. The data is below the directory that contains QEMU's
 * directory bin. A QEMU without data there is treated as a copy of the distribution's QEMU. */
static int find_programs(const struct config *config, struct programs *p, struct error *err)
{
	const char *libraries = cell_libraries() + strlen("/usr/");
	char modules[64], above[PATH_MAX], first[PATH_MAX + 16], qboot[PATH_MAX];
	autofree char *prefix = NULL;

	p->qemu = binary_find(config->architecture, err);
	if (!p->qemu)
		return -1;
	snprintf(modules, sizeof(modules), "%s/qemu", libraries);
	const char *const names[PROGRAM_DATA] = {"share/qemu", "share/seabios", modules};
	snprintf(above, sizeof(above), "%.*s/..", (int)(strrchr(p->qemu, '/') - p->qemu), p->qemu);
	prefix = realpath(above, NULL);
	snprintf(first, sizeof(first), "%s/%s", prefix ? prefix : "", names[0]);
	p->own_data = prefix && strcmp(prefix, "/usr") != 0 && access(first, F_OK) == 0;
	for (size_t i = 0; i < PROGRAM_DATA; i++) {
		if (asprintf(&p->data[i], "%s/%s", p->own_data ? prefix : "/usr", names[i]) < 0) {
			p->data[i] = NULL;
			return error_errno(err, ENOMEM, "QEMU's data");
		}
		snprintf(qboot, sizeof(qboot), "%s/" MACHINE_QBOOT, p->data[i]);
		p->qboot = p->qboot || access(qboot, R_OK) == 0;
	}
	if (config->confinement == CONFINEMENT_SECCOMP)
		return 0;
	p->bwrap = confinement_bwrap(err);
	return p->bwrap ? 0 : -1;
}

/* Copies a file into memory. Returns the copy's descriptor, which the caller closes, or -1 with an
 * error. QEMU's user can open the copy as /proc/self/fd/NUMBER, although the file itself may belong
 * to another user. */
static int copy_to_memory(int fd, const char *name, struct error *err)
{
	autoclose int copy = memfd_create(name, MFD_CLOEXEC);
	struct stat st;
	off_t at = 0;

	if (copy < 0 || fstat(fd, &st) < 0)
		return error_errno(err, errno, "copy of the %s", name);
	while (at < st.st_size) {
		ssize_t n = sendfile(copy, fd, &at, (size_t)(st.st_size - at));
		if (n < 0 && errno != EINTR)
			return error_errno(err, errno, "copy of the %s", name);
		if (n == 0)
			return error_set(
				err, ERR_IO,
				"the %s became shorter while it was read: another program changes it; try again when that has ended",
				name);
	}
	return steal_fd(&copy);
}

/* The descriptors that QEMU gets, and the disks, shares and links for the command line. */
struct handed {
	struct proc_fd fds[FDS_MAX];
	size_t nfds;
	struct machine_disk disks[MACHINE_EXTRAS_MAX];
	struct machine_share shares[MACHINE_EXTRAS_MAX];
	struct machine_link links[VM_LINKS_MAX];
};

/* Lists the descriptors that QEMU gets. A cell has kernel and initrd as files, so they are
 * descriptors only without a cell. An entry of `fixed` whose descriptor is -1 is left out. */
static void list_handed(const struct vm_boot *boot, const struct qemu_ends *ends, int kernel,
			int initrd, int overlay, struct handed *out)
{
	const struct proc_fd fixed[] = {
		{ends->qemu_stderr, 2},
		{ends->qmp, QEMU_FD_QMP},
		{ends->serial, QEMU_FD_SERIAL},
		{ends->console, QEMU_FD_CONSOLE},
		{ends->vsock_qemu, QEMU_FD_VSOCK},
		{ends->net_qemu, QEMU_FD_NET},
		{boot->rootfs_fd, QEMU_FD_ROOTFS},
		{boot->lease_fd, QEMU_FD_LEASE},
		{kernel, KERNEL_FD},
		{initrd, INITRD_FD},
		{overlay, QEMU_FD_OVERLAY},
		{boot->base_fd, QEMU_FD_BASE},
		{boot->ram_fd, QEMU_FD_RAM},
	};
	int next = FIRST_DISK_FD;

	out->nfds = 0;
	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++)
		if (fixed[i].from >= 0)
			out->fds[out->nfds++] = fixed[i];
	for (size_t i = 0; i < boot->disk_count; i++, next++) {
		out->fds[out->nfds++] = (struct proc_fd){boot->disks[i].fd, next};
		out->disks[i] = (struct machine_disk){.serial = boot->disks[i].serial,
						      .fd = next,
						      .read_only = boot->disks[i].read_only};
	}
	for (size_t i = 0; i < ends->share_count; i++, next++) {
		const json_t *share = json_array_get(boot->config->shares, i);

		out->fds[out->nfds++] = (struct proc_fd){ends->shares[i].vmm, next};
		out->shares[i] =
			(struct machine_share){.tag = json_text(share, "tag", NULL), .fd = next};
	}
	for (size_t i = 0; i < boot->link_count; i++, next++) {
		out->fds[out->nfds++] = (struct proc_fd){boot->links[i].tap_fd, next};
		out->links[i] = (struct machine_link){.mac = boot->links[i].mac, .fd = next};
	}
}

/* Builds QEMU's command line. The paths of kernel and initrd depend on whether there is a cell. */
static int build_qemu_words(const struct qemu *qemu, const struct vm_boot *boot,
			    const struct programs *programs, const struct handed *handed,
			    struct argv *argv, struct error *err)
{
	char kernel[32], initrd[32];
	struct machine machine = {
		.config = boot->config,
		.architecture = qemu->architecture,
		.accelerator = boot->accelerator,
		.purpose = qemu->vm.pluggable ? PURPOSE_PLUGGABLE : PURPOSE_PLAIN,
		.cpu = accelerator_cpu(qemu->architecture, boot->accelerator),
		.binary = programs->qemu,
		.data = {programs->own_data ? programs->data[0] : NULL,
			 programs->own_data ? programs->data[1] : NULL},
		.qboot = programs->qboot,
		.label = boot->label,
		.kernel = programs->bwrap ? KERNEL_IN_CELL : kernel,
		.initrd = programs->bwrap ? INITRD_IN_CELL : initrd,
		.card = qemu->vm.net.mode == NETWORK_NAT       ? CARD_STREAM
			: qemu->vm.net.mode == NETWORK_BRIDGED ? CARD_TAP
							       : CARD_NONE,
		.card_later = qemu->card_due,
		.mac = qemu->vm.net.mac,
		.ram = qemu->ram,
		.port = qemu->vm.port,
		.saved = boot->origin != VM_COLD,
		.restored = boot->origin == VM_RESTORED,
		.ram_root =
			boot->rootfs_fd<0, .disks = handed->disks, .disk_count = boot->disk_count,
					.disks_later = qemu->disks_due_count> 0,
		.shares = handed->shares,
		.share_count = json_array_size(boot->config->shares),
		.links = handed->links,
		.link_count = boot->link_count,
		.reader = boot->use != VM_RUN,
		.overlay = boot->use == VM_READ,
		.layer = boot->base_fd >= 0,
		.layer_room = boot->layer_room,
	};

	snprintf(kernel, sizeof(kernel), "/proc/self/fd/%d", KERNEL_FD);
	snprintf(initrd, sizeof(initrd), "/proc/self/fd/%d", INITRD_FD);
	if (boot->accelerator == ACCELERATOR_TCG && qemu->architecture == ARCHITECTURE_AMD64 &&
	    accelerator_tsc_khz(&machine.tsc_khz, err) < 0)
		return -1;
	return command_line_build(&machine, argv, err);
}

/*
 * Starts the cell with QEMU, the kernel and the initrd in it. If no process can write to the
 * kernel's file until QEMU has read it, the cell shows this file itself. Otherwise the cell gets a
 * copy. To copy 21 MB takes most of the time of a start, and the copy uses memory as long as the
 * machine lives. Of the initrd the cell always gets a copy, because QEMU maps the initrd, and the
 * guest's firmware reads it much later.
 */
static int spawn_with_kernel(struct qemu *qemu, const struct vm_boot *boot,
			     const struct cell_spec *base, struct error *err)
{
	const struct cell_file kernel = {boot->kernel_fd, KERNEL_IN_CELL, true};
	const struct cell_data data[] = {{boot->initrd_fd, INITRD_IN_CELL, false},
					 {boot->kernel_fd, KERNEL_IN_CELL, false}};
	struct cell_spec spec = *base;
	struct error why;

	if (boot->origin == VM_RESTORED)
		return cell_spawn(base, &qemu->vm.cell, err);
	spec.data = data;
	spec.ndata = 1;
	if (file_is_held(boot->kernel_fd)) {
		spec.files = &kernel;
		spec.nfiles = 1;
		if (cell_spawn(&spec, &qemu->vm.cell, &why) == 0)
			return 0;
		/* The cell cannot show the kernel's file, for example, if the user may make
		 * namespaces only with bwrap, or if the file has no name any more. */
		if (qemu->vm.log)
			log_line(qemu->vm.log, "the kernel had to be copied into the cell: %s",
				 why.msg);
	}
	spec.nfiles = 0;
	spec.ndata = ARRAY_SIZE(data);
	return cell_spawn(&spec, &qemu->vm.cell, err);
}

/*
 * Makes an overlay in memory, which takes the writes of a machine whose use is VM_READ. Returns the
 * overlay's descriptor, which the caller closes, or -1 with an error. Even such a machine writes to
 * its root disk: a file system that was not unmounted must replay its journal before it can be
 * read.
 */
static int make_overlay(const struct vm_boot *boot, struct error *err)
{
	autoclose int fd = memfd_create("overlay", MFD_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(boot->base_fd >= 0 ? boot->base_fd : boot->rootfs_fd, &st) < 0)
		return error_errno(err, errno, "root disk");
	if (layer_write(fd, (uint64_t)st.st_size, err) < 0)
		return error_prefix(err, "root disk");
	return steal_fd(&fd);
}

int qemu_start(struct qemu *qemu, const struct vm_boot *boot, const struct qemu_ends *ends,
	       struct error *err)
{
	__attribute__((cleanup(programs_free))) struct programs programs = {0};
	autoclose int kernel = -1, initrd = -1, overlay = -1, filter = -1;
	autoargv struct argv words = ARGV_INIT;
	struct handed handed;

	if (find_programs(boot->config, &programs, err) < 0)
		return -1;
	if (boot->disk_count + ends->share_count + boot->link_count > MACHINE_EXTRAS_MAX)
		return error_set(
			err, ERR_INVALID,
			"a machine has room for %d disks, shares and network cards together, but the config has more: leave some out",
			MACHINE_EXTRAS_MAX);
	if (!programs.bwrap && boot->origin != VM_RESTORED) {
		kernel = copy_to_memory(boot->kernel_fd, "kernel", err);
		initrd = kernel < 0 ? -1 : copy_to_memory(boot->initrd_fd, "initrd", err);
		if (initrd < 0)
			return -1;
	}
	if (boot->use == VM_READ) {
		overlay = make_overlay(boot, err);
		if (overlay < 0)
			return -1;
	}
	list_handed(boot, ends, kernel, initrd, overlay, &handed);

	if (vmm_filter_mode(FILTER_VARIABLE, &qemu->vm.unfiltered, err) < 0)
		return -1;
	if (qemu->vm.unfiltered && qemu->vm.log)
		log_line(
			qemu->vm.log,
			"the filter refuses QEMU no system call: the kernel's log has the calls that it would refuse");
	if (vmm_filter_open(VMM_QEMU, qemu->vm.unfiltered, &filter, err) < 0 ||
	    build_qemu_words(qemu, boot, &programs, &handed, &words, err) < 0)
		return -1;

	const char *const readable[] = {"/etc/ld.so.cache", programs.data[0], programs.data[1],
					programs.data[2], NULL};
	const struct cell_spec spec = {
		.bwrap = programs.bwrap,
		.program = programs.qemu,
		.argv = argv_finish(&words, err),
		.readable = readable,
		.device = boot->accelerator == ACCELERATOR_KVM ? kvm_device() : NULL,
		.proc = boot->ram_fd >= 0, /* QEMU opens ram_fd as a file of /proc */
		.fds = handed.fds,
		.nfds = handed.nfds,
		.filter = filter,
	};
	if (!spec.argv || (spec.bwrap ? spawn_with_kernel(qemu, boot, &spec, err)
				      : cell_spawn(&spec, &qemu->vm.cell, err)) < 0)
		return -1;
	qemu->vm.monitor_pid = qemu->vm.cell.monitor.pid;
	return 0;
}
