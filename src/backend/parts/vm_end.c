/* SPDX-License-Identifier: MIT */
/*
 * Handles the ends of a VM's processes. The monitor and the companions are children of this
 * process, and the loop reaps them. The program is a child of bwrap, and its pidfd tells when it
 * has ended. When all processes have ended, the event `ended` is called. Only this file calls
 * it.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "backend/parts/confinement.h"
#include "backend/parts/vm.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "base/platform/linux/process_directory.h"

bool vm_is_alive(const struct vm *vm)
{
	struct pollfd p = {.fd = vm->cell.pidfd, .events = POLLIN};

	return !vm->program_gone && !vm->monitor_gone && p.fd >= 0 && poll(&p, 1, 0) == 0;
}

void vm_tell_end(struct vm *vm, enum vm_end end, const char *detail)
{
	if (vm->end_told)
		return;
	vm->end_told = true;
	vm->end = end;
	/* A detail that was set before, such as a panic, is kept. The earlier detail says more than
	 * the end that follows from it. */
	if (!*vm->detail)
		snprintf(vm->detail, sizeof(vm->detail), "%.255s", detail);
}

/* Guesses how the VMM has ended, if the VMM has not announced its end. */
static void guess_end(struct vm *vm)
{
	int signal = vm->exit_code > 128 ? vm->exit_code - 128 : 0;
	const char *said = vm->kind->meaning(vm->vmm_stderr.last);
	char how[64];

	vm->end = vm->killing ? VM_END_KILLED : VM_END_CRASHED;
	if (vm->killing)
		return;
	if (signal == SIGSYS)
		snprintf(how, sizeof(how),
			 "was killed because it made a system call that no VMM makes");
	else if (signal)
		snprintf(how, sizeof(how), "died by signal %d", signal);
	else
		snprintf(how, sizeof(how), "ended by itself with code %d", vm->exit_code);
	snprintf(vm->detail, sizeof(vm->detail), "%.16s %s%s%.160s", vm->kind->name, how,
		 *said ? ": " : "", said);
	/* The VMM was never ready, so the cell may have failed. The next start then tests again
	 * whether a cell can be made. */
	if (!vm->spoke && vm->cell.confined)
		confinement_forget();
}

static bool all_gone(const struct vm *vm)
{
	return vm->program_gone && vm->monitor_gone && companions_gone(&vm->companions);
}

static void report_when_over(struct vm *vm)
{
	if (!all_gone(vm))
		return;
	loop_remove(steal_ptr(&vm->grace_timer));
	loop_remove(steal_ptr(&vm->sever_timer));
	/* The last output of the VMM and its companions is still in sockets and pipes, whose sizes
	 * limit its length. */
	vm->kind->drain(vm);
	stderr_log_drain(&vm->vmm_stderr);
	companions_drain(&vm->companions);
	if (!vm->end_told)
		guess_end(vm);
	/* The function `ended` may free the VM, so the VM must not be used after this call. */
	vm->events.ended(vm->events.data, vm->end, vm->detail);
}

/* --- processes that do not end by themselves ------------------------------------------------- */

static void on_vm_grace_over(struct loop *loop, void *data);

static void arm_grace(struct vm *vm, enum limit limit)
{
	struct error ignored;
	uint64_t deadline = limit_deadline(limit);

	vm->grace_timer = loop_add_timer(vm->loop, deadline, on_vm_grace_over, vm, &ignored);
	if (!vm->grace_timer) {
		vm->overdue = true;
		on_vm_grace_over(vm->loop, vm);
	}
}

static void tell_lost(struct vm *vm, struct companion *lost)
{
	lost->settled = true;
	vm->events.companion_lost(vm->events.data, lost->name, lost->code, lost->stderr_log.last,
				  lost->fatal);
}

static void on_vm_grace_over(struct loop *loop, void *data)
{
	struct vm *vm = data;
	struct companion *lost = companions_lost(&vm->companions);
	char detail[64];

	(void)loop;
	vm->grace_timer = NULL;
	if (!vm_is_alive(vm)) {
		companions_end(&vm->companions);
	} else if (vm->end_told && !vm->overdue) {
		/* The VMM is ending. On a busy host it may need a long time to write the disks'
		 * data. */
		vm->overdue = true;
		arm_grace(vm, LIMIT_KILL_MS);
	} else if (vm->end_told || vm->killing) {
		cell_kill(&vm->cell);
	} else if (lost) {
		tell_lost(vm, lost);
	} else {
		snprintf(detail, sizeof(detail), "%s closed its monitor but did not end",
			 vm->kind->name);
		vm_tell_end(vm, VM_END_CRASHED, detail);
		cell_kill(&vm->cell);
	}
}

