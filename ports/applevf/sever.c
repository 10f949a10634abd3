/* SPDX-License-Identifier: MIT */
/*
 * Puts a machine into quarantine. First the supervisor closes the host's ends of all connections.
 * Then one block on the framework's queue does all other steps: it detaches network cards, removes
 * the directories of shares, removes listeners, and closes connections. The block checks the result
 * of each step (vz_sever.m). The quarantine has failed if a step has failed, or if no answer comes
 * in time.
 */
#include "applevf/applevf.h"
#include "base/cleanup.h"
#include "base/limits.h"

static void on_sever_timer(struct loop *loop, void *data)
{
	struct vm *vm = data;
	struct error why;

	(void)loop;
	vm->sever_timer = NULL;
	error_set(
		&why, ERR_TIMEOUT,
		"it cannot be proven that the machine is cut off, because Virtualization.framework has not answered within %llu ms",
		(unsigned long long)limit_get(LIMIT_SEVER_MS));
	vm->events.severed(vm->events.data, NULL, &why);
}

int applevf_sever(struct vm *vm, struct error *err)
{
	if (vm->severing || vm->ending)
		return error_set(
			err, ERR_CONFLICT,
			"the machine cannot be cut off, because it is already quarantined or has ended");
	vm->sever_timer =
		loop_add_timer(vm->loop, limit_deadline(LIMIT_SEVER_MS), on_sever_timer, vm, err);
	if (!vm->sever_timer)
		return -1;
	vm->severing = true;
	vm->severed_streams = vm->streams.count;
	streams_close(vm);
	serial_close_input(vm);
	vz_sever(vm->vz);
	return 0;
}

void applevf_severed(struct vm *vm, const struct letter *letter)
{
	json_t *names = letter->names;
	bool waited = vm->sever_timer != NULL;

	loop_remove(steal_ptr(&vm->sever_timer));
	json_array_append_new(names,
			      json_sprintf("vsock connections (%u closed)", vm->severed_streams));
	json_array_append_new(names, json_string("serial input"));
	if (waited)
		vm->events.severed(vm->events.data, names,
				   letter->why.code == ERR_NONE ? NULL : &letter->why);
	json_decref(names);
}
