/* SPDX-License-Identifier: MIT */
/*
 * Boots a VM. bwrap is started first, because making the namespaces takes the most time. The
 * companions are started while bwrap works. Then QEMU runs in the cell. No function waits for QEMU,
 * since its messages arrive as events. This file also frees the VM when none of its processes runs
 * any more.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/qemu/binary.h"
#include "backend/qemu/qemu.h"
#include "base/cleanup.h"
#include "base/fd.h"

#define ENDS_NONE                                                                             \
	{                                                                                     \
		.qmp = -1, .serial = -1, .console = -1, .vsock_qemu = -1, .vsock_vsockd = -1, \
		.net_qemu = -1, .net_gate = -1, .qemu_stderr = -1                             \
	}

static void ends_close(struct qemu_ends *ends)
{
	cleanup_close(&ends->qmp);
	cleanup_close(&ends->serial);
	cleanup_close(&ends->console);
	cleanup_close(&ends->vsock_qemu);
	cleanup_close(&ends->vsock_vsockd);
	cleanup_close(&ends->net_qemu);
	cleanup_close(&ends->net_gate);
	cleanup_close(&ends->qemu_stderr);
	for (size_t i = 0; i < ends->share_count; i++) {
		cleanup_close(&ends->shares[i].listen);
		cleanup_close(&ends->shares[i].vmm);
	}
	*ends = (struct qemu_ends)ENDS_NONE;
}

static int start_all(struct qemu *qemu, const struct vm_boot *boot, struct error *err)
{
	__attribute__((cleanup(ends_close))) struct qemu_ends ends = ENDS_NONE;
	struct vm *vm = &qemu->vm;
	struct qmp_events events = qemu_monitor_events;
	int pair[2];

	if (fd_socketpair(pair, err) < 0)
		return -1;
	ends.qmp = pair[1];
	events.data = qemu;
	qemu->qmp = qmp_new(vm->loop, pair[0], &events, err);
	if (!qemu->qmp || qemu_open_serial(qemu, &ends.serial, &ends.console, err) < 0 ||
	    vm_keep(vm, ends.qmp, err) < 0 || vm_keep(vm, ends.serial, err) < 0 ||
	    vm_keep(vm, ends.console, err) < 0 ||
	    stderr_log_open(&vm->vmm_stderr, vm->loop, "qemu", vm->log, &ends.qemu_stderr, err) <
		    0 ||
	    fd_socketpair(pair, err) < 0)
		return -1;
	ends.vsock_qemu = pair[0];
	ends.vsock_vsockd = pair[1];
	for (size_t i = 0; i < json_array_size(boot->config->shares); i++) {
		ends.shares[i] = (struct vm_share_ends){-1, -1};
		ends.share_count++;
		if (vm_open_share(boot->workspace_fd, &ends.shares[i], err) < 0)
			return -1;
	}
	if (vm_net_open(vm, boot, &ends.net_qemu, &ends.net_gate, err) < 0 ||
	    qemu_start(qemu, boot, &ends, err) < 0)
		return -1;

	const struct vsockd_ends vsock = {.face = vm->port ? VSOCKD_PORT : VSOCKD_VHOST,
					  .guest = ends.vsock_vsockd,
					  .clients = boot->vsock_listen_fd};
	if (vm_start_vsockd(vm, boot, &vsock, err) < 0 ||
	    vm_start_shares(vm, boot, ends.shares, err) < 0 ||
	    vm_start_net(vm, boot, ends.net_gate, err) < 0)
		return -1;
	/* Closes this process's copies of the descriptors that the started processes have
	 * inherited. Otherwise a channel would stay open after the process that uses it has
	 * ended. */
	ends_close(&ends);
	return vm_release(vm, err);
}

/* Returns a clearer message if another program has locked a disk, else `said`, which is QEMU's
 * message. QEMU's message uses names that only QEMU knows, and is in supervisor.log in any case. */
static const char *qemu_meaning(const char *said)
{
	if (strstr(said, "Is another process using the image") || strstr(said, "\" lock"))
		return "a disk of the machine is in use by another program of the host";
	return said;
}

static void qemu_drain(struct vm *vm)
{
	qmp_drain(qemu_of(vm)->qmp);
	qemu_serial_drain(qemu_of(vm));
}

