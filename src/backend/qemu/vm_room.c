/* SPDX-License-Identifier: MIT */
/*
 * How much of its file a layer may use, for a VM that runs: the raw node between qcow2 and the file
 * is opened anew with another size. QEMU waits for what is under way before it does, so that no
 * write meets half a change. It has looked at the length of the file at the boot, and goes by that.
 */
#include "backend/qemu/vm.h"
#include "base/cleanup.h"

static void on_vm_paused(void *data, const json_t *result, const struct error *why)
{
	struct vm *vm = data;
	struct vm_room waiting = vm->pausing;

	(void)result;
	vm->pausing = (struct vm_room){0};
	if (!why)
		vm->paused = true;
	waiting.fn(waiting.data, why);
}

int vm_pause(struct vm *vm, vm_done_fn *fn, void *data, struct error *err)
{
	if (vm->pausing.fn)
		return error_set(err, ERR_CONFLICT, "it is being paused");
	if (qmp_send(vm->qmp, "stop", NULL, on_vm_paused, vm, err) < 0)
		return -1;
	vm->pausing = (struct vm_room){fn, data};
	return 0;
}

static void on_reopened(void *data, const json_t *result, const struct error *why)
{
	struct vm *vm = data;
	struct vm_room waiting = vm->room;

	(void)result;
	vm->room = (struct vm_room){0};
	waiting.fn(waiting.data, why);
}

int vm_layer_room(struct vm *vm, uint64_t bytes, vm_done_fn *fn, void *data, struct error *err)
{
	json_t *arguments;

	if (vm->room.fn)
		return error_set(err, ERR_CONFLICT, "the room is being changed by another request");
	arguments = json_pack("{s:[{s:s, s:s, s:s, s:I, s:s}]}", "options", "driver", "raw",
			      "node-name", MACHINE_LAYER_ROOM, "file", MACHINE_LAYER_FILE, "size",
			      (json_int_t)bytes, "discard", "unmap");
	if (!arguments)
		return error_set(err, ERR_IO, "out of memory");
	if (qmp_send(vm->qmp, "blockdev-reopen", arguments, on_reopened, vm, err) < 0)
		return -1;
	vm->room = (struct vm_room){fn, data};
	return 0;
}
