/* SPDX-License-Identifier: MIT */
/*
 * A shared directory for a guest that runs: its virtiofsd is started, QEMU's connection to it goes
 * to QEMU over the monitor (getfd), becomes a character device (chardev-add) and a virtio-fs device
 * on the spare port (device_add). A step that fails takes those before it back.
 *
 * Until QEMU has the device, a virtiofsd that ends costs only the share; afterwards it costs the
 * machine, like that of a share from the start.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/qemu/vm.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"

#define FD_NAME "plug"
#define CHARDEV "plug"
#define DEVICE "plug-dev"

/* --- the end of it --------------------------------------------------------------------------- */

static void tell_plugged(struct vm *vm, const struct error *why)
{
	vm_share_fn *fn = vm->plug.fn;

	vm->plug.fn = NULL;
	loop_remove(steal_ptr(&vm->plug.timer));
	if (fn)
		fn(vm->plug.data, why);
}

/* Where the machine is ending its companions are waited for by name. */
static void end_server(struct vm *vm)
{
	struct companion *server = steal_ptr(&vm->plug.server);

	if (!server)
		return;
	if (vm->killing || vm->severing || !vm_is_alive(vm))
		companion_end(server);
	else
		companion_drop(server);
}

/* The place is free again. */
static void clear(struct vm *vm)
{
	struct error why = vm->plug.why;
	vm_share_fn *fn = vm->plug.fn;
	void *data = vm->plug.data;

	vm_plug_close(vm);
	end_server(vm);
	vm->plug = (struct vm_plug){.qemu_fd = -1};
	if (fn)
		fn(data, why.code ? &why : NULL);
}

static void on_taken_back(void *data, const json_t *result, const struct error *why)
{
	struct vm *vm = data;

	(void)result;
	if (why && vm->log)
		log_line(vm->log, "share: %s", why->msg);
	clear(vm);
}

/* command undoes the last step that was made; NULL: there is none. */
static void give_up_plug(struct vm *vm, const struct error *why, const char *command,
			 const char *key, const char *name)
{
	struct error ignored;

	vm->plug.why = *why;
	if (!command || qmp_send(vm->qmp, command, json_pack("{s:s}", key, name), on_taken_back, vm,
				 &ignored) < 0)
		clear(vm);
}

void vm_plug_close(struct vm *vm)
{
	loop_remove(steal_ptr(&vm->plug.timer));
	if (vm->plug.server)
		cleanup_close(&vm->plug.qemu_fd);
}

/* --- attaching ------------------------------------------------------------------------------- */

/* A quarantine came between two steps: QEMU is to give back what it got, which leads nowhere now.
 */
static bool is_cut(const struct vm *vm, struct error *why)
{
	if (vm->severing)
		error_set(why, ERR_CONFLICT, "the VM is severed");
	return vm->severing;
}

static void on_device(void *data, const json_t *result, const struct error *why)
{
	struct vm *vm = data;
	struct companion *server = vm->plug.server;
	struct error gone = {0};

	(void)result;
	if (!why && server->gone) {
		error_set(&gone, ERR_IO, "virtiofsd ended by itself");
		why = &gone;
	}
	if (why) {
		struct error whole = *why;

		stderr_log_drain(&server->stderr_log);
		if (*server->stderr_log.last)
			error_prefix(&whole, "%.200s", server->stderr_log.last);
		give_up_plug(vm, &whole, "chardev-remove", "id", CHARDEV);
		return;
	}
	server->settled = false;
	vm->plug.attached = true;
	tell_plugged(vm, NULL);
}

static void on_chardev(void *data, const json_t *result, const struct error *why)
{
	struct vm *vm = data;
	struct error err = {0};

	(void)result;
	if (why) {
		give_up_plug(vm, why, "closefd", "fdname", FD_NAME);
		return;
	}
	if (is_cut(vm, &err)) {
		give_up_plug(vm, &err, "chardev-remove", "id", CHARDEV);
		return;
	}
	if (qmp_send(vm->qmp, "device_add",
		     json_pack("{s:s, s:s, s:s, s:s, s:s}", "driver", "vhost-user-fs-pci", "id",
			       DEVICE, "chardev", CHARDEV, "tag", vm->plug.tag, "bus",
			       MACHINE_SPARE),
		     on_device, vm, &err) < 0)
		give_up_plug(vm, &err, "chardev-remove", "id", CHARDEV);
}

