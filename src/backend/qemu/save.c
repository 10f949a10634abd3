/* SPDX-License-Identifier: MIT */
/*
 * A machine that is saved, and one that is restored. QEMU's migration writes the state of devices
 * to a file, without the guest's memory, which is a file already (x-ignore-shared; where it is
 * loaded the memory is no shared one, and there is none of it in the stream). It stops the machine
 * as the last thing before that, and says so in the state, so that a restored one runs by itself.
 */
#include <string.h>

#include "backend/qemu/qemu.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"

#define STATE_FD "state"

/* Commands are worked off in their order. */
static int ask_for_state_alone(struct qemu *qemu, const char *command, qmp_reply_fn *reply,
			       struct error *err)
{
	json_t *capabilities =
		json_pack("{s:[{s:s, s:b}, {s:s, s:b}]}", "capabilities", "capability",
			  "x-ignore-shared", "state", 1, "capability", "events", "state", 1);

	if (qmp_send_fd(qemu->qmp, "getfd", json_pack("{s:s}", "fdname", STATE_FD), qemu->state_fd,
			NULL, NULL, err) < 0) {
		json_decref(capabilities);
		return -1;
	}
	if (qmp_send(qemu->qmp, "migrate-set-capabilities", capabilities, NULL, NULL, err) < 0)
		return -1;
	return qmp_send(qemu->qmp, command, json_pack("{s:s}", "uri", "fd:" STATE_FD), reply, qemu,
			err);
}

/* --- saving ---------------------------------------------------------------------------------- */

static void tell_saved(struct qemu *qemu, const struct error *why)
{
	struct qemu_waiter waiting = qemu->saving;

	loop_remove(steal_ptr(&qemu->save_timer));
	qemu->saving = (struct qemu_waiter){0};
	if (waiting.fn)
		waiting.fn(waiting.data, why);
}

static void on_save_timer(struct loop *loop, void *data)
{
	struct qemu *qemu = data;
	struct error why;

	(void)loop;
	qemu->save_timer = NULL;
	error_set(&why, ERR_TIMEOUT, "QEMU does not come to an end with the machine's state");
	tell_saved(qemu, &why);
}

static void on_migrate(void *data, const json_t *result, const struct error *why)
{
	(void)result;
	if (why)
		tell_saved(data, why);
}

static void on_failure(void *data, const json_t *result, const struct error *why)
{
	const char *text = json_text(result, "error-desc", "QEMU does not say why");
	struct error saved;

	(void)why;
	error_set(&saved, ERR_IO, "the machine's state was not saved: %.300s", text);
	tell_saved(data, &saved);
}

/* A state that could not be loaded is the end of QEMU, which says why on its stderr. */
void qemu_on_migration(struct qemu *qemu, const json_t *body)
{
	const char *status = json_text(body, "status", "");
	struct error err;

	if (!qemu->saving.fn)
		return;
	if (strcmp(status, "completed") == 0)
		tell_saved(qemu, NULL);
	else if (strcmp(status, "failed") == 0 &&
		 qmp_send(qemu->qmp, "query-migrate", NULL, on_failure, qemu, &err) < 0)
		tell_saved(qemu, &err);
}

int qemu_save(struct vm *vm, vm_done_fn *fn, void *data, struct error *err)
{
	struct qemu *qemu = qemu_of(vm);

	if (qemu->origin != VM_TEMPLATE)
		return error_set(err, ERR_CONFLICT, "the machine was not made to be saved");
	if (qemu->saving.fn)
		return error_set(err, ERR_CONFLICT, "the machine is being saved");
	qemu->save_timer =
		loop_add_timer(vm->loop, limit_deadline(LIMIT_SAVE_MS), on_save_timer, qemu, err);
	if (!qemu->save_timer || ask_for_state_alone(qemu, "migrate", on_migrate, err) < 0) {
		loop_remove(steal_ptr(&qemu->save_timer));
		return -1;
	}
	qemu->saving = (struct qemu_waiter){fn, data};
	return 0;
}

/* --- restoring ------------------------------------------------------------------------------- */

/* What cannot be loaded ends QEMU; what cannot be asked for is an end, too. */
static void on_begun(void *data, const json_t *result, const struct error *why)
{
	struct qemu *qemu = data;

	(void)result;
	if (!why)
		return;
	vm_tell_end(&qemu->vm, VM_END_CRASHED, why->msg);
	cell_kill(&qemu->vm.cell);
}

void qemu_begin_saved(struct qemu *qemu)
{
	bool restored = qemu->origin == VM_RESTORED;
	struct error err = {0};

	if (vm_remove_proc(&qemu->vm, &err) < 0 ||
	    (restored ? ask_for_state_alone(qemu, "migrate-incoming", on_begun, &err)
		      : qmp_send(qemu->qmp, "cont", NULL, on_begun, qemu, &err)) < 0)
		on_begun(qemu, NULL, &err);
}
