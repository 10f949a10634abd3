/* SPDX-License-Identifier: MIT */
/*
 * Gives shared directories to a running guest. A virtiofsd is started for each directory. Over the
 * monitor QEMU gets a descriptor of the connection to the virtiofsd (getfd). QEMU makes a character
 * device with this descriptor (chardev-add), and then a virtio-fs device on the spare port
 * (device_add). If a step fails, the earlier steps are undone.
 *
 * The port has one PCI slot with several PCI functions. A guest is told what is in the slot only
 * once, when function 0 is added. Before that QEMU accepts further functions. After that QEMU
 * accepts no function ("function 0 already occupied", hw/pci/pci.c). So all directories are given
 * together, each as one function, and the first directory is added last, as function 0. All
 * functions also leave together, with function 0, when the guest releases the slot. A device that
 * is removed before function 0 was added leaves at once, since the guest does not know about it
 * (pcie_cap_slot_unplug_request_cb, hw/pci/pcie.c).
 *
 * If a virtiofsd ends before QEMU has all devices, only the shares are lost. If a virtiofsd ends
 * later, the machine is lost, as with a share that the machine had from the boot.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/qemu/qemu.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"

#define PLUG_NAME "plug%zu" /* the name of the descriptor and of the character device of a slot */
#define DEVICE_NAME "plug%zu-dev"

struct plug_name {
	char text[24];
};

static struct plug_name plug_name(size_t i)
{
	struct plug_name name;

	snprintf(name.text, sizeof(name.text), PLUG_NAME, i);
	return name;
}

static struct plug_name device_name(size_t i)
{
	struct plug_name name;

	snprintf(name.text, sizeof(name.text), DEVICE_NAME, i);
	return name;
}

/* --- results, and ends of virtiofsds --------------------------------------------------------- */

static void tell_plugged(struct qemu *qemu, const struct error *why)
{
	vm_share_fn *fn = qemu->plug.fn;

	qemu->plug.fn = NULL;
	loop_remove(steal_ptr(&qemu->plug.timer));
	if (fn)
		fn(qemu->plug.data, why);
}

/* Ends the virtiofsd of each slot. If the machine is ending or severed, the end of every companion
 * is awaited. In that case a virtiofsd stays in the list of companions until its end is seen. */
static void end_servers(struct qemu *qemu)
{
	for (size_t i = 0; i < qemu->plug.count; i++) {
		struct companion *server = steal_ptr(&qemu->plug.slots[i].server);

		if (!server)
			continue;
		if (qemu->vm.killing || qemu->vm.severing || !vm_is_alive(&qemu->vm))
			companion_end(server);
		else
			companion_drop(server);
	}
}

void qemu_plug_close(struct qemu *qemu)
{
	loop_remove(steal_ptr(&qemu->plug.timer));
	for (size_t i = 0; i < qemu->plug.count; i++)
		cleanup_close(&qemu->plug.slots[i].qemu_fd);
}

/* Ends the virtiofsds, marks the port as free, and calls the function that waits for the result. */
static void clear(struct qemu *qemu)
{
	struct error why = qemu->plug.why;
	vm_share_fn *fn = qemu->plug.fn;
	void *data = qemu->plug.data;

	qemu_plug_close(qemu);
	end_servers(qemu);
	qemu->plug = (struct qemu_plug){0};
	if (fn)
		fn(data, why.code ? &why : NULL);
}

/* --- taking directories back ----------------------------------------------------------------- */

static void take_back(struct qemu *qemu);

static void on_step_back(void *data, const json_t *result, const struct error *why)
{
	struct qemu *qemu = data;

	(void)result;
	if (why && qemu->vm.log)
		log_line(qemu->vm.log, "share: %s", why->msg);
	take_back(qemu);
}

/* Undoes one step. If QEMU cannot undo the step, QEMU keeps an unused object, by which no directory
 * can be reached. */
