/* SPDX-License-Identifier: MIT */
/*
 * Makes the calls to Firecracker's API. Firecracker opens the API some time after its start, so
 * this file tries to connect again and again. Then the requests are sent one after the other. When
 * the last request was answered, the guest runs. If a request is refused or gets no answer, the
 * machine ends, and the error has the request's name and the reason.
 */
#include <stdio.h>
#include <string.h>

#include "backend/firecracker/firecracker.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"

void fc_fail(struct firecracker *fc, const struct error *why)
{
	if (fc->vm.log)
		log_line(fc->vm.log, "%s", why->msg);
	if (!vm_is_alive(&fc->vm))
		return;
	vm_tell_end(&fc->vm, VM_END_CRASHED, why->msg);
	cell_kill(&fc->vm.cell);
}

/* Ends the VM, unless the connection is closed. on_api_closed() handles a closed connection. */
static void fail_unless_closed(struct firecracker *fc, const struct error *why)
{
	if (!api_is_closed(fc->api))
		fc_fail(fc, why);
}

static void make_next_request(struct firecracker *fc);

static void on_made(void *data, const json_t *body, const struct error *why)
{
	struct firecracker *fc = data;
	const char *path = json_text(json_array_get(fc->requests, fc->next), "path", "");
	struct error err = {0};

	(void)body;
	if (why) {
		fail_unless_closed(fc, why);
		return;
	}
	/* Firecracker makes the socket of the vsock before it answers this request. */
	if (strcmp(path, "/vsock") == 0 && fc_run_place_vsock(fc, &err) < 0) {
		error_prefix(&err, "Firecracker's vsock");
		fc_fail(fc, &err);
		return;
	}
	fc->next++;
	make_next_request(fc);
}

static void make_next_request(struct firecracker *fc)
{
	json_t *request = json_array_get(fc->requests, fc->next);
	struct error err = {0};

	if (!request) {
		json_decref(steal_ptr(&fc->requests));
		vm_has_read(&fc->vm);
		/* From now on calls get a longer deadline. The thread of Firecracker that answers
		 * calls also writes the guest's flushes to the disks, and waits up to 30 s for a
		 * pause. See v1.15.1, src/firecracker/src/api_server_adapter.rs, run_microvm();
		 * src/vmm/src/devices/virtio/block/virtio/io/sync_io.rs, flush();
		 * src/vmm/src/lib.rs, RECV_TIMEOUT_SEC. */
		api_set_deadline(fc->api, LIMIT_API_RUNNING_MS);
		return;
	}
	if (fc->next + 1 == json_array_size(fc->requests))
		fc->started = true;
	if (api_call(fc->api, "PUT", json_text(request, "path", ""),
		     json_incref(json_object_get(request, "body")), on_made, fc, &err) < 0)
		fc_fail(fc, &err);
}

static void on_close_time(struct loop *loop, void *data)
{
	struct firecracker *fc = data;

	(void)loop;
	fc->close_timer = NULL;
	fc_fail(fc, &fc->closed_why);
}

/* Handles the end of the connection to the API. If Firecracker has closed it silently, Firecracker
 * gets time to end, since its exit code says more than this error. Otherwise Firecracker
 * misbehaves, and the VM is ended. */
static void on_api_closed(void *data, const struct error *why, bool silent)
{
	struct firecracker *fc = data;

	fc->closed_why = *why;
	if (silent)
		fc->close_timer = loop_add_timer(fc->vm.loop, limit_deadline(LIMIT_VMM_END_MS),
						 on_close_time, fc, NULL);
	if (!fc->close_timer)
		fc_fail(fc, why);
}

static void on_connect_look(struct loop *loop, void *data)
{
	struct firecracker *fc = data;
	struct error err = {0};
	int fd = -1;

	(void)loop;
	if (fc->vm.killing || !vm_is_alive(&fc->vm)) {
		loop_remove(steal_ptr(&fc->connect_timer));
		return;
	}
	fd = fc_run_connect(fc, &err);
	if (fd >= 0) {
		const struct api_events events = {.closed = on_api_closed, .data = fc};

		loop_remove(steal_ptr(&fc->connect_timer));
		fc->api = api_new(fc->vm.loop, fd, &events, &err);
		if (!fc->api) {
			fc_fail(fc, &err);
			return;
		}
		vm_speaks(&fc->vm);
		make_next_request(fc);
		return;
	}
	if (err.code == ERR_NOT_FOUND && clock_mono_ns() < fc->connect_deadline_ns)
		return;
	loop_remove(steal_ptr(&fc->connect_timer));
	if (err.code == ERR_NOT_FOUND)
		error_set(
			&err, ERR_TIMEOUT,
			"Firecracker did not open its API within %llu ms: its messages are in supervisor.log in the workspace",
			(unsigned long long)limit_get(LIMIT_API_START_MS));
	else
		error_prefix(&err, "Firecracker's API");
	fc_fail(fc, &err);
}