void vm_grace(struct vm *vm)
{
	if (!vm->grace_timer && !all_gone(vm))
		arm_grace(vm, LIMIT_VMM_END_MS);
}

/* Lets the companions end. Each companion notices that its connection has ended, and first passes
 * on the data that it still holds. If the VMM makes its own sockets, the companions are killed
 * instead. Such companions hold no data, and a companion with a tap does not notice that the VMM
 * has ended. */
static void end_companions(struct vm *vm)
{
	if (vm->killing || vm->kind->binds_sockets)
		companions_end(&vm->companions);
	else
		vm_grace(vm);
}

/* --- processes that have ended --------------------------------------------------------------- */

static void on_monitor(struct loop *loop, int code, void *data)
{
	struct vm *vm = data;

	(void)loop;
	vm->monitor_watch = NULL;
	vm->monitor_gone = true;
	vm->exit_code = code;
	cell_kill(&vm->cell); /* if only the monitor was killed, the program still runs */
	end_companions(vm);
	report_when_over(vm);
}

static void on_program(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct vm *vm = data;

	(void)loop, (void)fd, (void)events;
	loop_remove(steal_ptr(&vm->program_watch));
	vm->program_gone = true;
	end_companions(vm);
	report_when_over(vm);
}

/* Handles the end of a companion. If the VMM's connection has ended, a companion ends with code 0,
 * and the end of the VMM may be noticed only a moment later.
 *
 * If a companion has failed before the VMM was ready, or lacks something on the host, this may be
 * the reason for the VMM's end. So the event `companion_lost` is called even if the VMM has
 * ended. */
void vm_on_companion(void *data, struct companion *companion)
{
	struct vm *vm = data;
	bool at_first = companion->code == EX_TEMPFAIL || (companion->code != 0 && !vm->spoke);

	if ((at_first || vm_is_alive(vm)) && !vm->killing && !companion->settled) {
		if (companion->code == 0)
			vm_grace(vm);
		else
			tell_lost(vm, companion);
	}
	report_when_over(vm);
}

/*
 * Makes the kernel kill the VMM before this process if memory runs out. This process can then still
 * tell why the machine has ended. The change is not made earlier, because an ordinary user may not
 * change the VMM's process before its exec(). A failure is ignored.
 */
static void raise_oom_score(const struct cell *cell)
{
	char text[32];
	long own = 0;
	struct error ignored;
	autoclose int process = process_directory(cell->pid, cell->pidfd, &ignored);
	autoclose int ours = open("/proc/self/oom_score_adj", O_RDONLY | O_CLOEXEC);
	ssize_t n = ours < 0 ? -1 : read(ours, text, sizeof(text) - 1);

	if (n > 0) {
		text[n] = '\0';
		own = strtol(text, NULL, 10);
	}
	snprintf(text, sizeof(text), "%ld", own + 200 > 1000 ? 1000 : own + 200);
	autoclose int fd =
		process < 0 ? -1 : openat(process, "oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (fd >= 0)
		(void)!write(fd, text, strlen(text));
}

void vm_speaks(struct vm *vm)
{
	vm->spoke = true;
	raise_oom_score(&vm->cell);
}

int vm_watch(struct vm *vm, struct error *err)
{
	vm->monitor_watch = loop_add_proc(vm->loop, &vm->cell.monitor, on_monitor, vm, err);
	if (!vm->monitor_watch)
		return -1;
	vm->program_watch = loop_add_fd(vm->loop, vm->cell.pidfd, LOOP_IN, on_program, vm, err);
	if (!vm->program_watch)
		return -1;
	return companions_watch(&vm->companions, err);
}

void vm_kill(struct vm *vm)
{
	if (!vm)
		return;
	vm->killing = true;
	cell_kill(&vm->cell);
	companions_end(&vm->companions);
}

/* --- facts ----------------------------------------------------------------------------------- */

json_t *vm_describe(const struct vm *vm)
{
	json_t *companions = json_array();
	/* A machine whose filter refuses nothing has the weakest confinement, with or without a
	 * cell. */
	const char *confinement =
		vm->unfiltered ? CONFINEMENT_UNFILTERED
			       : confinement_names[vm->cell.confined ? CONFINEMENT_CELL
								     : CONFINEMENT_SECCOMP];

	companions_describe(&vm->companions, companions);
	if (vm->cell.confined)
		json_array_append_new(companions, json_pack("{s:s, s:I}", "name", "bwrap", "pid",
							    (json_int_t)vm->monitor_pid));
	return json_pack("{s:I, s:s, s:o, s:o}", "pid", (json_int_t)vm->cell.pid, "confinement",
			 confinement, "companions", companions, "network", vm_net_describe(vm));
}
