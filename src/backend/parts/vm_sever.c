/* SPDX-License-Identifier: MIT */
/*
 * Quarantine: cuts every channel of the VM, and proves from outside that the VM is cut off. The
 * companions are killed and reaped. The processes that the companions had started, such as the
 * program in a companion's cell, are killed by pidfd. The quarantine waits until each of them has
 * ended, or has no memory any more in which it could run.
 *
 * Then the descriptors of the VMM are examined from outside (vm_held.c). The VMM itself closes its
 * ends of dead connections, and does not report this. So the VMM is examined every few
 * milliseconds. If something cannot be examined, nothing is proven, and the quarantine fails.
 *
 * The VMM cannot open a new socket that leads anywhere: its network namespace is empty, and no path
 * of the host is in its cell. There is only one directory in which a VMM can make names, and that
 * directory is removed first.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "backend/parts/vm_held.h"
#include "base/agent_wire.h"
#include "base/broker.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"

/* --- work that needs the broker's rights ------------------------------------------------------ */

/* Removes the run directory of a stopped VMM. Fails if the run directory contains a directory, or
 * more than LIMIT_SEVER_NAMES names. The VMM may have made very many names, and to remove them
 * would stop this process for a long time. */
static int take_run_dir(const struct vm *vm, struct error *err)
{
	autoclose int run = openat(vm->workspace_fd, VM_RUN_DIR,
				   O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	autodir DIR *dir = run < 0 ? NULL : fdopendir(run);
	const struct dirent *entry;

	if (!dir)
		return error_errno(err, errno, VM_RUN_DIR);
	steal_fd(&run);
	for (size_t i = 0; (errno = 0, entry = readdir(dir)); i++) {
		if (i == limit_get(LIMIT_SEVER_NAMES))
			return error_set(
				err, ERR_IO,
				"%s has made more than %zu files in %s of the workspace: it has a bug, or was taken over",
				vm->kind->name, i, VM_RUN_DIR);
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
		    unlinkat(dirfd(dir), entry->d_name, 0) < 0)
			return error_errno(err, errno, "%s/%s", VM_RUN_DIR, entry->d_name);
	}
	if (errno || unlinkat(vm->workspace_fd, VM_RUN_DIR, AT_REMOVEDIR) < 0)
		return error_errno(err, errno, VM_RUN_DIR);
	return 0;
}

/* Removes the names of the sockets on which the VMM listens, and the directory in which it could
 * make new names. */
static int remove_names(const struct vm *vm, struct error *err)
{
	static const char *const names[] = {"vsock.sock", AGENT_SOCK, AGENT_SOCK_EARLY};
	struct descendants below;
	int status;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (unlinkat(vm->workspace_fd, names[i], 0) < 0 && errno != ENOENT)
			return error_errno(err, errno, "%s", names[i]);
	if (vm_freeze(vm, &below, err) < 0)
		return -1;
	status = take_run_dir(vm, err);
	vm_thaw(vm, &below);
	return status;
}

/* Adds all processes below the supervisor, which is the parent of this process. While this process
 * lives, no other process gets the supervisor's pid. */
static int add_all_below(struct descendants *all, pid_t supervisor, struct error *err)
{
	struct proc held;
	int status;

	if (proc_hold(supervisor, &held, err) < 0)
		return -1;
	status = descendants_add(all, &held, err);
	proc_let_go(&held);
	return status;
}

/* Removes the names of the VMM's sockets, and kills the processes that the companions have started.
 * These processes must be killed before the companions, since the children of a dead companion
 * cannot be found. The broker does not trust a list of these processes. The broker kills all
 * processes below the supervisor except the cell and itself. */
static int cut(struct vm *vm, struct error *err)
{
	const pid_t supervisor = broker_asker();

	vm->severing = true;
	broker_cut_ways();
	if (vm->kind->binds_sockets && remove_names(vm, err) < 0)
		return -1;
	if (supervisor) {
		descendants_close(&vm->severed);
		vm->severed.spared[0] = vm->monitor_pid;
		vm->severed.spared[1] = getpid();
		if (add_all_below(&vm->severed, supervisor, err) < 0)
			return -1;
	}
	for (const struct companion *c = vm->companions.first; c && !supervisor; c = c->next)
		if (!c->gone && descendants_add(&vm->severed, &c->proc, err) < 0)
			return -1;
	descendants_kill(&vm->severed);
	vm->cut = true;
	return 0;
}

