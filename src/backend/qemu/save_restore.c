/* SPDX-License-Identifier: MIT */
/*
 * Saves and restores a machine, by QEMU's migration to a file and from a file.
 *
 * For a machine that becomes a template, the guest's memory is a file already, and the state does
 * not include the memory (x-ignore-shared). The same option is set when such a state is loaded,
 * although the restored machine maps the memory privately. QEMU stops the machine as the last step
 * of the save. The saved state says that the machine runs, so a restored machine runs at once.
 *
 * For any other machine the state includes the memory. Under KVM the machine runs during the save,
 * although the guest's commands are frozen (guest/agent/saved.c). Pages that the machine changes
 * meanwhile are written again. When the remaining pages can be written in a short pause, the
 * machine is stopped.
 *
 * An emulated machine stands still during the whole save, because of a fault of QEMU before version
 * 9. An emulated machine that runs during a save writes to pages without marking them as changed. A
 * machine that is restored from such a state has old contents in a part of its memory. The saved
 * state of an emulated machine says that the machine stands still, so a restored machine is told to
 * go on.
 */
#include <stdio.h>
#include <string.h>

#include "backend/qemu/qemu.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"

#define STATE_FD "state"
/* The bandwidth of a save in bytes per second. The value is in effect no limit, since the state
 * goes to a file. QEMU's low default would spare a network. */
#define BYTES_PER_S ((json_int_t)1 << 40)

/* Sends the commands that must come before a save or a load. QEMU runs them in the order in which
 * they are sent. */
static int send_begin(struct qemu *qemu, int state_fd, struct error *err)
{
	json_t *capabilities = json_pack("{s:[{s:s, s:b}, {s:s, s:b}]}", "capabilities",
					 "capability", "x-ignore-shared", "state", qemu->ram_apart,
					 "capability", "events", "state", 1);

	if (qmp_send_fd(qemu->qmp, "getfd", json_pack("{s:s}", "fdname", STATE_FD), state_fd, NULL,
			NULL, err) < 0) {
		json_decref(capabilities);
		return -1;
	}
	return qmp_send(qemu->qmp, "migrate-set-capabilities", capabilities, NULL, NULL, err);
}

static int send_uri(struct qemu *qemu, const char *command, qmp_reply_fn *reply, struct error *err)
{
	return qmp_send(qemu->qmp, command, json_pack("{s:s}", "uri", "fd:" STATE_FD), reply, qemu,
			err);
}

/* --- saving ---------------------------------------------------------------------------------- */

static void tell_saved(struct qemu *qemu, const struct error *why)
{
	struct qemu_saving waiting = qemu->saving;

	loop_remove(waiting.timer);
	qemu->saving = (struct qemu_saving){0};
	if (waiting.fn)
		waiting.fn(waiting.data, waiting.stopped_ns, why);
}

static void on_save_timer(struct loop *loop, void *data)
{
	struct qemu *qemu = data;
	struct error why, ignored;

	(void)loop;
	qemu->saving.timer = NULL;
	(void)qmp_send(qemu->qmp, "migrate_cancel", NULL, NULL, NULL, &ignored);
	error_set(
		&why, ERR_TIMEOUT,
		"the machine's state was not written in time, because its guest changes more memory than can be written: try again when the guest has less to do");
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
	error_set(&saved, ERR_IO, "the machine's state was not saved, and QEMU says: %.300s", text);
	tell_saved(data, &saved);
}

static void look_for_end(struct qemu *qemu);

static void on_run_state(void *data, const json_t *result, const struct error *why)
{
	if (!why && strcmp(json_text(result, "status", ""), "finish-migrate") == 0)
		look_for_end(data);
	else
		tell_saved(data, why);
}

/* Asks QEMU whether the save has ended. QEMU reports "completed" a moment before it lets the
 * machine go on (qmp_cont(): "Migration is not finalized yet"). No event tells when that moment is
 * over. */
static void look_for_end(struct qemu *qemu)
{
	struct error err;

	if (qemu->saving.fn &&
	    qmp_send(qemu->qmp, "query-status", NULL, on_run_state, qemu, &err) < 0)
		tell_saved(qemu, &err);
}

/* Lets a restored machine go on, if its saved state contains the memory. Such a machine may have
 * stood still when it was saved. */
static void begin_loaded(struct qemu *qemu)
{
	struct error err = {0};

	if (qemu->origin != VM_RESTORED || qemu->ram_apart || qemu->begun)
		return;
	qemu->begun = true;
	if (qmp_send(qemu->qmp, "cont", NULL, qemu_end_if_refused, qemu, &err) < 0)
		qemu_end_if_refused(qemu, NULL, &err);
}

/* Handles an event of a save or a load. If a state cannot be loaded, QEMU itself ends, and its
 * stderr has the reason. */
