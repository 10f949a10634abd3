/* SPDX-License-Identifier: MIT */
/*
 * Boots a machine, and frees it. To boot, this code makes the plan, the console's pipes and the
 * framework's machine, and starts the machine. The code does not wait until the machine has
 * started. A message of the framework's queue (post.h) reports that.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "applevf/applevf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"

/* How many file descriptors of this process one connection needs: the socket of the client, the
 * framework's file descriptor, and a copy of that. */
#define FILES_OF_STREAM 3
#define FILES_OF_REST 1024

static int open_machine(struct vm *vm, const struct vm_boot *boot, struct error *err)
{
	__attribute__((cleanup(plan_free))) struct plan plan = PLAN_NONE;

	if (plan_of_boot(boot, &plan, err) < 0 || serial_open(vm, &plan, err) < 0)
		return -1;
	vm->post = post_new(vm->loop, applevf_on_letter, vm, err);
	if (!vm->post)
		return -1;
	vm->vz = vz_new(&plan, vm->post, err);
	if (!vm->vz || streams_open(vm, boot->vsock_listen_fd, err) < 0)
		return -1;
	vz_start(vm->vz);
	return 0;
}

struct vm *applevf_boot(struct loop *loop, const struct vm_boot *boot,
			const struct vm_events *events, struct error *err)
{
	struct vm *vm = calloc(1, sizeof(*vm));

	if (!vm) {
		error_errno(err, ENOMEM, "VM");
		return NULL;
	}
	*vm = (struct vm){
		.loop = loop,
		.events = *events,
		.log = boot->log,
		.label = strdup(boot->label),
		.workspace_fd = boot->workspace_fd,
		.memory_mib = boot->config->memory_mib,
		.network = boot->config->network_mode,
		.pluggable = boot->config->hotplug && boot->use == VM_RUN,
		.streams = {.listen_fd = -1, .boot_port = boot->boot_port},
		.serial = {.in = -1, .out = -1},
	};
	list_init(&vm->streams.list);
	(void)fd_raise_limit(FILES_OF_STREAM * limit_get(LIMIT_VSOCK_STREAMS) + FILES_OF_REST);
	if (!vm->label)
		error_errno(err, ENOMEM, "VM");
	else if (open_machine(vm, boot, err) == 0)
		return vm;
	applevf_free(vm);
	return NULL;
}

void applevf_free(struct vm *vm)
{
	if (!vm)
		return;
	vm->closing = true;
	streams_close(vm);
	loop_remove(vm->end_timer);
	loop_remove(vm->sever_timer);
	if (vm->post)
		post_close(vm->post);
	if (vm->vz)
		vz_free(vm->vz);
	else
		post_free(vm->post);
	serial_close(vm);
	free(vm->label);
	free(vm);
}

/* Describes the machine. The machine runs in this process, and only macOS confines the services
 * that emulate its devices. The guest's address is not known here, since the guest gets the address
 * from a DHCP server. */
json_t *applevf_describe(const struct vm *vm)
{
	return json_pack("{s:I, s:s, s:[], s:{s:s}}", "pid", (json_int_t)getpid(), "confinement",
			 "platform", "companions", "network", "mode",
			 network_mode_names[vm->network]);
}