static void step_back(struct qemu *qemu, struct qemu_slot *slot, const char *command,
		      const char *key, const char *name)
{
	struct error ignored;

	slot->has = SLOT_SERVER;
	if (qmp_send(qemu->qmp, command, json_pack("{s:s}", key, name), on_step_back, qemu,
		     &ignored) < 0)
		take_back(qemu);
}

/* Handles the answer to device_del, which asks the guest to release the devices. If QEMU has
 * refused the command, ends the virtiofsds and calls the function that waits for the result. */
static void on_asked(void *data, const json_t *result, const struct error *why)
{
	struct qemu *qemu = data;

	(void)result;
	if (!why || !qemu->plug.leaving)
		return;
	end_servers(qemu);
	tell_plugged(qemu, qemu->plug.why.code ? &qemu->plug.why : why);
}

/* Asks QEMU to remove the devices. Returns true if QEMU still has any device. When QEMU reports
 * that a device is gone, qemu_on_device_deleted() continues. */
static bool devices_are_leaving(struct qemu *qemu)
{
	struct error why = {0};
	bool any = false;

	for (size_t i = 0; i < qemu->plug.count; i++) {
		struct qemu_slot *slot = &qemu->plug.slots[i];

		any |= slot->has == SLOT_DEVICE;
		/* If the slot has function 0, all other functions leave together with function
		 * 0. */
		if (slot->has != SLOT_DEVICE || slot->leaving ||
		    (i > 0 && qemu->plug.slots[0].has == SLOT_DEVICE))
			continue;
		slot->leaving = true;
		if (qmp_send(qemu->qmp, "device_del", json_pack("{s:s}", "id", device_name(i).text),
			     on_asked, qemu, &why) < 0)
			on_asked(qemu, NULL, &why);
	}
	return any;
}

static void take_back(struct qemu *qemu)
{
	if (qemu->plug.count == 0 || devices_are_leaving(qemu))
		return;
	for (size_t i = 0; i < qemu->plug.count; i++) {
		struct qemu_slot *slot = &qemu->plug.slots[i];

		if (slot->has == SLOT_DESCRIPTOR) {
			step_back(qemu, slot, "closefd", "fdname", plug_name(i).text);
			return;
		}
		if (slot->has == SLOT_CHARDEV) {
			step_back(qemu, slot, "chardev-remove", "id", plug_name(i).text);
			return;
		}
	}
	clear(qemu);
}

static void on_unplug_timer(struct loop *loop, void *data)
{
	struct qemu *qemu = data;
	struct error why;

	(void)loop;
	qemu->plug.timer = NULL;
	error_set(
		&why, ERR_TIMEOUT,
		"the directory was not taken away, because the guest has not let go of its device in time: end each program in the guest that uses the directory, and try again");
	end_servers(qemu);
	tell_plugged(qemu, qemu->plug.why.code ? &qemu->plug.why : &why);
}

static int begin_taking_back(struct qemu *qemu, struct error *err)
{
	uint64_t deadline = limit_deadline(LIMIT_SHARE_MS);

	qemu->plug.timer = loop_add_timer(qemu->vm.loop, deadline, on_unplug_timer, qemu, err);
	if (!qemu->plug.timer)
		return -1;
	qemu->plug.leaving = true;
	/* Each virtiofsd ends when its device is removed. This end is wanted, so `settled` keeps it
	 * from being reported as a loss. */
	for (size_t i = 0; i < qemu->plug.count; i++)
		if (qemu->plug.slots[i].server)
			qemu->plug.slots[i].server->settled = true;
	take_back(qemu);
	return 0;
}

static void give_up_plug(struct qemu *qemu, const struct error *why)
{
	struct error ignored;

	qemu->plug.why = *why;
	if (begin_taking_back(qemu, &ignored) < 0)
		clear(qemu);
}

/* --- attaching ------------------------------------------------------------------------------- */

static void attach_next(struct qemu *qemu);

/* Returns true if a quarantine has begun between two steps, and then sets the error. The caller
 * must then undo the earlier steps. */
