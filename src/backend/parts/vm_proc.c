/* SPDX-License-Identifier: MIT */
/* The VMM's /proc goes, by the broker where there is one. */
#include "backend/parts/cell_proc.h"
#include "backend/parts/vm.h"

static int serve_proc(void *data, const struct broker_message *in, struct broker_message *out,
		      struct error *err)
{
	const struct vm *vm = data;

	(void)in, (void)out;
	return cell_proc_remove(vm->cell.pid, err);
}

const struct broker_duty vm_proc_duty = {serve_proc};

int vm_remove_proc(const struct vm *vm, struct error *err)
{
	const struct broker_message in = {0};

	if (!vm->cell.confined)
		return 0;
	return broker_is_asked() ? broker_ask(&vm_proc_duty, &in, NULL, err)
				 : cell_proc_remove(vm->cell.pid, err);
}
