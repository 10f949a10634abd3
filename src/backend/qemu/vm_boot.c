/* SPDX-License-Identifier: MIT */
/*
 * Booting. bwrap is started first, since making the namespaces takes longest; vsockd starts
 * meanwhile; then the cell is let go. Nobody waits for QEMU: what it has to say comes by events.
 * And the release of all of it, once nothing of it runs.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/qemu/confinement.h"
#include "backend/qemu/vm.h"
#include "base/cleanup.h"
#include "base/fd.h"

#define ENDS_NONE                                                                             \
	{                                                                                     \
		.qmp = -1, .serial = -1, .console = -1, .vhost_qemu = -1, .vhost_vsockd = -1, \
		.net_qemu = -1, .net_gate = -1, .qemu_stderr = -1                             \
	}

static void ends_close(struct vm_ends *ends)
{
	cleanup_close(&ends->qmp);
	cleanup_close(&ends->serial);
	cleanup_close(&ends->console);
	cleanup_close(&ends->vhost_qemu);
	cleanup_close(&ends->vhost_vsockd);
	cleanup_close(&ends->net_qemu);
	cleanup_close(&ends->net_gate);
	cleanup_close(&ends->qemu_stderr);
	for (size_t i = 0; i < ends->share_count; i++) {
		cleanup_close(&ends->shares[i].listen);
		cleanup_close(&ends->shares[i].qemu);
	}
	*ends = (struct vm_ends)ENDS_NONE;
}

static int open_shares(const struct vm_boot *boot, struct vm_ends *ends, struct error *err)
{
	for (size_t i = 0; i < json_array_size(boot->config->shares); i++) {
		ends->shares[i] = (struct vm_share_ends){-1, -1};
		ends->share_count++;
		if (vm_open_share(boot->workspace_fd, &ends->shares[i], err) < 0)
			return -1;
	}
	return 0;
}

/* The number of the socket that /proc shows for a descriptor. */
static int inode_of(int fd, unsigned long long *out, struct error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_errno(err, errno, "socket pair");
	*out = st.st_ino;
	return 0;
}

static int open_monitor(struct vm *vm, struct vm_ends *ends, struct error *err)
{
	struct qmp_events events = vm_monitor_events;
	int pair[2];

	if (fd_socketpair(pair, err) < 0)
		return -1;
	ends->qmp = pair[1];
	events.data = vm;
	vm->qmp = qmp_new(vm->loop, pair[0], &events, err);
	return vm->qmp ? 0 : -1;
}

static int open_channels(struct vm *vm, struct vm_ends *ends, struct error *err)
{
	int pair[2];

	if (open_monitor(vm, ends, err) < 0 ||
	    vm_open_serial(vm, &ends->serial, &ends->console, err) < 0 ||
	    inode_of(ends->qmp, &vm->qmp_inode, err) < 0 ||
	    inode_of(ends->serial, &vm->serial_inode, err) < 0 ||
	    inode_of(ends->console, &vm->console_inode, err) < 0 ||
	    stderr_log_open(&vm->qemu_stderr, vm->loop, "qemu", vm->log, &ends->qemu_stderr, err) <
		    0 ||
	    fd_socketpair(pair, err) < 0)
		return -1;
	ends->vhost_qemu = pair[0];
	ends->vhost_vsockd = pair[1];
	return 0;
}

/* bwrap says on stderr why it could not; perhaps this host has changed its mind about namespaces.
 */
static int explain_cell(struct vm *vm, struct error *err)
{
	autofree char *bwrap = NULL;
	struct error why;

	confinement_forget();
	stderr_log_drain(&vm->qemu_stderr);
	bwrap = confinement_bwrap(&why);
	if (!bwrap)
		return error_copy(err, &why);
	return *vm->qemu_stderr.last ? error_prefix(err, "%s", vm->qemu_stderr.last) : -1;
}

static int start_all(struct vm *vm, const struct vm_boot *boot, struct error *err)
{
	__attribute__((cleanup(ends_close))) struct vm_ends ends = ENDS_NONE;

	if (open_channels(vm, &ends, err) < 0 || open_shares(boot, &ends, err) < 0 ||
	    vm_net_open(vm, boot, &ends, err) < 0 || vm_start_qemu(vm, boot, &ends, err) < 0 ||
	    vm_start_vsockd(vm, boot, &ends, err) < 0 ||
	    vm_start_shares(vm, boot, &ends, err) < 0 || vm_start_net(vm, boot, &ends, err) < 0)
		return -1;
	/* From here on the ends of these channels mean the ends of their processes. */
	ends_close(&ends);
	if (cell_release(&vm->cell, err) < 0)
		return explain_cell(vm, err);
	return vm_watch(vm, err);
}

struct vm *vm_boot(struct loop *loop, const struct vm_boot *boot, const struct vm_events *events,
		   struct error *err)
{
	const struct rlimit none = {0, 0};
	struct vm *vm = calloc(1, sizeof(*vm));

	if (!vm) {
		error_errno(err, ENOMEM, "VM");
		return NULL;
	}
	*vm = (struct vm){.loop = loop,
			  .events = *events,
			  .log = boot->log,
			  .label = strdup(boot->label),
			  .workspace_fd = boot->workspace_fd,
			  .lease_fd = boot->lease_fd,
			  .pluggable = boot->config->hotplug && boot->use == VM_RUN,
			  .memory_mib = boot->config->memory_mib,
			  .cell = CELL_NONE,
			  .companions = {.loop = loop,
					 .log = boot->log,
					 .ended = vm_on_companion,
					 .data = vm},
			  .net = {.mode = NETWORK_ISOLATED,
				  .netgate_fd = -1,
				  .routes_fd = -1,
				  .table_fd = -1},
			  .busy_fd = -1,
			  .serial_fd = -1,
			  .console_fd = -1,
			  .qemu_stderr.fd = -1};
	/* Inherited: no core of any process of a VM shall hold its memory. */
	setrlimit(RLIMIT_CORE, &none);
	if (!vm->label)
		error_errno(err, ENOMEM, "VM");
	else if (start_all(vm, boot, err) == 0)
		return vm;
	vm_free(vm);
	return NULL;
}

void vm_free(struct vm *vm)
{
	if (!vm)
		return;
	loop_remove(vm->monitor_watch);
	loop_remove(vm->program_watch);
	loop_remove(vm->busy_watch);
	loop_remove(vm->serial_watch);
	loop_remove(vm->console_watch);
	loop_remove(vm->grace_timer);
	loop_remove(vm->balloon.timer);
	loop_remove(vm->sever_timer);
	vm_plug_close(vm);
	descendants_close(&vm->severed);
	cell_end(&vm->cell);
	companions_free(&vm->companions);
	vm_net_close(vm);
	qmp_free(vm->qmp);
	cleanup_close(&vm->busy_fd);
	cleanup_close(&vm->serial_fd);
	cleanup_close(&vm->console_fd);
	stderr_log_close(&vm->qemu_stderr);
	free(vm->label);
	free(vm);
}
