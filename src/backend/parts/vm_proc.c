/* SPDX-License-Identifier: MIT */
/* The VMM's /proc goes, by the broker where there is one. */
#include "backend/parts/cell_proc.h"
#include "backend/parts/vm.h"

static int serve_proc(void *data, const struct broker_message *in, struct broker_message *out,
		      struct error *err)
{
	struct vm *vm = data;

	(void)in, (void)out;
	if (vm->proc_removed)
		return error_set(err, ERR_DENIED, "the VMM has no /proc any more");
	vm->proc_removed = true; /* tried once: it is asked for before the guest runs */
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