int fc_talk_begin(struct firecracker *fc, struct error *err)
{
	fc->connect_deadline_ns = limit_deadline(LIMIT_API_START_MS);
	fc->connect_timer = loop_add_interval(fc->vm.loop, limit_get(LIMIT_API_LOOK_MS) * NS_PER_MS,
					      on_connect_look, fc, err);
	return fc->connect_timer ? 0 : -1;
}

/* --- calls for a machine that runs ------------------------------------------------------------ */

static int call_api(struct firecracker *fc, const char *method, const char *path, json_t *body,
		    api_answer_fn *fn, struct error *err)
{
	if (fc->api)
		return api_call(fc->api, method, path, body, fn, fc, err);
	json_decref(body);
	return error_set(
		err, ERR_CONFLICT,
		"Firecracker cannot take a command now: try again when the machine is running");
}

static void on_told(void *data, const json_t *body, const struct error *why)
{
	struct firecracker *fc = data;

	(void)body;
	if (why && fc->vm.log)
		log_limited(fc->vm.log, "%s", why->msg);
}

/*
 * Presses Ctrl-Alt-Del on the machine's keyboard, since there is no power button. Only x86-64 has
 * this keyboard. A kernel with SERIO_I8042, KEYBOARD_ATKBD and VT passes the keys to init, which
 * ends the machine. Debian's kernel has these drivers.
 *
 * The project's tuned kernel does not have these drivers. The drivers would make each boot some
 * tens of milliseconds longer. Only a guest that must stop before its agent has sent a message
 * would need the drivers. Such a guest is killed when its time is over.
 * https://github.com/firecracker-microvm/firecracker/blob/main/docs/api_requests/actions.md
 */
int fc_power_button(struct vm *vm, struct error *err)
{
	if (!vm)
		return error_set(
			err, ERR_NOT_FOUND,
			"no machine is running, so no guest can be asked to switch itself off: start the machine first");
	if (!backend_has_power_button(&backend_firecracker, fc_of(vm)->architecture))
		return error_set(
			err, ERR_UNSUPPORTED,
			"Firecracker has no power button for machines of %s, so the guest cannot be asked to switch itself off: kill the machine instead",
			architecture_name(fc_of(vm)->architecture));
	return call_api(fc_of(vm), "PUT", "/actions",
			json_pack("{s:s}", "action_type", "SendCtrlAltDel"), on_told, err);
}

/* Ends a VM that could not be resumed. Such a VM stands still although it counts as running, and
 * nothing else would end it. To resume a VM that runs is not an error (v1.15.1,
 * src/vmm/src/vstate/vcpu.rs, VcpuEvent::Resume). */
static void on_resumed(void *data, const json_t *body, const struct error *why)
{
	(void)body;
	if (why)
		fail_unless_closed(data, why);
}

int fc_resume(struct vm *vm, struct error *err)
{
	return call_api(fc_of(vm), "PATCH", "/vm", json_pack("{s:s}", "state", "Resumed"),
			on_resumed, err);
}

static void on_paused(void *data, const json_t *body, const struct error *why)
{
	struct firecracker *fc = data;
	struct fc_waiting waiting = fc->pausing;

	(void)body;
	fc->pausing = (struct fc_waiting){0};
	waiting.fn(waiting.data, why);
}

int fc_pause(struct vm *vm, vm_done_fn *fn, void *data, struct error *err)
{
	struct firecracker *fc = fc_of(vm);

	if (fc->pausing.fn)
		return error_set(
			err, ERR_CONFLICT,
			"another request is pausing the machine: try again when that request has ended");
	fc->pausing = (struct fc_waiting){fn, data};
	if (call_api(fc, "PATCH", "/vm", json_pack("{s:s}", "state", "Paused"), on_paused, err) ==
	    0)
		return 0;
	fc->pausing = (struct fc_waiting){0};
	return -1;
}
