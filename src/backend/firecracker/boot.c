/* SPDX-License-Identifier: MIT */
/*
 * Boots a VM. The cell is started first, because its namespaces need the most time. Then the
 * companions are started, and then Firecracker runs in the cell. No function waits for Firecracker.
 * talk.c continues when Firecracker has opened its API. This file also frees the VM when none of
 * its processes runs any more.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/firecracker/binary.h"
#include "backend/firecracker/firecracker.h"
#include "base/cleanup.h"
#include "base/fd.h"

static void fc_ends_close(struct fc_ends *ends)
{
	cleanup_close(&ends->in);
	cleanup_close(&ends->out);
	cleanup_close(&ends->err);
	*ends = (struct fc_ends){-1, -1, -1};
}

static int start_firecracker(struct firecracker *fc, const struct vm_boot *boot, struct error *err)
{
	__attribute__((cleanup(fc_ends_close))) struct fc_ends ends = {-1, -1, -1};
	struct vm *vm = &fc->vm;

	vm_net_prepare(vm, boot);
	fc->early.name = "firecracker";
	fc->early.log = vm->log;
	if (stderr_log_open(&vm->vmm_stderr, vm->loop, "firecracker", vm->log, &ends.err, err) <
		    0 ||
	    fc_serial_open(fc, &ends, err) < 0 || fc_start(fc, boot, &ends, err) < 0 ||
	    stderr_log_adopt(&fc->own_log, vm->loop, "firecracker", vm->log, steal_fd(&fc->log_fd),
			     err) < 0 ||
	    fc_metrics_open(fc, err) < 0 || fc_run_start_link(fc, boot, err) < 0 ||
	    vm_start_net_in_cell(vm, boot, FC_TAP, err) < 0)
		return -1;
	fc->requests = requests_of(boot, vm->net.mac);
	if (!fc->requests)
		return error_errno(err, ENOMEM, "requests");
	fc_ends_close(&ends);
	return vm_release(vm, err) < 0 ? -1 : fc_talk_begin(fc, err);
}

/* Firecracker's exit codes (FcExitCode in
 * https://github.com/firecracker-microvm/firecracker/blob/main/src/vmm/src/lib.rs). The code 155,
 * which is for SIGPIPE, never comes: Firecracker goes on after a SIGPIPE
 * (src/vmm/src/signal_handler.rs). */
static const struct {
	int code;
	enum vm_end end;
	const char *text;
} exit_table[] = {
	{0, VM_END_RESET, "the guest's kernel panicked or rebooted"},
	{148, VM_END_CRASHED, "Firecracker's own system call filter ended it"},
	{149, VM_END_CRASHED, "Firecracker used a page of memory or of a file that does not exist"},
	{150, VM_END_CRASHED, "Firecracker used memory that is not its own"},
	{151, VM_END_CRASHED, "Firecracker's file size limit ended it"},
	{152, VM_END_CRASHED, "Firecracker refused its configuration"},
	{153, VM_END_CRASHED, "Firecracker did not understand its arguments"},
	{154, VM_END_CRASHED, "Firecracker's processor time limit ended it"},
	{156, VM_END_CRASHED, "Firecracker was ended by the signal SIGHUP"},
	{157, VM_END_CRASHED, "Firecracker used an instruction that this processor does not have"},
};

static void fc_drain(struct vm *vm)
{
	struct firecracker *fc = fc_of(vm);

	fc_serial_drain(fc);
	stderr_log_drain(&fc->own_log);
	fc_metrics_drain(&fc->metrics);
	if (vm->killing || (vm->exit_code == 0 && !fc->started))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(exit_table); i++)
		if (exit_table[i].code == vm->exit_code)
			vm_tell_end(vm, exit_table[i].end, exit_table[i].text);
}

static const char *fc_meaning(const char *said)
{
	return said;
}

static const struct vmm_kind fc_kind = {
	.name = "Firecracker",
	.binaries = fc_binaries,
	.drain = fc_drain,
	.meaning = fc_meaning,
	.binds_sockets = true,
};

struct vm *fc_boot(struct loop *loop, const struct vm_boot *boot, const struct vm_events *events,
		   struct error *err)
{
	struct firecracker *fc = calloc(1, sizeof(*fc));

	if (!fc) {
		error_errno(err, ENOMEM, "VM");
		return NULL;
	}
	fc->memory_mib = boot->config->memory_mib;
	fc->architecture = boot->config->architecture;
	fc->stdin_fd = fc->stdout_fd = fc->log_fd = fc->metrics.fd = -1;
	fc->own_log.fd = fc->early.fd = -1;
	if (vm_open(&fc->vm, &fc_kind, loop, boot, events, err) == 0 &&
	    start_firecracker(fc, boot, err) == 0)
		return &fc->vm;
	fc_free(&fc->vm);
	return NULL;
}

void fc_free(struct vm *vm)
{
	struct firecracker *fc;

	if (!vm)
		return;
	fc = fc_of(vm);
	api_free(steal_ptr(&fc->api));
	loop_remove(fc->connect_timer);
	loop_remove(fc->close_timer);
	loop_remove(fc->balloon.timer);
	loop_remove(fc->stdin_watch);
	loop_remove(fc->stdout_watch);
	stderr_log_close(&fc->own_log);
	fc_metrics_close(&fc->metrics);
	vm_close(vm);
	json_decref(fc->requests);
	cleanup_close(&fc->stdin_fd);
	cleanup_close(&fc->stdout_fd);
	cleanup_close(&fc->log_fd);
	free(fc);
}