void qemu_on_migration(struct qemu *qemu, const json_t *body)
{
	const char *status = json_text(body, "status", "");
	struct error err;

	if (!qemu->saving.fn) {
		if (strcmp(status, "completed") == 0)
			begin_loaded(qemu);
		return;
	}
	if (strcmp(status, "completed") == 0)
		look_for_end(qemu);
	else if (strcmp(status, "failed") == 0 &&
		 qmp_send(qemu->qmp, "query-migrate", NULL, on_failure, qemu, &err) < 0)
		tell_saved(qemu, &err);
}

static int send_save(struct qemu *qemu, int state_fd, struct error *err)
{
	json_t *pace = json_pack("{s:I, s:I}", "max-bandwidth", BYTES_PER_S, "downtime-limit",
				 (json_int_t)limit_get(LIMIT_SAVE_PAUSE_MS));

	if (send_begin(qemu, state_fd, err) < 0) {
		json_decref(pace);
		return -1;
	}
	return qmp_send(qemu->qmp, "migrate-set-parameters", pace, NULL, NULL, err) < 0 ||
			       (!qemu->ram_apart && qemu->emulated &&
				qmp_send(qemu->qmp, "stop", NULL, NULL, NULL, err) < 0)
		       ? -1
		       : send_uri(qemu, "migrate", on_migrate, err);
}

int qemu_save(struct vm *vm, int state_fd, vm_saved_fn *fn, void *data, struct error *err)
{
	struct qemu *qemu = qemu_of(vm);
	struct loop_watch *timer;

	if (qemu->origin == VM_COLD)
		return error_set(
			err, ERR_CONFLICT,
			"the machine cannot be saved, because it was not started to be saved: only a machine that makes a template, or was restored from one, can be saved");
	if (qemu->saving.fn)
		return error_set(
			err, ERR_CONFLICT,
			"the machine is being saved by another request: try again when that request has ended");
	/* The saved state of a template does not contain the memory. The memory is a file that
	 * restored machines will share. */
	qemu->ram_apart = qemu->origin == VM_TEMPLATE;
	timer = loop_add_timer(vm->loop, limit_deadline(LIMIT_SAVE_MS), on_save_timer, qemu, err);
	if (!timer)
		return -1;
	if (send_save(qemu, state_fd, err) < 0) {
		loop_remove(timer);
		return -1;
	}
	qemu->saving = (struct qemu_saving){.fn = fn, .data = data, .timer = timer};
	return 0;
}

/* --- letting a machine begin ----------------------------------------------------------------- */

void qemu_end_if_refused(void *data, const json_t *result, const struct error *why)
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
	struct error err = {0};
	int status = qemu->ram_apart ? vm_remove_proc(&qemu->vm, &err) : 0;

	if (status >= 0 && qemu->origin == VM_RESTORED) {
		status = send_begin(qemu, qemu->state_fd, &err);
		cleanup_close(&qemu->state_fd);
		qemu->state_fd = -1;
		if (status == 0)
			status = send_uri(qemu, "migrate-incoming", qemu_end_if_refused, &err);
	} else if (status >= 0) {
		status = qmp_send(qemu->qmp, "cont", NULL, qemu_end_if_refused, qemu, &err);
	}
	if (status < 0)
		qemu_end_if_refused(qemu, NULL, &err);
}

/* Plugs in the card of a restored machine. The template has no card, so that a session can be
 * without a card. */
void qemu_plug_card(struct qemu *qemu)
{
	json_t *card = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "driver", "virtio-net-pci", "id",
				 "card0", "netdev", MACHINE_NETDEV, "mac", qemu->vm.net.mac,
				 "romfile", "", "bus", MACHINE_CARD_PORT);
	struct error err = {0};

	qemu->card_due = false;
	if (qmp_send(qemu->qmp, "device_add", card, qemu_end_if_refused, qemu, &err) < 0)
		qemu_end_if_refused(qemu, NULL, &err);
}

/* Plugs in the disks of a restored machine. The template has none of them, since they differ from
 * session to session. All disks are functions of one PCI slot. QEMU tells the guest what is in the
 * slot when it gets function 0, so function 0 comes last (plug.c says more). QEMU runs the commands in
 * the order in which they are sent. */
void qemu_plug_disks(struct qemu *qemu)
{
	struct error err = {0};

	while (qemu->disks_due_count > 0) {
		const char *serial = qemu->disks_due[--qemu->disks_due_count];
		char id[VM_SERIAL_SIZE + 8], address[8];
		json_t *disk;

		snprintf(id, sizeof(id), "%s-dev", serial);
		snprintf(address, sizeof(address), "0.%zu", qemu->disks_due_count);
		disk = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:b}", "driver",
				 "virtio-blk-pci", "id", id, "drive", serial, "serial", serial,
				 "werror", "enospc", "rerror", "report", "bus", MACHINE_DISK_PORT,
				 "addr", address, "multifunction", 1);
		if (qmp_send(qemu->qmp, "device_add", disk, qemu_end_if_refused, qemu, &err) < 0) {
			qemu->disks_due_count = 0;
			qemu_end_if_refused(qemu, NULL, &err);
		}
	}
}