static const struct vmm_kind qemu_kind = {
	.name = "QEMU",
	.binaries = binary_finders,
	.drain = qemu_drain,
	.meaning = qemu_meaning,
	.unplug_net = qemu_unplug_net,
};

/* Keeps a copy of the descriptor of the saved state until QEMU can take it, because the caller
 * closes its own descriptor before that. Does nothing if the machine is not restored. */
static int keep_state(struct qemu *qemu, const struct vm_boot *boot, struct error *err)
{
	if (boot->origin != VM_RESTORED)
		return 0;
	qemu->state_fd = fcntl(boot->state_fd, F_DUPFD_CLOEXEC, 3);
	return qemu->state_fd >= 0 ? 0 : error_errno(err, errno, "the machine's state");
}

/* Notes the disks that are plugged in when the restored machine runs. A template is only used for as
 * many as the port has functions (config_saving_obstacle()). */
static int note_disks_due(struct qemu *qemu, const struct vm_boot *boot, struct error *err)
{
	if (boot->origin != VM_RESTORED || boot->disks_saved)
		return 0;
	if (boot->disk_count > PLUGS_MAX)
		return error_set(
			err, ERR_INVALID,
			"a restored machine has room for %d disks, and the config has more: leave some out",
			PLUGS_MAX);
	for (size_t i = 0; i < boot->disk_count; i++)
		snprintf(qemu->disks_due[i], sizeof(qemu->disks_due[i]), "%s",
			 boot->disks[i].serial);
	qemu->disks_due_count = boot->disk_count;
	return 0;
}

/* Returns true if the guest's streams go over a virtio-serial port. A machine that can be saved
 * always has the port. A test may ask for the port by MICROAGENT_TEST_FACE=port. The test does not
 * get the port if the guest's programs dial ports of the host, since such a guest needs the vsock
 * device for its sockets. */
static bool has_port(const struct vm_boot *boot)
{
	const char *asked = secure_getenv("MICROAGENT_TEST_FACE");

	if (boot->origin != VM_COLD)
		return true;
	return asked && strcmp(asked, "port") == 0 && boot->use == VM_RUN &&
	       boot->host_port_count == 1;
}

struct vm *qemu_boot(struct loop *loop, const struct vm_boot *boot, const struct vm_events *events,
		     struct error *err)
{
	struct qemu *qemu = calloc(1, sizeof(*qemu));

	if (!qemu) {
		error_errno(err, ENOMEM, "VM");
		return NULL;
	}
	qemu->memory_mib = boot->config->memory_mib;
	qemu->origin = boot->origin;
	qemu->emulated = boot->accelerator == ACCELERATOR_TCG;
	qemu->ram = boot->ram_fd < 0 ? RAM_OWN : boot->ram_sealed ? RAM_PRIVATE : RAM_FILE;
	qemu->card_due = boot->origin == VM_RESTORED && !boot->card_saved &&
			 boot->config->network_mode != NETWORK_ISOLATED;
	qemu->ram_apart = boot->ram_fd >= 0;
	qemu->architecture = boot->config->architecture;
	qemu->serial_fd = qemu->console_fd = qemu->state_fd = -1;
	if (vm_open(&qemu->vm, &qemu_kind, loop, boot, events, err) == 0) {
		qemu->vm.pluggable = boot->config->hotplug && boot->use == VM_RUN;
		qemu->vm.port = has_port(boot);
		if (keep_state(qemu, boot, err) == 0 && note_disks_due(qemu, boot, err) == 0 &&
		    start_all(qemu, boot, err) == 0)
			return &qemu->vm;
	}
	qemu_free(&qemu->vm);
	return NULL;
}

void qemu_free(struct vm *vm)
{
	struct qemu *qemu;

	if (!vm)
		return;
	qemu = qemu_of(vm);
	loop_remove(qemu->serial_watch);
	loop_remove(qemu->console_watch);
	loop_remove(qemu->balloon.timer);
	loop_remove(qemu->saving.timer);
	qemu_plug_close(qemu);
	vm_close(vm);
	qmp_free(qemu->qmp);
	cleanup_close(&qemu->serial_fd);
	cleanup_close(&qemu->console_fd);
	cleanup_close(&qemu->state_fd);
	free(qemu);
}