/* Returns 0 if no part of the machine can reach out any more. Returns 1, with the reason in `err`,
 * if a part of the machine may still reach out. Returns -1 with an error if this cannot be found
 * out. */
static int count_left(const struct vm *vm, struct error *err)
{
	if (!descendants_gone(&vm->severed)) {
		error_set(
			err, ERR_TIMEOUT,
			"a process that a companion of the machine had started did not end although it was killed");
		return 1;
	}
	return vm_held(vm, err);
}

/* Kills the processes that the supervisor has started after the machine was cut off. Returns 1 if
 * there was such a process, 0 if there was none, or -1 with an error if this cannot be found
 * out. */
static int kill_started_since(const struct vm *vm, struct error *err)
{
	struct descendants now = {.spared = {vm->monitor_pid, getpid()}};
	int status = add_all_below(&now, broker_asker(), err);
	const bool any = status == 0 && !descendants_gone(&now);

	descendants_kill(&now);
	descendants_close(&now);
	return status < 0 ? -1 : any;
}

/* Counts the channels and processes that the machine and the supervisor still have. Called in the
 * broker. Returns the same values as count_left(). */
static int count_left_of_both(const struct vm *vm, struct error *err)
{
	int left =
		vm->cut ? count_left(vm, err)
			: error_set(
				  err, ERR_INVALID,
				  "the broker is asked whether the machine is cut off, but it was never told to cut it off: this is a bug, or the live supervisor was taken over");

	if (left == 0 && broker_asker()) {
		left = kill_started_since(vm, err);
		if (left > 0)
			error_set(
				err, ERR_TIMEOUT,
				"the live supervisor has started a process since the machine was cut off: this is a bug, or the live supervisor was taken over");
	}
	return left == 0 && vm->events.cut_off ? vm->events.cut_off(vm->events.data, err) : left;
}

enum { ASK_TO_CUT, ASK_WHAT_IS_LEFT };

/* Does one step of a quarantine in the broker. If the machine may still reach out, the step does
 * not fail, and the answer has the reason. */
static int serve_sever(void *data, const struct broker_message *in, struct broker_message *out,
		       struct error *err)
{
	struct vm *vm = data;
	struct error left = {0};
	int count;

	if (in->len != 1)
		return error_set(
			err, ERR_INVALID,
			"the broker refuses a request, because it is not a step of a quarantine: this is a bug, or the live supervisor was taken over");
	if (in->bytes[0] == ASK_TO_CUT)
		return vm->cut ? 0 : cut(vm, err);
	count = count_left_of_both(vm, &left);
	if (count < 0)
		return error_copy(err, &left);
	if (count == 0)
		vm->quarantined = true;
	out->len = count ? (size_t)snprintf(out->bytes, BROKER_BYTES, "%s", left.msg) : 0;
	return 0;
}

const struct broker_duty vm_sever_duty = {serve_sever};

/* --- ending all processes --------------------------------------------------------------------- */

/* Kills all processes below the supervisor. Returns true if there was none. A process may start
 * another process before it is killed, so the caller repeats the call until the result is true. */
static bool kill_all_below(const struct vm *vm, pid_t supervisor, struct error *err)
{
	struct descendants all = {.spared = {getpid()}};
	int status = add_all_below(&all, supervisor, err);
	const bool none = status == 0 && all.count == 0 && !vm_is_alive(vm);

	/* If the monitor was killed before, the program is a child of the guard now. */
	cell_kill(&vm->cell);
	descendants_kill(&all);
	descendants_close(&all);
	return none;
}

int vm_end_all(struct vm *vm, struct error *err)
{
	static const struct timespec moment = {.tv_nsec = (long)NS_PER_MS};
	const uint64_t deadline = limit_deadline(LIMIT_KILL_MS);
	struct error why = {0};

	if (vm->quarantined)
		return error_set(
			err, ERR_CONFLICT,
			"the broker refuses to end the machine, because a quarantined machine is kept: end the quarantine first");
	broker_cut_ways();
	while (!kill_all_below(vm, broker_asker(), &why)) {
		if (why.code)
			return error_copy(err, &why);
		if (clock_mono_ns() > deadline)
			return error_set(
				err, ERR_TIMEOUT,
				"processes of the machine did not end in time although they were killed: try again when this host is less busy");
		nanosleep(&moment, NULL);
	}
	return 0;
}

