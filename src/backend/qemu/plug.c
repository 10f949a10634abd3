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

#include "backend/qemu/qemu.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"

#define FD_NAME "plug"
#define CHARDEV "plug"
#define DEVICE "plug-dev"

/* --- the end of it --------------------------------------------------------------------------- */

static void tell_plugged(struct qemu *qemu, const struct error *why)
{
	vm_share_fn *fn = qemu->plug.fn;

	qemu->plug.fn = NULL;
	loop_remove(steal_ptr(&qemu->plug.timer));
	if (fn)
		fn(qemu->plug.data, why);
}

/* Where the machine is ending its companions are waited for by name. */
static void end_server(struct qemu *qemu)
{
	struct companion *server = steal_ptr(&qemu->plug.server);

	if (!server)
		return;
	if (qemu->vm.killing || qemu->vm.severing || !vm_is_alive(&qemu->vm))
		companion_end(server);
	else
		companion_drop(server);
}

/* The place is free again. */
static void clear(struct qemu *qemu)
{
	struct error why = qemu->plug.why;
	vm_share_fn *fn = qemu->plug.fn;
	void *data = qemu->plug.data;

	qemu_plug_close(qemu);
	end_server(qemu);
	qemu->plug = (struct qemu_plug){.qemu_fd = -1};
	if (fn)
		fn(data, why.code ? &why : NULL);
}

static void on_taken_back(void *data, const json_t *result, const struct error *why)
{
	struct qemu *qemu = data;

	(void)result;
	if (why && qemu->vm.log)
		log_line(qemu->vm.log, "share: %s", why->msg);
	clear(qemu);
}

/* command undoes the last step that was made; NULL: there is none. */
static void give_up_plug(struct qemu *qemu, const struct error *why, const char *command,
			 const char *key, const char *name)
{
	struct error ignored;

	qemu->plug.why = *why;
	if (!command || qmp_send(qemu->qmp, command, json_pack("{s:s}", key, name), on_taken_back,
				 qemu, &ignored) < 0)
		clear(qemu);
}

void qemu_plug_close(struct qemu *qemu)
{
	loop_remove(steal_ptr(&qemu->plug.timer));
	if (qemu->plug.server)
		cleanup_close(&qemu->plug.qemu_fd);
}

/* --- attaching ------------------------------------------------------------------------------- */

/* A quarantine came between two steps: QEMU is to give back what it got, which leads nowhere now.
 */
static bool is_cut(const struct qemu *qemu, struct error *why)
{
	if (qemu->vm.severing)
		error_set(why, ERR_CONFLICT, "the VM is severed");
	return qemu->vm.severing;
}

static void on_device(void *data, const json_t *result, const struct error *why)
{
	struct qemu *qemu = data;
	struct companion *server = qemu->plug.server;
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
		give_up_plug(qemu, &whole, "chardev-remove", "id", CHARDEV);
		return;
	}
	server->settled = false;
	qemu->plug.attached = true;
	tell_plugged(qemu, NULL);
}

static void on_chardev(void *data, const json_t *result, const struct error *why)
{
	struct qemu *qemu = data;
	struct error err = {0};

	(void)result;
	if (why) {
		give_up_plug(qemu, why, "closefd", "fdname", FD_NAME);
		return;
	}
	if (is_cut(qemu, &err)) {
		give_up_plug(qemu, &err, "chardev-remove", "id", CHARDEV);
		return;
	}
	if (qmp_send(qemu->qmp, "device_add",
		     json_pack("{s:s, s:s, s:s, s:i, s:s, s:s}", "driver", "vhost-user-fs-pci",
			       "id", DEVICE, "chardev", CHARDEV, "queue-size", SHARE_QUEUE, "tag",
			       qemu->plug.tag, "bus", MACHINE_SPARE),
		     on_device, qemu, &err) < 0)
		give_up_plug(qemu, &err, "chardev-remove", "id", CHARDEV);
}

static void on_descriptor(void *data, const json_t *result, const struct error *why)
{
	struct qemu *qemu = data;
	struct error err = {0};

	(void)result;
	cleanup_close(&qemu->plug.qemu_fd);
	qemu->plug.qemu_fd = -1;
	if (why) {
		give_up_plug(qemu, why, NULL, NULL, NULL);
		return;
	}
	if (is_cut(qemu, &err)) {
		give_up_plug(qemu, &err, "closefd", "fdname", FD_NAME);
		return;
	}
	if (qmp_send(qemu->qmp, "chardev-add",
		     json_pack("{s:s, s:{s:s, s:{s:b, s:{s:s, s:{s:s}}}}}", "id", CHARDEV,
			       "backend", "type", "socket", "data", "server", 0, "addr", "type",
			       "fd", "data", "str", FD_NAME),
		     on_chardev, qemu, &err) < 0)
		give_up_plug(qemu, &err, "closefd", "fdname", FD_NAME);
}

