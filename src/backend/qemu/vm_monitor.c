/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/qemu/vm.h"
#include "base/cleanup.h"
#include "base/json.h"

/* --- the end as QEMU tells it ---------------------------------------------------------------- */

static const struct {
	const char *reason; /* of the SHUTDOWN event */
	enum vm_end end;
	const char *detail;
} shutdown_table[] = {
	{"guest-shutdown", VM_END_POWERED_OFF, ""},
	{"guest-reset", VM_END_RESET, "the guest's kernel panicked or rebooted"},
	{"guest-panic", VM_END_RESET, "the guest's kernel panicked"},
	{"subsystem-reset", VM_END_RESET, "the guest was reset by one of its devices"},
	{"host-qmp-quit", VM_END_KILLED, "QEMU was told to quit"},
	{"host-signal", VM_END_CRASHED, "QEMU was ended by a signal from outside"},
	{"host-error", VM_END_CRASHED, "QEMU met an error of the host"},
};

static void tell_end(struct vm *vm, enum vm_end end, const char *detail)
{
	if (vm->end_told)
		return;
	vm->end_told = true;
	vm->end = end;
	/* A panic told before is more than what follows from it. */
	if (!*vm->detail)
		snprintf(vm->detail, sizeof(vm->detail), "%.255s", detail);
}

static void on_shutdown(struct vm *vm, const json_t *body)
{
	const char *reason = json_text(body, "reason", NULL);
	char unknown[96];

	for (size_t i = 0; reason && i < ARRAY_SIZE(shutdown_table); i++) {
		if (strcmp(reason, shutdown_table[i].reason) == 0) {
			tell_end(vm, shutdown_table[i].end, shutdown_table[i].detail);
			return;
		}
	}
	snprintf(unknown, sizeof(unknown), "QEMU ended: %.64s",
		 reason ? reason : "no reason given");
	tell_end(vm, VM_END_CRASHED, unknown);
}

static void on_panicked(struct vm *vm, const json_t *body)
{
	(void)body;
	tell_end(vm, VM_END_RESET, "the guest's kernel panicked");
}

/* --- disks and pauses ------------------------------------------------------------------------ */

/* Only a full disk stops the VM (werror=enospc); every request in flight reports it once more. */
static void on_block_error(struct vm *vm, const json_t *body)
{
	const char *node = json_text(body, "node-name", NULL);
	const char *reason = json_text(body, "reason", NULL);

	if (!json_is_true(json_object_get(body, "nospace"))) {
		if (vm->log)
			log_limited(vm->log, "disk %.32s: %.128s", node ? node : "?",
				    reason ? reason : "error");
		return;
	}
	if (vm->paused)
		return;
	vm->paused = true;
	vm->events.disk_full(vm->events.data, node ? node : "?", reason ? reason : "no space left");
}

/* Why a VM may stand still. Any other reason, and those to come, is nobody's wish. */
static const char *const fine_reasons[] = {
	"running",   "paused",	   "shutdown",			    /* we did it, or it ends */
	"inmigrate", "prelaunch",  "postmigrate", "finish-migrate", /* saves */
	"save-vm",   "restore-vm",
};

static const struct {
	const char *reason, *text;
} stop_table[] = {
	{"internal-error", "the accelerator cannot run an instruction or a state of the guest"},
	{"io-error", "an error of a disk"},
	{"guest-panicked", "the guest's kernel panicked"},
	{"suspended", "the guest suspended itself, and nobody would wake it"},
	{"watchdog", "the guest's watchdog"},
};

static bool is_fine(const struct vm *vm, const char *reason)
{
	if (vm->paused && strcmp(reason, "io-error") == 0)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(fine_reasons); i++)
		if (strcmp(reason, fine_reasons[i]) == 0)
			return true;
	return false;
}

/* QEMU ends by itself, or the disks would lack what it holds of them; vm_grace() sees to it. */
static void give_up(struct vm *vm, const char *reason)
{
	const char *text = "a reason that is not known";
	char detail[128];
	struct error ignored;

	for (size_t i = 0; i < ARRAY_SIZE(stop_table); i++)
		if (strcmp(reason, stop_table[i].reason) == 0)
			text = stop_table[i].text;
	snprintf(detail, sizeof(detail), "%.32s (%s)", reason, text);
	tell_end(vm, VM_END_STOPPED, detail);
	(void)qmp_send(vm->qmp, "quit", NULL, NULL, NULL, &ignored);
	vm_grace(vm);
}