static bool is_cut(const struct qemu *qemu, struct error *why)
{
	if (qemu->vm.severing)
		error_set(why, ERR_CONFLICT,
			  "the directory was not shared, because the machine is in quarantine");
	return qemu->vm.severing;
}

/* Returns true if a step has failed (`why` is set), or if a virtiofsd has ended. Sets *out to the
 * error. If a virtiofsd has ended, the error begins with the last line that it wrote to stderr.
 * That line says more than QEMU's message about the end of the connection. */
static bool has_failed(const struct qemu *qemu, const struct error *why, struct error *out)
{
	bool is_gone = false;

	for (size_t i = 0; i < qemu->plug.count; i++)
		is_gone |= qemu->plug.slots[i].server->gone;
	if (why)
		*out = *why;
	else if (is_gone)
		error_set(
			out, ERR_IO,
			"virtiofsd, which serves the directory, has ended by itself: its messages are in supervisor.log in the workspace");
	else
		return false;
	for (size_t i = 0; i < qemu->plug.count; i++) {
		struct stderr_log *log = &qemu->plug.slots[i].server->stderr_log;

		stderr_log_drain(log);
		if (!*log->last)
			continue;
		error_prefix(out, "%.200s", log->last);
		break;
	}
	return true;
}

static void on_device(void *data, const json_t *result, const struct error *why)
{
	struct qemu *qemu = data;
	struct error whole = {0};

	(void)result;
	if (!why)
		qemu->plug.slots[qemu->plug.at].has = SLOT_DEVICE;
	if (has_failed(qemu, why, &whole)) {
		give_up_plug(qemu, &whole);
		return;
	}
	if (qemu->plug.at > 0) {
		qemu->plug.at--;
		attach_next(qemu);
		return;
	}
	for (size_t i = 0; i < qemu->plug.count; i++)
		qemu->plug.slots[i].server->settled = false;
	tell_plugged(qemu, NULL);
}

static json_t *device_words(const struct qemu *qemu, size_t i)
{
	char address[8];

	snprintf(address, sizeof(address), "0.%zu", i);
	return json_pack("{s:s, s:s, s:s, s:i, s:s, s:s, s:s, s:b}", "driver", "vhost-user-fs-pci",
			 "id", device_name(i).text, "chardev", plug_name(i).text, "queue-size",
			 SHARE_QUEUE, "tag", qemu->plug.slots[i].tag, "bus", MACHINE_SPARE, "addr",
			 address, "multifunction", qemu->plug.count > 1);
}

static void on_chardev(void *data, const json_t *result, const struct error *why)
{
	struct qemu *qemu = data;
	size_t i = qemu->plug.at;
	struct error err = {0};

	(void)result;
	if (!why)
		qemu->plug.slots[i].has = SLOT_CHARDEV;
	if (why || is_cut(qemu, &err) ||
	    qmp_send(qemu->qmp, "device_add", device_words(qemu, i), on_device, qemu, &err) < 0)
		give_up_plug(qemu, why ? why : &err);
}

static void on_descriptor(void *data, const json_t *result, const struct error *why)
{
	struct qemu *qemu = data;
	size_t i = qemu->plug.at;
	struct error err = {0};

	(void)result;
	cleanup_close(&qemu->plug.slots[i].qemu_fd);
	qemu->plug.slots[i].qemu_fd = -1;
	if (!why)
		qemu->plug.slots[i].has = SLOT_DESCRIPTOR;
	if (why || is_cut(qemu, &err) ||
	    qmp_send(qemu->qmp, "chardev-add",
		     json_pack("{s:s, s:{s:s, s:{s:b, s:{s:s, s:{s:s}}}}}", "id", plug_name(i).text,
			       "backend", "type", "socket", "data", "server", 0, "addr", "type",
			       "fd", "data", "str", plug_name(i).text),
		     on_chardev, qemu, &err) < 0)
		give_up_plug(qemu, why ? why : &err);
}

