/* SPDX-License-Identifier: MIT */
/*
 * The balloon. QEMU tells the guest's driver how large the guest shall be and hears from it how
 * large it has become; what the driver gives up QEMU punches out of the memory file, and the host
 * has it again. A guest takes its time, and may not be able to give as much: the answer is the size
 * that it had when it was done or when the time was over.
 */
#include <stdlib.h>

#include "backend/qemu/vm.h"
#include "base/cleanup.h"
#include "base/limits.h"

#define MIB (INT64_C(1) << 20)

static void finish_balloon(struct vm *vm, const struct error *why)
{
	struct vm_balloon done = vm->balloon;

	loop_remove(vm->balloon.timer);
	vm->balloon = (struct vm_balloon){.actual_mib = done.actual_mib};
	if (done.fn)
		done.fn(done.data, done.actual_mib, why);
}

static void take_actual(struct vm *vm, const json_t *body)
{
	vm->balloon.actual_mib = json_integer_value(json_object_get(body, "actual")) / MIB;
}

static void on_last_look(void *data, const json_t *result, const struct error *why)
{
	struct vm *vm = data;

	if (!why)
		take_actual(vm, result);
	finish_balloon(vm, why);
}

static void on_balloon_timer(struct loop *loop, void *data)
{
	struct vm *vm = data;
	struct error err = {0};

	(void)loop;
	vm->balloon.timer = NULL;
	if (qmp_send(vm->qmp, "query-balloon", NULL, on_last_look, vm, &err) < 0)
		finish_balloon(vm, &err);
}

/* It may have been the size that is asked for all along. */
static void on_first_look(void *data, const json_t *result, const struct error *why)
{
	struct vm *vm = data;
	struct error err = {0};

	if (why) {
		finish_balloon(vm, why);
		return;
	}
	take_actual(vm, result);
	if (!vm->balloon.fn || vm->balloon.actual_mib == vm->balloon.wanted_mib) {
		finish_balloon(vm, NULL);
		return;
	}
	vm->balloon.timer = loop_add_timer(vm->loop, limit_deadline(LIMIT_BALLOON_MS),
					   on_balloon_timer, vm, &err);
	if (!vm->balloon.timer)
		finish_balloon(vm, &err);
}

static void on_balloon_set(void *data, const json_t *result, const struct error *why)
{
	struct vm *vm = data;
	struct error err = {0};

	(void)result;
	if (why)
		finish_balloon(vm, why);
	else if (qmp_send(vm->qmp, "query-balloon", NULL, on_first_look, vm, &err) < 0)
		finish_balloon(vm, &err);
}

void vm_on_balloon_change(struct vm *vm, const json_t *body)
{
	take_actual(vm, body);
	/* Without a timer the first look has not been taken yet. */
	if (vm->balloon.timer && vm->balloon.actual_mib == vm->balloon.wanted_mib)
		finish_balloon(vm, NULL);
}

int vm_balloon(struct vm *vm, int64_t mib, vm_balloon_fn *fn, void *data, struct error *err)
{
	json_t *arguments;

	if (vm->balloon.fn)
		return error_set(err, ERR_CONFLICT, "the balloon is being set by another request");
	if (mib > vm->memory_mib)
		return error_set(err, ERR_INVALID, "the machine has %lld MiB, and cannot get %lld",
				 (long long)vm->memory_mib, (long long)mib);
	arguments = json_pack("{s:I}", "value", (json_int_t)mib * MIB);
	if (!arguments)
		return error_set(err, ERR_IO, "out of memory");
	if (qmp_send(vm->qmp, "balloon", arguments, on_balloon_set, vm, err) < 0)
		return -1;
	vm->balloon.fn = fn;
	vm->balloon.data = data;
	vm->balloon.wanted_mib = mib;
	return 0;
}
