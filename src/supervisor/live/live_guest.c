/* SPDX-License-Identifier: MIT */
/* Handles the messages between the live supervisor and its guest on the control stream. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/platform/system.h"
#include "supervisor/live/channels.h"
#include "supervisor/live/live.h"
#include "supervisor/live/live_audit.h"
#include "supervisor/live/result.h"

static void on_guest_hello(void *data, const struct control_hello *hello)
{
	struct live *live = data;
	const char *boot_id = live->boot_id[0] ? live->boot_id : hello->boot_id;
	json_auto_t *guest = json_object();
	struct error why;

	live_kernel_began(live, "its agent has begun");
	live_mark(live, "hello");
	log_line(&live->log, "guest %s says hello", hello->version);
	if (hello->linked && live->backend->linked && live->backend->linked(live->vm, &why) < 0)
		log_line(&live->log, "the link is not used: %s", why.msg);
	if (json_put(guest, "version", json_string_lossy(hello->version, strlen(hello->version)),
		     NULL) < 0 ||
	    json_put(guest, "bootId", json_string_lossy(boot_id, strlen(boot_id)), NULL) < 0 ||
	    json_put(guest, "generation", json_integer(hello->generation), NULL) < 0)
		return;
	json_object_set(live->runtime, "guest", guest);
}

/* Ends the VM, since its workload has exceeded its timeout. The guest ends the workload at the
 * timeout, and this timer is later. So the timer fires only if the guest has not ended the
 * workload. */
static void on_workload_timer(struct loop *loop, void *data)
{
	struct live *live = data;

	(void)loop;
	live->workload_timer = NULL;
	if (!live->outcome.has_result)
		live_fail(live, ERR_TIMEOUT,
			  "the command's timeout passed and the guest did not report its end");
}

static void watch_workload(struct live *live)
{
	uint64_t grace = limit_get(LIMIT_WORKLOAD_GRACE_MS) * NS_PER_MS;
	struct error err;

	if (!live->outcome.workload || live->outcome.timeout_seconds <= 0)
		return;
	live->workload_timer = loop_add_timer(
		live->loop,
		clock_mono_ns() + (uint64_t)live->outcome.timeout_seconds * NS_PER_S + grace,
		on_workload_timer, live, &err);
	if (!live->workload_timer)
		log_line(&live->log, "%s", err.msg);
}

static void on_guest_ready(void *data)
{
	struct live *live = data;
	char now[CLOCK_TEXT];
	struct error err;

	live->outcome.ready = true;
	loop_remove(live->boot_timer);
	live->boot_timer = NULL;
	live_mark(live, "ready");
	clock_rfc3339(clock_real_ns(), now);
	json_object_set_new(live->runtime, "readyAt", json_string(now));
	live_runtime_write(live);
	control_stream_push_time(live->control);
	/* The command halt or stop came while the guest was booting. Only now can the guest be
	 * asked to switch itself off. */
	if (live->outcome.intent != INTENT_NONE) {
		control_stream_power_off(live->control);
		return;
	}
	if (channels_open(live->channels, &err) < 0 || live_term_begin_lifetime(live, &err) < 0) {
		live_fail(live, err.code, err.msg);
		return;
	}
	/* The boot is written to the audit log before any caller learns that the machine runs. So
	 * the later actions of callers come after the boot in the log. */
	live_observe_ready(live);
	live_record(live, STATE_RUNNING,
		    json_text(json_object_get(live->runtime, "network"), "detail", NULL));
	watch_workload(live);
	live_term_ready(live);
	memory_give_back();
}

static int on_guest_result(void *data, const json_t *message, struct error *err)
{
	struct live *live = data;
	autofree char *path = workspace_path(&live->ws, "result.json", err);
	const char *start_error;
	int exit_code = 0;
	json_t *result;

	if (!path)
		return -1;
	result = result_from_message(message, live->ticket.identity, live->backend->name, path,
				     &exit_code, err);
	if (!result)
		return -1;
	live_mark(live, "result");
	log_line(&live->log, "the command ended with exit code %d", exit_code);
	start_error = json_text(result, "startError", "");
	live->outcome.has_result = true;
	live->outcome.exit_code = exit_code;
	live->outcome.timed_out = json_is_true(json_object_get(result, "timedOut"));
	snprintf(live->outcome.start_error, sizeof(live->outcome.start_error), "%s", start_error);
	live_keep_result(live, result);
	live_done(live);
	memory_give_back();
	return 0;
}

static int on_guest_said(void *data, enum control_type type, const json_t *message,
			 struct error *err)
{
	if (live_observe_said(data, type, message, err) < 0)
		return -1;
	if (type == CONTROL_EXEC_STARTED || type == CONTROL_EXEC_FINISHED)
		live_term_command(data, type == CONTROL_EXEC_STARTED);
	return 0;
}

static void on_guest_mounted(void *data, const char *why)
{
	live_share_mounted(data, why);
}

static void on_guest_published(void *data, const char *why)
{
	live_published(data, why);
}

static void on_guest_listening(void *data, const struct control_listening *listening)
{
	struct live *live = data;

	channels_listening(live->channels, listening);
}

static void on_guest_quiesced(void *data, const char *why)
{
	live_quiesced(data, why);
}

static void on_guest_settled(void *data, const char *why)
{
	(void)why;
	live_settled(data);
}

static void on_guest_ending(void *data)
{
	struct live *live = data;

	live->guest_ending = true;
}

static void on_guest_lost_timer(struct loop *loop, void *data)
{
	struct live *live = data;

	(void)loop;
	live->lost_timer = NULL;
	live_fail(live, ERR_IO, "the guest's agent is lost: its control stream ended");
}