static int send_descriptor(struct qemu *qemu, struct error *err)
{
	size_t i = qemu->plug.at;

	return qmp_send_fd(qemu->qmp, "getfd", json_pack("{s:s}", "fdname", plug_name(i).text),
			   qemu->plug.slots[i].qemu_fd, on_descriptor, qemu, err);
}

static void attach_next(struct qemu *qemu)
{
	struct error err = {0};

	if (is_cut(qemu, &err) || send_descriptor(qemu, &err) < 0)
		give_up_plug(qemu, &err);
}

static int may_attach(const struct qemu *qemu, size_t count, struct error *err)
{
	if (!qemu->vm.pluggable)
		return error_set(
			err, ERR_CONFLICT,
			"the machine cannot be given a directory while it runs, because it was made without a spare port for one (config.hotplug): make another machine");
	if (qemu->ram == RAM_PRIVATE) {
		error_set(
			err, ERR_CONFLICT,
			"the machine shares its memory with other machines of its template, and virtiofsd cannot work with such memory: give the directory when the session is made, or make the session without the template");
		return error_reason(err, REASON_SESSION_RESTORED, "");
	}
	if (qemu->plug.count)
		return error_set(
			err, ERR_CONFLICT,
			"the machine cannot be given a directory, because it can be given directories only once, and has them already: make another machine with all directories");
	if (count < 1 || count > PLUGS_MAX)
		return error_set(
			err, ERR_INVALID,
			"a running machine can be given directories only once, from 1 to %d of them: give a number in that range",
			PLUGS_MAX);
	if (qemu->vm.killing || qemu->vm.severing || !vm_is_alive(&qemu->vm))
		return error_set(
			err, ERR_CONFLICT,
			"the machine cannot be given a directory, because it is ending or in quarantine");
	return 0;
}

static int start_server(struct qemu *qemu, const struct vm_share *share, size_t i,
			struct error *err)
{
	struct qemu_slot *slot = &qemu->plug.slots[i];
	autoclose int qemu_end = -1;
	struct companion *server = vm_start_plug(&qemu->vm, share, i, &qemu_end, err);

	if (server && companion_watch(server, err) < 0) {
		companion_drop(server);
		server = NULL;
	}
	if (!server)
		return -1;
	server->settled = true;
	*slot = (struct qemu_slot){.server = server, .qemu_fd = steal_fd(&qemu_end)};
	snprintf(slot->tag, sizeof(slot->tag), "%s", share->tag);
	qemu->plug.count++;
	return 0;
}

int qemu_share_attach(struct vm *vm, const struct vm_share *shares, size_t count, vm_share_fn *fn,
		      void *data, struct error *err)
{
	struct qemu *qemu = qemu_of(vm);
	int status = may_attach(qemu, count, err);

	if (status < 0)
		return -1;
	for (size_t i = 0; status == 0 && i < count; i++)
		status = start_server(qemu, &shares[i], i, err);
	qemu->plug.at = count - 1;
	if (status < 0 || send_descriptor(qemu, err) < 0) {
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
	const char *device = json_text(body, "device", "");

	for (size_t i = 0; qemu->plug.leaving && i < qemu->plug.count; i++) {
		struct qemu_slot *slot = &qemu->plug.slots[i];

		if (slot->has != SLOT_DEVICE || strcmp(device, device_name(i).text) != 0)
			continue;
		slot->has = SLOT_CHARDEV;
		take_back(qemu);
		return;
	}
}

int qemu_share_detach(struct vm *vm, vm_share_fn *fn, void *data, struct error *err)
{
	struct qemu *qemu = qemu_of(vm);

	if (qemu->plug.count == 0 || qemu->plug.slots[0].has != SLOT_DEVICE || qemu->plug.leaving ||
	    !qemu->plug.slots[0].server)
		return error_set(
			err, ERR_CONFLICT,
			"no directory can be taken away from the machine, because none was given to it while it ran, or another request is taking it away");
	qemu->plug.fn = fn;
	qemu->plug.data = data;
	if (begin_taking_back(qemu, err) == 0)
		return 0;
	qemu->plug.fn = NULL;
	return -1;
}
