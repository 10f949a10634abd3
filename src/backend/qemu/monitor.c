/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "backend/qemu/qemu.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"

/* --- how QEMU reports the end of the machine ------------------------------------------------- */

static const struct {
	const char *reason; /* the reason that the event SHUTDOWN contains */
	enum vm_end end;
	const char *detail;
} shutdown_table[] = {
	{"guest-shutdown", VM_END_POWERED_OFF, ""},
	{"guest-reset", VM_END_RESET, "the guest's kernel panicked or rebooted"},
	{"guest-panic", VM_END_RESET, "the guest's kernel panicked"},
	{"subsystem-reset", VM_END_RESET, "the guest was reset by one of its devices"},
	{"host-qmp-quit", VM_END_KILLED, "QEMU was told to quit"},
	{"host-signal", VM_END_CRASHED, "QEMU was ended by a signal from outside"},
	{"host-error", VM_END_CRASHED, "an error of the host ended QEMU"},
};

static void on_shutdown(struct qemu *qemu, const json_t *body)
{
	const char *reason = json_text(body, "reason", NULL);
	char unknown[96];

	for (size_t i = 0; reason && i < ARRAY_SIZE(shutdown_table); i++) {
		if (strcmp(reason, shutdown_table[i].reason) == 0) {
			vm_tell_end(&qemu->vm, shutdown_table[i].end, shutdown_table[i].detail);
			return;
		}
	}
	snprintf(unknown, sizeof(unknown), "QEMU ended: %.64s",
		 reason ? reason : "no reason given");
	vm_tell_end(&qemu->vm, VM_END_CRASHED, unknown);
}

static void on_panicked(struct qemu *qemu, const json_t *body)
{
	(void)body;
	vm_tell_end(&qemu->vm, VM_END_RESET, "the guest's kernel panicked");
}

/* --- disks and pauses ------------------------------------------------------------------------ */

/* Logs an error of a disk. A full disk also causes this event, and stops the VM (werror=enospc),
 * but is not handled here. The event STOP follows, and on_stop() asks for the reason. Since version
 * 10.0, QEMU delays BLOCK_IO_ERROR if the last one came less than a second before. So the VM may
 * have gone on before the event comes. */
static void on_block_error(struct qemu *qemu, const json_t *body)
{
	const char *node = json_text(body, "node-name", NULL);
	const char *reason = json_text(body, "reason", NULL);

	if (qemu->vm.log && !json_is_true(json_object_get(body, "nospace")))
		log_limited(qemu->vm.log, "disk %.32s: %.128s", node ? node : "?",
			    reason ? reason : "error");
}

#define IO_ERROR "io-error" /* QEMU's name for the state of a VM that an I/O error has stopped */

/* The states in which a VM may be. Any other state is a fault, even a state that only a future
 * version of QEMU has. */
static const char *const fine_reasons[] = {
	/* States that the supervisor has asked for, or that a VM has while it ends. */
	"running",
	"paused",
	"shutdown",
	/* States during a save or a load. */
	"inmigrate",
	"prelaunch",
	"postmigrate",
	"finish-migrate",
	"save-vm",
	"restore-vm",
};

static const struct {
	const char *reason, *text;
} stop_table[] = {
	{"internal-error", "the accelerator cannot run an instruction or a state of the guest"},
	{IO_ERROR, "a disk has an error"},
	{"guest-panicked", "the guest's kernel panicked"},
	{"suspended", "the guest suspended itself, and nothing would wake it"},
	{"watchdog", "the guest's watchdog stopped it"},
};

static bool is_fine(const struct qemu *qemu, const char *reason)
{
	if (qemu->paused && strcmp(reason, IO_ERROR) == 0)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(fine_reasons); i++)
		if (strcmp(reason, fine_reasons[i]) == 0)
			return true;
	return false;
}

/* Ends a machine that has stopped without being told to. QEMU is told to quit and is not killed,
 * because QEMU may still have data that it must write to the disks. vm_grace() makes sure that QEMU
 * ends. */
