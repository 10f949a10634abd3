/* SPDX-License-Identifier: MIT */
/*
 * Makes calls to the machine, and handles the messages (post.h) by which the machine's queue
 * answers. When the framework reports the end of the machine, the bytes that are still in the
 * guest's connections are delivered first. Only then the live supervisor gets the report.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "applevf/applevf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/limits.h"

/* --- its end ---------------------------------------------------------------------------------- */

/* Reports the end of the machine by events.ended(), which may free the vm. */
static void tell_machine_end(struct loop *loop, void *data)
{
	struct vm *vm = data;

	(void)loop;
	vm->end_timer = NULL;
	streams_close(vm);
	serial_drain(vm);
	/* removes the timer, which streams_close() may have set again */
	loop_remove(steal_ptr(&vm->end_timer));
	vm->events.ended(vm->events.data, vm->end, vm->detail);
}

static void tell_end_at(struct vm *vm, uint64_t deadline_ns)
{
	struct error err;

	loop_remove(vm->end_timer);
	vm->end_timer = loop_add_timer(vm->loop, deadline_ns, tell_machine_end, vm, &err);
	if (!vm->end_timer) {
		log_line(vm->log, "%s", err.msg);
		vm->events.ended(vm->events.data, vm->end, vm->detail);
	}
}

void applevf_quiet(struct vm *vm)
{
	if (vm->ending && vm->end_timer)
		tell_end_at(vm, clock_mono_ns());
}

static void begin_ending(struct vm *vm, enum vm_end end, const char *detail)
{
	bool at_once = vm->killing || vm->streams.count == 0;

	if (vm->ending)
		return;
	vm->ending = true;
	vm->end = vm->killing ? VM_END_KILLED : end;
	snprintf(vm->detail, sizeof(vm->detail), "%s", detail);
	loop_remove(steal_ptr(&vm->sever_timer));
	streams_stop(vm);
	tell_end_at(vm, at_once ? clock_mono_ns() : limit_deadline(LIMIT_VSOCK_DRAIN_MS));
}

void applevf_kill(struct vm *vm)
{
	if (!vm)
		return;
	vm->killing = true;
	if (vm->ending)
		applevf_quiet(vm);
	else
		vz_stop(vm->vz);
}

/* Stops a machine that cannot continue, but does not end by itself. */
static void break_off_machine(struct vm *vm, enum vm_end end, const char *why)
{
	if (vm->ending || vm->killing || vm->broken)
		return;
	vm->end = end;
	snprintf(vm->detail, sizeof(vm->detail), "%s", why);
	vm->broken = true;
	vz_stop(vm->vz);
}

/* Ends the machine after a reset of the guest. The framework boots the guest again, but the agent
 * gets no second run config. */
void applevf_was_reset(struct vm *vm)
{
	break_off_machine(vm, VM_END_RESET, "the guest's kernel panicked or rebooted");
}

static void on_letter_started(struct vm *vm, const struct letter *letter)
{
	(void)letter;
	log_line(vm->log, "Virtualization.framework has started the machine");
}

static void on_letter_guest_stopped(struct vm *vm, const struct letter *letter)
{
	(void)letter;
	begin_ending(vm, VM_END_POWERED_OFF, "");
}

static void on_letter_crashed(struct vm *vm, const struct letter *letter)
{
	log_line(vm->log, "%s", letter->why.msg);
	begin_ending(vm, VM_END_CRASHED, letter->why.msg);
}

/* Handles the answer to a stop. If the machine cannot be stopped, it ends only when this process
 * exits. After a kill, the live supervisor waits only until a deadline, so this function does
 * nothing more. If the machine was stopped because of a fault, the live supervisor does not expect
 * an end, so the end is reported now. */
static void on_letter_stopped(struct vm *vm, const struct letter *letter)
{
	char detail[sizeof(vm->detail)];

	if (letter->why.code != ERR_NONE) {
		log_line(vm->log, "%s", letter->why.msg);
		if (vm->killing || !vm->broken)
			return;
	}
	snprintf(detail, sizeof(detail), "%s", vm->broken ? vm->detail : "");
	begin_ending(vm, vm->broken ? vm->end : VM_END_KILLED, detail);
}

/* --- power, pause, balloon -------------------------------------------------------------------- */

/* Asks the guest to switch itself off. The answer comes later, as a message of the queue. If this
 * message reports a failure, the machine is killed, since the guest will not switch itself off. */
int applevf_power_button(struct vm *vm, struct error *err)
{
	if (vm->ending)
		return error_set(
			err, ERR_CONFLICT,
			"the machine has ended, so nothing can be asked of it: start it again");
	vz_press_power(vm->vz);
	return 0;
}