static void look_why(struct vm *vm);

static void on_why(void *data, const json_t *result, const struct error *why)
{
	struct vm *vm = data;
	const char *reason = json_text(result, "status", "");

	vm->looking = false;
	if (why || vm->end_told || is_fine(vm, reason))
		return;
	if (vm->resumes != vm->looked_at)
		look_why(vm); /* that was before */
	else
		give_up(vm, reason);
}

/* STOP has no reason with it. What cannot be asked is seen by its deadlines. */
static void look_why(struct vm *vm)
{
	struct error ignored;

	if (vm->looking)
		return;
	vm->looking = qmp_send(vm->qmp, "query-status", NULL, on_why, vm, &ignored) == 0;
	vm->looked_at = vm->resumes;
}

static void on_stop(struct vm *vm, const json_t *body)
{
	(void)body;
	if (vm->log)
		log_limited(vm->log, "the VM is paused");
	if (!vm->paused)
		look_why(vm);
}

static void on_resume(struct vm *vm, const json_t *body)
{
	(void)body;
	if (vm->log)
		log_limited(vm->log, "the VM goes on");
}

/* --- dispatch -------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	void (*fn)(struct vm *vm, const json_t *body);
} event_table[] = {
	{"SHUTDOWN", on_shutdown},
	{"GUEST_PANICKED", on_panicked},
	{"BLOCK_IO_ERROR", on_block_error},
	{"BALLOON_CHANGE", vm_on_balloon_change},
	{"DEVICE_DELETED", vm_on_device_deleted},
	{"STOP", on_stop},
	{"SUSPEND", on_stop},
	{"RESUME", on_resume},
};

static void on_qmp_event(void *data, const char *name, const json_t *body)
{
	struct vm *vm = data;

	for (size_t i = 0; i < ARRAY_SIZE(event_table); i++)
		if (strcmp(event_table[i].name, name) == 0)
			event_table[i].fn(vm, body);
}

/*
 * When memory runs out QEMU goes before us, who can tell why. Not earlier: before its exec() the
 * process is not an ordinary user's to change. Best effort.
 */
static void raise_oom_score(pid_t pid)
{
	char path[64], text[32];
	long own = 0;
	autoclose int ours = open("/proc/self/oom_score_adj", O_RDONLY | O_CLOEXEC);
	ssize_t n = ours < 0 ? -1 : read(ours, text, sizeof(text) - 1);

	if (n > 0) {
		text[n] = '\0';
		own = strtol(text, NULL, 10);
	}
	snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", (int)pid);
	snprintf(text, sizeof(text), "%ld", own + 200 > 1000 ? 1000 : own + 200);
	autoclose int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd >= 0)
		(void)!write(fd, text, strlen(text));
}

static void on_qmp_ready(void *data)
{
	struct vm *vm = data;

	vm->monitored = true;
	if (vm_is_alive(vm))
		raise_oom_score(vm->cell.pid);
}

/* A monitor that ends with QEMU is how things are; any other end of it is misbehaviour. */
static void on_closed(void *data, const struct error *why)
{
	struct vm *vm = data;

	if (!why) {
		vm_grace(vm);
		return;
	}
	if (vm->log)
		log_line(vm->log, "%s", why->msg);
	if (vm_is_alive(vm)) {
		tell_end(vm, VM_END_CRASHED, why->msg);
		cell_kill(&vm->cell);
	}
}

const struct qmp_events vm_monitor_events = {
	.ready = on_qmp_ready, .event = on_qmp_event, .closed = on_closed};

/* --- commands -------------------------------------------------------------------------------- */

static void on_monitor_answer(void *data, const json_t *result, const struct error *why)
{
	struct vm *vm = data;

	(void)result;
	if (why && vm->log)
		log_limited(vm->log, "%s", why->msg);
}

int vm_power_button(struct vm *vm, struct error *err)
{
	if (!vm)
		return error_set(err, ERR_NOT_FOUND, "there is no VM to switch off");
	return qmp_send(vm->qmp, "system_powerdown", NULL, on_monitor_answer, vm, err);
}

int vm_resume(struct vm *vm, struct error *err)
{
	if (qmp_send(vm->qmp, "cont", NULL, on_monitor_answer, vm, err) < 0)
		return -1;
	vm->paused = false;
	vm->resumes++;
	return 0;
}
