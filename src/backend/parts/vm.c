/* SPDX-License-Identifier: MIT */
/* The part of a VM that all backends have in common. Opens a VM, and frees it when none of its
 * processes runs any more. Takes away what the VMM needs only at its start. */
#include "backend/parts/vm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/parts/cell_proc.h"
#include "backend/parts/confinement.h"
#include "base/cleanup.h"
#include "base/platform/file.h"

/* Lets other processes write to kernel and initrd again. It is not enough to close the descriptors,
 * since the command that waits for the machine has copies of the descriptors. */
void vm_has_read(struct vm *vm)
{
	for (size_t i = 0; i < ARRAY_SIZE(vm->read_fds); i++) {
		if (vm->read_fds[i] >= 0)
			file_let_go(vm->read_fds[i]);
		cleanup_close(&vm->read_fds[i]);
	}
}

int vm_open(struct vm *vm, const struct vmm_kind *kind, struct loop *loop,
	    const struct vm_boot *boot, const struct vm_events *events, struct error *err)
{
	const int fds[] = {boot->kernel_fd, boot->initrd_fd};
	const struct rlimit none = {0, 0};

	cell_number(boot->cell_number);
	*vm = (struct vm){
		.kind = kind,
		.loop = loop,
		.events = *events,
		.log = boot->log,
		.label = strdup(boot->label),
		.workspace_fd = boot->workspace_fd,
		.lease_fd = boot->lease_fd,
		.links = boot->link_count,
		.cell = CELL_NONE,
		.companions = {.loop = loop,
			       .log = boot->log,
			       .ended = vm_on_companion,
			       .data = vm},
		.net = {.mode = NETWORK_ISOLATED,
			.netgate_fd = -1,
			.routes_fd = -1,
			.table_fd = -1,
			.control_fd = -1},
		.read_fds = {-1, -1},
		.busy_fd = -1,
		.vmm_stderr.fd = -1,
	};
	/* All processes of the VM inherit this limit, so that no core dump with the guest's memory
	 * is written. */
	setrlimit(RLIMIT_CORE, &none);
	if (!vm->label)
		return error_errno(err, ENOMEM, "VM");
	/* While a copy of a held descriptor is open, no process can write to the file. The caller
	 * closes its own descriptors when the processes run, so copies are made here. */
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		if (fds[i] < 0 || !file_is_held(fds[i]))
			continue;
		vm->read_fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 3);
		if (vm->read_fds[i] < 0)
			return error_errno(err, errno, "kernel and initrd");
	}
	return 0;
}

void vm_close(struct vm *vm)
{
	loop_remove(vm->monitor_watch);
	loop_remove(vm->program_watch);
	loop_remove(vm->busy_watch);
	loop_remove(vm->grace_timer);
	loop_remove(vm->sever_timer);
	descendants_close(&vm->severed);
	cell_end(&vm->cell);
	companions_free(&vm->companions);
	vm_net_close(vm);
	vm_has_read(vm);
	cleanup_close(&vm->busy_fd);
	stderr_log_close(&vm->vmm_stderr);
	free(vm->label);
}

/* Remembers the socket by its inode number. /proc shows this number for each descriptor of a
 * process. */
int vm_keep(struct vm *vm, int vmm_end, struct error *err)
{
	struct stat st;

	if (vm->kept_count == VM_KEPT_MAX)
		return error_set(
			err, ERR_INTERNAL,
			"the virtual machine monitor needs more channels than there is room for: this is a bug of microagent");
	if (fstat(vmm_end, &st) < 0)
		return error_errno(err, errno, "socket pair");
	vm->kept[vm->kept_count++] = st.st_ino;
	return 0;
}

/* Gives the socket a name that the kernel chooses (unix(7), "autobind"). The VMM's end sees this
 * name as the name of its peer. No other socket in this network namespace has the name. A process
 * in another network namespace could have a socket with the same name. */
int vm_keep_accepted(struct vm *vm, int our_end, struct error *err)
{
	const struct sockaddr any = {.sa_family = AF_UNIX};

	vm->kept_peer_len = sizeof(vm->kept_peer);
	if (bind(our_end, &any, sizeof(any.sa_family)) == 0 &&
	    getsockname(our_end, (struct sockaddr *)&vm->kept_peer, &vm->kept_peer_len) == 0)
		return 0;
	vm->kept_peer_len = 0;
	return error_errno(err, errno, "cannot find a name for a socket");
}

int vm_release(struct vm *vm, struct error *err)
{
	autofree char *bwrap = NULL;
	struct error why;

	if (cell_release(&vm->cell, err) == 0)
		return vm_watch(vm, err);
	/* bwrap's stderr has the reason why the cell has failed. This host may have stopped
	 * allowing namespaces. So the remembered fact that this host can make cells is
	 * forgotten. */
	confinement_forget();
	stderr_log_drain(&vm->vmm_stderr);
	bwrap = confinement_bwrap(&why);
	if (!bwrap)
		return error_copy(err, &why);
	return *vm->vmm_stderr.last ? error_prefix(err, "%s", vm->vmm_stderr.last) : -1;
}

/* --- the /proc of the VMM -------------------------------------------------------------------- */

static int serve_proc(void *data, const struct broker_message *in, struct broker_message *out,
		      struct error *err)
{
	struct vm *vm = data;

	(void)in, (void)out;
	if (vm->proc_removed)
		return error_set(
			err, ERR_DENIED,
			"the broker refuses to remove the /proc of the virtual machine monitor, because it has done so already: this is a bug, or the live supervisor was taken over");
	/* /proc is removed only once, since the request comes before the guest runs. */
	vm->proc_removed = true;
	return cell_proc_remove(&(struct proc){vm->cell.pid, vm->cell.pidfd}, err);
}

const struct broker_duty vm_proc_duty = {serve_proc};

int vm_remove_proc(const struct vm *vm, struct error *err)
{
	const struct broker_message in = {0};

	if (!vm->cell.confined)
		return 0;
	return broker_is_asked()
		       ? broker_ask(&vm_proc_duty, &in, NULL, err)
		       : cell_proc_remove(&(struct proc){vm->cell.pid, vm->cell.pidfd}, err);
}