/*
 * Handles the end of the control stream. If the guest has broken the protocol, ends the VM at once.
 * Without such a breach, the cause may be a power-off or a panic, which the VMM reports soon. So
 * the VM is ended only if it still runs after LIMIT_AGENT_LOST_MS, and only if its guest was not
 * ready yet or has a workload, whose result can no longer come.
 */
static void on_control_over(void *data, bool broken, const char *why)
{
	struct live *live = data;
	uint64_t deadline = limit_deadline(LIMIT_AGENT_LOST_MS);
	char text[512];
	struct error err;

	log_line(&live->log, "control stream: %s", why);
	live_observe_lost(live, broken, why);
	if (broken) {
		snprintf(text, sizeof(text), "the guest broke the control protocol: %s", why);
		live_fail(live, ERR_IO, text);
		return;
	}
	if (live->outcome.intent == INTENT_NONE && !live->guest_ending)
		channels_guest_lost(live->channels);
	if (live->outcome.intent != INTENT_NONE || (live->outcome.ready && !live->outcome.workload))
		return;
	live->lost_timer = loop_add_timer(live->loop, deadline, on_guest_lost_timer, live, &err);
	if (!live->lost_timer)
		log_line(&live->log, "%s", err.msg);
}

/* Asks the guest of a session for reports about commands (audit) and about all other events that
 * its tracer sees (telemetry). If LIMIT_TELEMETRY_RECORDS is 0, the guest does not trace, so that
 * the cost of tracing can be measured. The guest of a template is also asked to trace. That guest's
 * tracer reports nothing, but is already running when a session is restored from the template.
 * Otherwise the session would have to start a tracer before it is ready. A sandbox has no tracer.
 * If the kernel of a sandbox traced, it would read the capabilities of each file that a path names
 * (audit_copy_fcaps(), kernel/auditsc.c). These files are on the host, so each look-up of a file
 * would take twice as long. */
static int ask_for_reports(const struct live *live, json_t *config, struct error *err)
{
	bool traced = limit_get(LIMIT_TELEMETRY_RECORDS) > 0;

	if (!live->audit && live->ticket.origin != VM_TEMPLATE)
		return 0;
	if (live->audit && json_put(config, "audit", json_true(), err) < 0)
		return -1;
	if (live->audit && audit_is_of_sandbox(&live->ws))
		traced = false;
	return traced ? json_put(config, "telemetry", json_true(), err) : 0;
}

static int tell_origin(struct live *live, json_t *message, struct error *err)
{
	json_t *network = json_object_get(message, "network");

	switch (live->ticket.origin) {
	case VM_TEMPLATE:
		return control_put_template(message, err);
	case VM_RESTORED:
		/* If the network card was saved with the guest, the guest already has its network.
		 * Otherwise the card is plugged in when the guest runs again, and the message says
		 * so. */
		if (network && live->ticket.card_mac)
			json_object_del(message, "network");
		else if (network && json_put(network, "plugged", json_true(), err) < 0)
			return -1;
		/* A guest that was saved with its disks has mounted them already. */
		if ((live->ticket.disks_saved &&
		     json_put(message, "disks", json_array(), err) < 0) ||
		    control_put_renew(message, err) < 0)
			return -1;
		/* The hello of a restored guest still has the boot id of its template. So this
		 * process keeps the new boot id. */
		snprintf(live->boot_id, sizeof(live->boot_id), "%s",
			 json_text(json_object_get(message, "renew"), "bootId", ""));
		return 0;
	default:
		return 0;
	}
}

int live_control_begin(struct live *live, int given_fd, const struct config *config,
		       struct error *err)
{
	const struct control_stream_events events = {.hello = on_guest_hello,
						     .ready = on_guest_ready,
						     .result = on_guest_result,
						     .said = on_guest_said,
						     .mounted = on_guest_mounted,
						     .published = on_guest_published,
						     .listening = on_guest_listening,
						     .quiesced = on_guest_quiesced,
						     .settled = on_guest_settled,
						     .ending = on_guest_ending,
						     .lost = on_control_over,
						     .data = live};
	autoclose int listen_fd = given_fd;
	json_t *publishes;
	json_auto_t *message = control_config(config, live->ticket.id, live->ticket.attach, err);

	if (!message || json_put(message, "disks", json_deep_copy(live->ticket.disks), err) < 0 ||
	    ask_for_reports(live, message, err) < 0)
		return -1;
	/* With guestPort 0 the guest listens for connections of the host's loopback, as it does for
	 * a published port. Each of these connections begins with the number of the port that it is
	 * for. */
	publishes = json_object_get(message, "publishes");
	if (ticket_has(&live->ticket, LIVE_LOOPBACK) &&
	    json_array_append_new(publishes, json_pack("{s:i}", "guestPort", 0)) < 0)
		return error_set(err, ERR_IO, "out of memory");
	if (live->ticket.links &&
	    json_put(message, "network", json_deep_copy(live->ticket.links), err) < 0)
		return -1;
	/* If the backend has nat_by_dhcp, a guest on nat gets its address by DHCP. Otherwise the
	 * address is in the config that the guest gets. */
	if (live->backend->nat_by_dhcp && config->network_mode == NETWORK_NAT &&
	    json_put(message, "network", json_pack("{s:b}", "dhcp", 1), err) < 0)
		return -1;
	if (tell_origin(live, message, err) < 0)
		return -1;
	live->outcome.workload = config->command != NULL;
	live->outcome.timeout_seconds = config->timeout_seconds;
	live->control = control_stream_new(live->loop, steal_fd(&listen_fd), message,
					   live->outcome.workload, &events, &live->log, err);
	return live->control ? 0 : -1;
}