static void give_up(struct qemu *qemu, const char *reason)
{
	const char *text = "the reason is not known";
	char detail[128];
	struct error ignored;

	for (size_t i = 0; i < ARRAY_SIZE(stop_table); i++)
		if (strcmp(reason, stop_table[i].reason) == 0)
			text = stop_table[i].text;
	snprintf(detail, sizeof(detail), "%.32s (%s)", reason, text);
	vm_tell_end(&qemu->vm, VM_END_STOPPED, detail);
	(void)qmp_send(qemu->qmp, "quit", NULL, NULL, NULL, &ignored);
	vm_grace(&qemu->vm);
}

static void look_why(struct qemu *qemu);

/* Returns the name of the node of the first full disk, which is also the disk's name. Returns "?"
 * if the node has no name. Returns NULL if no disk is full. */
static const char *find_full_disk(const json_t *disks)
{
	const json_t *disk;
	size_t i;

	json_array_foreach(disks, i, disk)
	{
		if (strcmp(json_text(disk, "io-status", ""), "nospace") == 0)
			return json_text(json_object_get(disk, "inserted"), "node-name", "?");
	}
	return NULL;
}

static void on_disks(void *data, const json_t *result, const struct error *why)
{
	struct qemu *qemu = data;
	const char *full = find_full_disk(result);

	qemu->looking = false;
	if (why || qemu->vm.end_told || qemu->paused)
		return;
	if (qemu->resumes != qemu->looked_at) {
		/* The machine was resumed after QEMU was asked, so the answer may be out of date.
		 * QEMU is asked again. */
		look_why(qemu);
		return;
	}
	if (!full) {
		give_up(qemu, IO_ERROR);
		return;
	}
	qemu->paused = true;
	qemu->vm.events.disk_full(qemu->vm.events.data, full, strerror(ENOSPC));
}

static void on_why(void *data, const json_t *result, const struct error *why)
{
	struct qemu *qemu = data;
	const char *reason = json_text(result, "status", "");
	struct error ignored;

	qemu->looking = false;
	if (why || qemu->vm.end_told || is_fine(qemu, reason))
		return;
	if (qemu->resumes != qemu->looked_at)
		look_why(qemu); /* the machine was resumed after QEMU was asked */
	else if (strcmp(reason, IO_ERROR) == 0)
		qemu->looking =
			qmp_send(qemu->qmp, "query-block", NULL, on_disks, qemu, &ignored) == 0;
	else
		give_up(qemu, reason);
}

/* Asks QEMU why the VM stands still, since the event STOP has no reason. If the question cannot be
 * sent, the error is ignored, since other deadlines notice that QEMU does not work. */
static void look_why(struct qemu *qemu)
{
	struct error ignored;

	if (qemu->looking)
		return;
	qemu->looking = qmp_send(qemu->qmp, "query-status", NULL, on_why, qemu, &ignored) == 0;
	qemu->looked_at = qemu->resumes;
}

static void on_stop(struct qemu *qemu, const json_t *body)
{
	(void)body;
	if (qemu->vm.log)
		log_limited(qemu->vm.log, "the VM is paused");
	qemu->saving.stopped_ns = clock_mono_ns();
	if (!qemu->paused)
		look_why(qemu);
}

static void on_resume(struct qemu *qemu, const json_t *body)
{
	(void)body;
	if (qemu->vm.log)
		log_limited(qemu->vm.log, "the VM goes on");
	if (qemu->card_due)
		qemu_plug_card(qemu);
	if (qemu->disks_due_count)
		qemu_plug_disks(qemu);
}

