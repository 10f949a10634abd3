/* SPDX-License-Identifier: MIT */
/*
 * Pauses the VM, and changes how much of its file a layer may use while the VM runs. For this
 * change QEMU opens the raw node between qcow2 and the file again, with another size. QEMU first
 * finishes the requests that are under way, so that no write sees an unfinished change. The file
 * itself keeps the length that it had at the boot.
 */
#include "backend/qemu/qemu.h"
#include "base/cleanup.h"

static void on_vm_paused(void *data, const json_t *result, const struct error *why)
{
	struct qemu *qemu = data;
	struct qemu_waiter waiting = qemu->pausing;

	(void)result;
	qemu->pausing = (struct qemu_waiter){0};
	if (!why)
		qemu->paused = true;
	waiting.fn(waiting.data, why);
}

int qemu_pause(struct vm *vm, vm_done_fn *fn, void *data, struct error *err)
{
	struct qemu *qemu = qemu_of(vm);
	if (qemu->pausing.fn)
		return error_set(
			err, ERR_CONFLICT,
			"another request is pausing the machine: try again when that request has ended");
	if (qmp_send(qemu->qmp, "stop", NULL, on_vm_paused, qemu, err) < 0)
		return -1;
	qemu->pausing = (struct qemu_waiter){fn, data};
	return 0;
}

static void on_reopened(void *data, const json_t *result, const struct error *why)
{
	struct qemu *qemu = data;
	struct qemu_waiter waiting = qemu->room;

	(void)result;
	qemu->room = (struct qemu_waiter){0};
	waiting.fn(waiting.data, why);
}

int qemu_layer_room(struct vm *vm, uint64_t bytes, vm_done_fn *fn, void *data, struct error *err)
{
	struct qemu *qemu = qemu_of(vm);
	json_t *arguments;

	if (qemu->room.fn)
		return error_set(
			err, ERR_CONFLICT,
			"another request is changing the room of the machine's disk: try again when that request has ended");
	arguments = json_pack("{s:[{s:s, s:s, s:s, s:I, s:s}]}", "options", "driver", "raw",
			      "node-name", MACHINE_LAYER_ROOM, "file", MACHINE_LAYER_FILE, "size",
			      (json_int_t)bytes, "discard", "unmap");
	if (!arguments)
		return error_set(err, ERR_IO, "out of memory");
	if (qmp_send(qemu->qmp, "blockdev-reopen", arguments, on_reopened, qemu, err) < 0)
		return -1;
	qemu->room = (struct qemu_waiter){fn, data};
	return 0;
}