static void on_letter_power(struct vm *vm, const struct letter *letter)
{
	if (letter->why.code == ERR_NONE || vm->ending)
		return;
	log_line(vm->log, "%s", letter->why.msg);
	applevf_kill(vm);
}

int applevf_resume(struct vm *vm, struct error *err)
{
	if (vm->ending)
		return error_set(
			err, ERR_CONFLICT,
			"the machine has ended, so nothing can be asked of it: start it again");
	vz_resume(vm->vz);
	return 0;
}

static void on_letter_resumed(struct vm *vm, const struct letter *letter)
{
	if (letter->why.code == ERR_NONE)
		return;
	log_line(vm->log, "%s", letter->why.msg);
	break_off_machine(vm, VM_END_CRASHED, letter->why.msg);
}

int applevf_pause(struct vm *vm, vm_done_fn *fn, void *data, struct error *err)
{
	if (vm->pausing.fn)
		return error_set(
			err, ERR_CONFLICT,
			"the machine is just being paused by another request: try again when that is done");
	if (vm->ending)
		return error_set(
			err, ERR_CONFLICT,
			"the machine has ended, so nothing can be asked of it: start it again");
	vm->pausing.fn = fn;
	vm->pausing.data = data;
	vz_pause(vm->vz);
	return 0;
}

static void on_letter_paused(struct vm *vm, const struct letter *letter)
{
	vm_done_fn *fn = steal_ptr(&vm->pausing.fn);

	if (fn)
		fn(vm->pausing.data, letter->why.code == ERR_NONE ? NULL : &letter->why);
}

int applevf_balloon(struct vm *vm, int64_t mib, vm_balloon_fn *fn, void *data, struct error *err)
{
	if (vm->balloon.fn)
		return error_set(
			err, ERR_CONFLICT,
			"the balloon is being set by another request: try again when that request has ended");
	if (mib > vm->memory_mib)
		return error_set(
			err, ERR_INVALID,
			"the machine has only %lld MiB of memory, and cannot have %lld: ask for less",
			(long long)vm->memory_mib, (long long)mib);
	if (vm->ending)
		return error_set(
			err, ERR_CONFLICT,
			"the machine has ended, so nothing can be asked of it: start it again");
	vm->balloon.fn = fn;
	vm->balloon.data = data;
	vz_set_memory(vm->vz, mib);
	return 0;
}

/* Answers a balloon request. The framework only asks the guest for the size, and does not report
 * the result
 * (developer.apple.com/documentation/virtualization/vzvirtiotraditionalmemoryballoondevice). */
static void on_letter_balloon(struct vm *vm, const struct letter *letter)
{
	vm_balloon_fn *fn = steal_ptr(&vm->balloon.fn);

	if (fn)
		fn(vm->balloon.data, VM_BALLOON_UNTOLD,
		   letter->why.code == ERR_NONE ? NULL : &letter->why);
}

/* --- letters ---------------------------------------------------------------------------------- */

static void on_letter_network_lost(struct vm *vm, const struct letter *letter)
{
	log_limited(vm->log, "%s", letter->why.msg);
}

static void (*const letter_readers[LETTER_KINDS])(struct vm *vm, const struct letter *letter) = {
	[LETTER_STARTED] = on_letter_started,
	[LETTER_GUEST_STOPPED] = on_letter_guest_stopped,
	[LETTER_CRASHED] = on_letter_crashed,
	[LETTER_STOPPED] = on_letter_stopped,
	[LETTER_PAUSED] = on_letter_paused,
	[LETTER_RESUMED] = on_letter_resumed,
	[LETTER_POWER] = on_letter_power,
	[LETTER_BALLOON] = on_letter_balloon,
	[LETTER_SHARED] = applevf_shared,
	[LETTER_UNSHARED] = applevf_shared,
	[LETTER_NETWORK_LOST] = on_letter_network_lost,
	[LETTER_SEVERED] = applevf_severed,
	[LETTER_CONNECTED] = streams_connected,
	[LETTER_ACCEPTED] = streams_accepted,
};

/* Closes the file descriptor of a message and releases its objects, without handling the message.
 * Used while the vm is being freed. */
static void discard_letter(struct vm *vm, const struct letter *letter)
{
	if (letter->fd >= 0)
		close(letter->fd);
	if (letter->connection)
		vz_hang_up(vm->vz, letter->connection);
	json_decref(letter->names);
}

void applevf_on_letter(void *data, const struct letter *letter)
{
	struct vm *vm = data;

	if (vm->closing)
		discard_letter(vm, letter);
	else
		letter_readers[letter->kind](vm, letter);
}