/* --- dispatch -------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	void (*fn)(struct qemu *qemu, const json_t *body);
} event_table[] = {
	{"SHUTDOWN", on_shutdown},
	{"GUEST_PANICKED", on_panicked},
	{"BLOCK_IO_ERROR", on_block_error},
	{"BALLOON_CHANGE", qemu_on_balloon_change},
	{"DEVICE_DELETED", qemu_on_device_deleted},
	{"MIGRATION", qemu_on_migration},
	{"STOP", on_stop},
	{"SUSPEND", on_stop},
	{"RESUME", on_resume},
};

static void on_qmp_event(void *data, const char *name, const json_t *body)
{
	struct qemu *qemu = data;

	for (size_t i = 0; i < ARRAY_SIZE(event_table); i++)
		if (strcmp(event_table[i].name, name) == 0)
			event_table[i].fn(qemu, body);
}

static void on_qmp_ready(void *data)
{
	struct qemu *qemu = data;

	/* QEMU has answered a command, so the machine is made, and the kernel is in its memory. The
	 * greeting would not prove this. QEMU may send the greeting earlier, while commands still
	 * wait for QEMU's main loop. */
	vm_has_read(&qemu->vm);
	vm_speaks(&qemu->vm);
	if (qemu->origin != VM_COLD)
		qemu_begin_saved(qemu);
}

/* Handles the end of the connection to the monitor. If `why` is NULL, QEMU has closed the
 * connection, and gets time to end. Otherwise QEMU misbehaves and is killed. */
static void on_closed(void *data, const struct error *why)
{
	struct qemu *qemu = data;

	if (!why) {
		vm_grace(&qemu->vm);
		return;
	}
	if (qemu->vm.log)
		log_line(qemu->vm.log, "%s", why->msg);
	if (vm_is_alive(&qemu->vm)) {
		vm_tell_end(&qemu->vm, VM_END_CRASHED, why->msg);
		cell_kill(&qemu->vm.cell);
	}
}

const struct qmp_events qemu_monitor_events = {
	.ready = on_qmp_ready, .event = on_qmp_event, .closed = on_closed};

/* --- commands -------------------------------------------------------------------------------- */

static void on_monitor_answer(void *data, const json_t *result, const struct error *why)
{
	struct qemu *qemu = data;

	(void)result;
	if (why && qemu->vm.log)
		log_limited(qemu->vm.log, "%s", why->msg);
}

/* Returns the arguments of the command for the power button. A machine with ACPI gets an event
 * without arguments, so the result is NULL. A machine without ACPI (arm64) gets a key of its
 * keyboard. */
static json_t *power_arguments(enum architecture architecture)
{
	return architecture == ARCHITECTURE_ARM64
		       ? json_pack("{s:[{s:s, s:s}]}", "keys", "type", "qcode", "data", "power")
		       : NULL;
}

int qemu_power_button(struct vm *vm, struct error *err)
{
	static const char *const commands[ARCHITECTURE_COUNT] = {
		[ARCHITECTURE_AMD64] = "system_powerdown",
		[ARCHITECTURE_ARM64] = "send-key",
	};
	enum architecture machine;

	if (!vm)
		return error_set(
			err, ERR_NOT_FOUND,
			"no machine is running, so no guest can be asked to switch itself off: start the machine first");
	machine = qemu_of(vm)->architecture;
	return qmp_send(qemu_of(vm)->qmp, commands[machine], power_arguments(machine),
			on_monitor_answer, qemu_of(vm), err);
}

int qemu_resume(struct vm *vm, struct error *err)
{
	struct qemu *qemu = qemu_of(vm);

	if (qmp_send(qemu->qmp, "cont", NULL, qemu_end_if_refused, qemu, err) < 0)
		return -1;
	qemu->paused = false;
	qemu->resumes++;
	return 0;
}

/* Makes QEMU close the host's side of each card. Otherwise QEMU might not notice that the socket
 * has ended while the guest takes no frames. */
int qemu_unplug_net(struct vm *vm, struct error *err)
{
	char name[32] = MACHINE_NETDEV;

	for (size_t i = 0; i < vm->links || (i == 0 && !vm->links); i++) {
		if (vm->links)
			snprintf(name, sizeof(name), MACHINE_LINK "%zu", i);
		if (qmp_send(qemu_of(vm)->qmp, "netdev_del", json_pack("{s:s}", "id", name), NULL,
			     NULL, err) < 0)
			return -1;
	}
	return 0;
}