static int may_attach(const struct qemu *qemu, struct error *err)
{
	if (!qemu->vm.pluggable)
		return error_set(err, ERR_CONFLICT, "the machine has no spare port");
	if (qemu->ram == RAM_PRIVATE)
		return error_set(err, ERR_CONFLICT,
				 "the machine shares its memory with others of its template, and "
				 "virtiofsd with none: a session that is to have a directory is "
				 "made with one, or without its template");
	if (qemu->plug.server || qemu->plug.attached)
		return error_set(err, ERR_CONFLICT, "the machine's spare port is taken");
	if (qemu->vm.killing || qemu->vm.severing || !vm_is_alive(&qemu->vm))
		return error_set(err, ERR_CONFLICT, "the VM is ending or severed");
	return 0;
}

static int start_server(struct qemu *qemu, const struct vm_share *share, struct error *err)
{
	autoclose int qemu_end = -1;
	struct companion *server = vm_start_plug(&qemu->vm, share, &qemu_end, err);

	if (server && companion_watch(server, err) < 0) {
		companion_drop(server);
		server = NULL;
	}
	if (!server)
		return -1;
	server->settled = true;
	qemu->plug.server = server;
	qemu->plug.qemu_fd = steal_fd(&qemu_end);
	snprintf(qemu->plug.tag, sizeof(qemu->plug.tag), "%s", share->tag);
	return 0;
}

int qemu_share_attach(struct vm *vm, const struct vm_share *share, vm_share_fn *fn, void *data,
		      struct error *err)
{
	struct qemu *qemu = qemu_of(vm);
	if (may_attach(qemu, err) < 0 || start_server(qemu, share, err) < 0)
		return -1;
	if (qmp_send_fd(qemu->qmp, "getfd", json_pack("{s:s}", "fdname", FD_NAME),
			qemu->plug.qemu_fd, on_descriptor, qemu, err) < 0) {
		clear(qemu);
		return -1;
	}
	qemu->plug.fn = fn;
	qemu->plug.data = data;
	return 0;
}

/* --- detaching ------------------------------------------------------------------------------- */

void qemu_on_device_deleted(struct qemu *qemu, const json_t *body)
{
	const char *device = json_text(body, "device", NULL);
	struct error none = {0};

	if (qemu->plug.leaving && device && strcmp(device, DEVICE) == 0)
		give_up_plug(qemu, &none, "chardev-remove", "id", CHARDEV);
}

static void on_unplug_timer(struct loop *loop, void *data)
{
	struct qemu *qemu = data;
	struct error why;

	(void)loop;
	qemu->plug.timer = NULL;
	error_set(&why, ERR_TIMEOUT, "the guest does not let go of the device");
	end_server(qemu);
	tell_plugged(qemu, &why);
}

static void on_asked(void *data, const json_t *result, const struct error *why)
{
	struct qemu *qemu = data;

	(void)result;
	if (!why)
		return;
	end_server(qemu);
	tell_plugged(qemu, why);
}

int qemu_share_detach(struct vm *vm, vm_share_fn *fn, void *data, struct error *err)
{
	struct qemu *qemu = qemu_of(vm);
	uint64_t deadline = limit_deadline(LIMIT_SHARE_MS);

	if (!qemu->plug.attached || qemu->plug.leaving || !qemu->plug.server)
		return error_set(err, ERR_CONFLICT, "there is no directory to be taken away");
	qemu->plug.timer = loop_add_timer(qemu->vm.loop, deadline, on_unplug_timer, qemu, err);
	if (!qemu->plug.timer || qmp_send(qemu->qmp, "device_del", json_pack("{s:s}", "id", DEVICE),
					  on_asked, qemu, err) < 0) {
		loop_remove(steal_ptr(&qemu->plug.timer));
		return -1;
	}
	/* It ends with the device, and by our wish. */
	qemu->plug.server->settled = true;
	qemu->plug.leaving = true;
	qemu->plug.fn = fn;
	qemu->plug.data = data;
	return 0;
}