static void on_descriptor(void *data, const json_t *result, const struct error *why)
{
	struct vm *vm = data;
	struct error err = {0};

	(void)result;
	cleanup_close(&vm->plug.qemu_fd);
	vm->plug.qemu_fd = -1;
	if (why) {
		give_up_plug(vm, why, NULL, NULL, NULL);
		return;
	}
	if (is_cut(vm, &err)) {
		give_up_plug(vm, &err, "closefd", "fdname", FD_NAME);
		return;
	}
	if (qmp_send(vm->qmp, "chardev-add",
		     json_pack("{s:s, s:{s:s, s:{s:b, s:{s:s, s:{s:s}}}}}", "id", CHARDEV,
			       "backend", "type", "socket", "data", "server", 0, "addr", "type",
			       "fd", "data", "str", FD_NAME),
		     on_chardev, vm, &err) < 0)
		give_up_plug(vm, &err, "closefd", "fdname", FD_NAME);
}

static int may_attach(const struct vm *vm, struct error *err)
{
	if (!vm->pluggable)
		return error_set(err, ERR_CONFLICT, "the machine has no spare port");
	if (vm->plug.server || vm->plug.attached)
		return error_set(err, ERR_CONFLICT, "the machine's spare port is taken");
	if (vm->killing || vm->severing || !vm_is_alive(vm))
		return error_set(err, ERR_CONFLICT, "the VM is ending or severed");
	return 0;
}

static int start_server(struct vm *vm, const struct vm_share *share, struct error *err)
{
	autoclose int qemu_end = -1;
	struct companion *server = vm_start_plug(vm, share, &qemu_end, err);

	if (server && companion_watch(server, err) < 0) {
		companion_drop(server);
		server = NULL;
	}
	if (!server)
		return -1;
	server->settled = true;
	vm->plug.server = server;
	vm->plug.qemu_fd = steal_fd(&qemu_end);
	snprintf(vm->plug.tag, sizeof(vm->plug.tag), "%s", share->tag);
	return 0;
}

int vm_share_attach(struct vm *vm, const struct vm_share *share, vm_share_fn *fn, void *data,
		    struct error *err)
{
	if (may_attach(vm, err) < 0 || start_server(vm, share, err) < 0)
		return -1;
	if (qmp_send_fd(vm->qmp, "getfd", json_pack("{s:s}", "fdname", FD_NAME), vm->plug.qemu_fd,
			on_descriptor, vm, err) < 0) {
		clear(vm);
		return -1;
	}
	vm->plug.fn = fn;
	vm->plug.data = data;
	return 0;
}

/* --- detaching ------------------------------------------------------------------------------- */

void vm_on_device_deleted(struct vm *vm, const json_t *body)
{
	const char *device = json_text(body, "device", NULL);
	struct error none = {0};

	if (vm->plug.leaving && device && strcmp(device, DEVICE) == 0)
		give_up_plug(vm, &none, "chardev-remove", "id", CHARDEV);
}

static void on_unplug_timer(struct loop *loop, void *data)
{
	struct vm *vm = data;
	struct error why;

	(void)loop;
	vm->plug.timer = NULL;
	error_set(&why, ERR_TIMEOUT, "the guest does not let go of the device");
	end_server(vm);
	tell_plugged(vm, &why);
}

static void on_asked(void *data, const json_t *result, const struct error *why)
{
	struct vm *vm = data;

	(void)result;
	if (!why)
		return;
	end_server(vm);
	tell_plugged(vm, why);
}

int vm_share_detach(struct vm *vm, vm_share_fn *fn, void *data, struct error *err)
{
	uint64_t deadline = limit_deadline(LIMIT_SHARE_MS);

	if (!vm->plug.attached || vm->plug.leaving || !vm->plug.server)
		return error_set(err, ERR_CONFLICT, "there is no directory to be taken away");
	vm->plug.timer = loop_add_timer(vm->loop, deadline, on_unplug_timer, vm, err);
	if (!vm->plug.timer || qmp_send(vm->qmp, "device_del", json_pack("{s:s}", "id", DEVICE),
					on_asked, vm, err) < 0) {
		loop_remove(steal_ptr(&vm->plug.timer));
		return -1;
	}
	/* It ends with the device, and by our wish. */
	vm->plug.server->settled = true;
	vm->plug.leaving = true;
	vm->plug.fn = fn;
	vm->plug.data = data;
	return 0;
}