/* --- requests to the broker ------------------------------------------------------------------- */

/* Fills `fds` with the descriptors that the broker needs, and returns their number. With the VMM's
 * pidfd the broker takes copies of the VMM's sockets. With the workspace and the lease the broker
 * starts a virtiofsd. With the control socket the broker takes down a tap. */
size_t vm_broker_fds(const struct vm *vm, int fds[VM_BROKER_FDS])
{
	fds[0] = vm->cell.pidfd;
	fds[1] = vm->workspace_fd;
	fds[2] = vm->lease_fd;
	fds[3] = vm->net.control_fd;
	return vm->net.control_fd < 0 ? 3 : 4;
}

static int sever_step(char step, struct broker_message *out, struct error *err)
{
	const struct broker_message in = {.len = 1, .bytes = {step}};

	return broker_ask(&vm_sever_duty, &in, out, err);
}

/* --- the whole quarantine --------------------------------------------------------------------- */

static void tell_severed(struct vm *vm, const struct error *why)
{
	json_auto_t *names = why ? NULL : json_array();

	/* The array gets the names of the companions, and of the other channels that were cut. */
	if (names && vm->net.mode == NETWORK_BRIDGED)
		json_array_append_new(names, json_string("network"));
	if (names && vm->kind->binds_sockets)
		json_array_append_new(names, json_string("vsock"));
	for (const struct companion *c = vm->companions.first; names && c; c = c->next)
		if (c->pid)
			json_array_append_new(names, json_string(c->name));
	loop_remove(steal_ptr(&vm->sever_timer));
	vm->events.severed(vm->events.data, names, why);
}

/* Counts the companions and channels that are not severed yet. Returns the same values as
 * count_left(). */
static int count_unsevered(const struct vm *vm, struct error *err)
{
	struct broker_message out;

	for (const struct companion *c = vm->companions.first; c; c = c->next) {
		if (c->gone)
			continue;
		error_set(err, ERR_TIMEOUT, "%s did not end although it was killed", c->name);
		return 1;
	}
	if (!broker_is_asked())
		return count_left(vm, err);
	if (sever_step(ASK_WHAT_IS_LEFT, &out, err) < 0)
		return -1;
	if (out.len == 0)
		return 0;
	error_set(err, ERR_TIMEOUT, "%s", out.bytes);
	return 1;
}

static void on_sever_look(struct loop *loop, void *data)
{
	struct vm *vm = data;
	struct error why = {0};
	int left;

	(void)loop;
	/* When the VMM has ended, another process may get its pid, so nothing is examined any more.
	 * The event `ended` reports this end. */
	if (vm->killing || !vm_is_alive(vm))
		return;
	left = count_unsevered(vm, &why);
	if (left > 0 && clock_mono_ns() < vm->sever_deadline_ns)
		return;
	if (left != 0)
		tell_severed(vm, &why);
	else if (vm_is_alive(vm))
		tell_severed(vm, NULL);
}

int vm_sever(struct vm *vm, struct error *err)
{
	if (vm->severing || vm->killing || !vm_is_alive(vm))
		return error_set(
			err, ERR_CONFLICT,
			"the machine cannot be cut off, because it is ending, or is cut off already");
	vm->sever_timer = loop_add_interval(vm->loop, limit_get(LIMIT_SEVER_LOOK_MS) * NS_PER_MS,
					    on_sever_look, vm, err);
	if (!vm->sever_timer)
		return -1;
	if ((vm->net.mode != NETWORK_ISOLATED || vm->links) && vm->kind->unplug_net &&
	    vm->kind->unplug_net(vm, err) < 0) {
		loop_remove(steal_ptr(&vm->sever_timer));
		return -1;
	}
	vm->severing = true;
	vm->sever_deadline_ns = limit_deadline(LIMIT_SEVER_MS);
	if (broker_is_asked() ? sever_step(ASK_TO_CUT, NULL, err) < 0 : cut(vm, err) < 0)
		return -1;
	companions_end(&vm->companions);
	return 0;
}
