/* SPDX-License-Identifier: MIT */
/*
 * Makes events of the audit log from what happens in a session. An event that the host itself
 * observes has no mark. An event that the guest reports has the mark "origin":"guest", since the
 * guest may lie. If a kind of event cannot be observed on this host, the event `audit.coverage`
 * names this kind. The absence of such events from the log then proves nothing.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "supervisor/live/live_audit.h"
#include "supervisor/live/net_line.h"
#include "supervisor/live/telemetry_log.h"
#include "supervisor/live/watch_base.h"
#include "supervisor/live/watch_opens.h"
#include "supervisor/live/watch_pressure.h"
#include "supervisor/live/watch_vmm.h"

/* The number of sockets that QEMU opens for a virtio-fs device. One of the sockets is the
 * connection to virtiofsd. The other two are a pair of connected sockets for messages from
 * virtiofsd; QEMU passes one of them to virtiofsd later. */
#define PLUG_SOCKETS 3

struct live_observe {
	struct watch_opens *opens;
	struct watch_pressure *pressure;
	struct watch_base base;
	struct watch_vmm vmm; /* the watch of the VMM; vmm.vmm.pid is 0 while the VMM is not
			       * watched */
	struct telemetry_log telemetry;
	struct loop_watch *look_timer, *digest_timer;
	json_t *observed, *unobserved; /* the kinds of events that can and cannot be observed, for
				        * audit.coverage; NULL after it was written */
	json_t *shares;		       /* the shares that the guest can see */
};

/* --- the coverage ----------------------------------------------------------------------------- */

static void can_see(struct live *live, const char *what, bool can, const struct error *why)
{
	struct live_observe *observe = live->observe;

	if (can)
		json_array_append_new(observe->observed, json_string(what));
	else
		json_array_append_new(observe->unobserved,
				      json_pack("{s:s, s:s}", "what", what, "why", why->msg));
}

static void tell_coverage(struct live *live)
{
	struct live_observe *observe = live->observe;

	if (!observe->observed)
		return;
	live_audit(live, AUDIT_INFO, "audit", "audit.coverage",
		   json_pack("{s:o, s:o}", "observed", steal_ptr(&observe->observed), "unobserved",
			     steal_ptr(&observe->unobserved)));
}

static void on_open(void *data, json_t *what)
{
	bool known = json_object_get(what, "exe") != NULL;

	live_audit(data, known ? AUDIT_CRITICAL : AUDIT_WARNING, "host", "bundle.opened", what);
}

static void on_memory_pressure(void *data, json_t *what)
{
	live_audit(data, AUDIT_CRITICAL, "host", "host.memory-pressure", what);
}

static pid_t vmm_pid(const struct live *live)
{
	return (pid_t)json_integer_value(json_object_get(live->runtime, "pid"));
}

static void look_at_base(struct live *live)
{
	const char *what = watch_base_look(&live->observe->base);

	if (what)
		live_audit(live, AUDIT_CRITICAL, "base", "base.changed",
			   json_pack("{s:s, s:s}", "path", live->observe->base.path, "how", what));
}

static void look_at_vmm(struct live *live)
{
	struct watch_vmm *vmm = &live->observe->vmm;
	json_auto_t *found = NULL;
	json_t *item;
	struct error why = {0};
	size_t i;

	if (vmm->vmm.pid == 0)
		return;
	found = watch_vmm_look(vmm, &why);
	if (!found) {
		vmm->vmm = (struct proc)PROC_NONE;
		live_audit(live, AUDIT_WARNING, "vmm", "vmm.unobserved",
			   json_pack("{s:s}", "why", why.msg));
		return;
	}
	json_array_foreach(found, i, item)
	{
		live_audit(live, AUDIT_CRITICAL, "vmm", "vmm.unexpected", json_incref(item));
	}
}

static void on_observe_look(struct loop *loop, void *data)
{
	struct live *live = data;

	(void)loop;
	live_audit_look(live);
	look_at_base(live);
	if (!live->over && !intent_is_forced(live->outcome.intent))
		look_at_vmm(live);
}

static void begin_watches(struct live *live, const struct config *config)
{
	struct live_observe *observe = live->observe;
	struct error why = {0};

	can_see(live, "exec", true, NULL);
	if (config->network_mode == NETWORK_BRIDGED)
		error_set(
			&why, ERR_UNSUPPORTED,
			"connections are not reported, because microagent does not filter a bridged network");
	can_see(live, "network", config->network_mode != NETWORK_BRIDGED, &why);
	observe->pressure = watch_pressure_new(live->loop, on_memory_pressure, live, &why);
	can_see(live, "memory-pressure", observe->pressure != NULL, &why);
	observe->opens = watch_opens_new(live->loop, live->ws.fd, on_open, live, &why);
	can_see(live, "file-opens", observe->opens != NULL, &why);
	if (config->rootfs_base)
		can_see(live, "base",
			watch_base_begin(&observe->base, config->rootfs_base, &why) == 0, &why);
	observe->look_timer =
		loop_add_interval(live->loop, limit_get(LIMIT_AUDIT_LOOK_MS) * NS_PER_MS,
				  on_observe_look, live, &why);
}

struct watch_opens *live_observe_opens(const struct live *live)
{
	return live->observe ? live->observe->opens : NULL;
}

struct watch_base *live_observe_base(struct live *live)
{
	return live->observe ? &live->observe->base : NULL;
}

void live_observe_begin(struct live *live, const struct config *config)
{
	const char *cell = confinement_names[CONFINEMENT_CELL];
	const char *confinement = json_text(live->runtime, "confinement", cell);
	const json_t *share;
	size_t i;

	if (!live->audit)
		return;
	live->observe = calloc(1, sizeof(*live->observe));
	if (!live->observe)
		return;
	live->observe->observed = json_array();
	live->observe->unobserved = json_array();
	if (strcmp(confinement, cell) != 0 && !live->backend->in_process)
		live_audit(live, AUDIT_CRITICAL, "vmm", "vmm.unconfined",
			   json_pack("{s:s}", "confinement", confinement));
	telemetry_open(&live->observe->telemetry, live->ws.fd);
	live->observe->shares = json_array();
	json_array_foreach(config->shares, i, share)
	{
		live_observe_share(live, share);
	}
	begin_watches(live, config);
}

/* Looks at the VMM's sockets before the devices are added. So a socket that already exists is
 * reported now, and is not mistaken for a socket of these devices. */
void live_observe_plugging(struct live *live, size_t count)
{
	if (!live->observe)
		return;
	look_at_vmm(live);
	live->observe->vmm.allowed = PLUG_SOCKETS * (unsigned)count;
}

void live_observe_plugged(struct live *live)
{
	if (!live->observe)
		return;
	look_at_vmm(live);
	live->observe->vmm.allowed = 0;
}

/* --- events of the session -------------------------------------------------------------------- */

/* Notes for audit.coverage if the VMM's children and sockets can be watched. The sockets of a VMM
 * with its own vsock device are not watched, since it opens a socket for each connection to the
 * guest. */
static void can_see_vmm(struct live *live, bool watched, struct error *why)
{
	if (live->backend->in_process) {
		error_set(
			why, ERR_UNSUPPORTED,
			"the virtual machine monitor is not watched, because it is the live supervisor's own process, which cannot watch itself");
		watched = false;
	}
	can_see(live, "vmm", watched, why);
	if (!live->backend->binds_vsock)
		return;
	error_set(
		why, ERR_UNSUPPORTED,
		"sockets of the virtual machine monitor are not watched, because it opens one for each connection to the guest");
	can_see(live, "vmm-sockets", false, why);
}

void live_observe_ready(struct live *live)
{
	const json_t *timings = json_object_get(live->runtime, "timings");
	json_int_t begun = json_integer_value(json_object_get(timings, "begun"));
	struct error why = {0};
	bool watched;

	if (!live->observe)
		return;
	live->observe->vmm.own_sockets = live->backend->binds_vsock;
	watched =
		!live->backend->in_process &&
		watch_vmm_expect(&live->observe->vmm, &(struct proc){vmm_pid(live), -1}, &why) == 0;
	if (live->observe->observed)
		can_see_vmm(live, watched, &why);
	live_audit(live, AUDIT_INFO, "session", "session.booted",
		   json_pack("{s:O?, s:O?, s:O?, s:I}", "accelerator",
			     json_object_get(live->runtime, "accelerator"), "isolation",
			     json_object_get(live->runtime, "isolation"), "guest",
			     json_object_get(live->runtime, "guest"), "bootMs",
			     (json_int_t)((clock_mono_ns() - (uint64_t)begun) / NS_PER_MS)));
	tell_coverage(live);
}

static void on_digest_timer(struct loop *loop, void *data);

static void tell_digest(struct live *live)
{
	json_t *digest = telemetry_digest(&live->observe->telemetry);

	if (digest)
		live_audit(live, AUDIT_INFO, "telemetry", "telemetry.digest", digest);
}

static int take_telemetry(struct live *live, const json_t *message, struct error *err)
{
	struct live_observe *observe = live->observe;
	struct error why = {0};

	if (telemetry_check(message, err) < 0)
		return -1;
	if (telemetry_take(&observe->telemetry, message, &why) < 0)
		log_limited(&live->log, "telemetry: %s", why.msg);
	if (!observe->digest_timer)
		observe->digest_timer =
			loop_add_timer(live->loop, limit_deadline(LIMIT_TELEMETRY_DIGEST_MS),
				       on_digest_timer, live, &why);
	return 0;
}

static void on_digest_timer(struct loop *loop, void *data)
{
	struct live *live = data;

	(void)loop;
	live->observe->digest_timer = NULL;
	tell_digest(live);
}

/* Writes the status of the guest's tracing to the audit log. The absence of a kind of event from
 * the log proves nothing if that kind is not traced. */
static int take_trace_status(struct live *live, const json_t *message, struct error *err)
{
	bool whole = false;
	json_t *facts = telemetry_read_status(message, &whole, err);

	if (!facts)
		return -1;
	live_audit_guest(live, whole ? AUDIT_INFO : AUDIT_WARNING, "telemetry", "telemetry.status",
			 facts);
	return 0;
}

static int take_lost(struct live *live, const json_t *message, struct error *err)
{
	json_t *facts = control_read_lost(message, err);

	if (!facts)
		return -1;
	live_audit_guest(live, AUDIT_WARNING, "audit", "audit.gap", facts);
	return 0;
}

int live_observe_said(struct live *live, enum control_type type, const json_t *message,
		      struct error *err)
{
	json_t *facts;

	/* If the workspace is not a session, the records are dropped. But a malformed message
	 * always breaks the protocol, so the message is checked even then. */
	if (type == CONTROL_TELEMETRY)
		return live->observe ? take_telemetry(live, message, err)
				     : telemetry_check(message, err);
	if (type == CONTROL_TELEMETRY_STATUS)
		return take_trace_status(live, message, err);
	if (type == CONTROL_EXEC_LOST)
		return take_lost(live, message, err);
	facts = control_read_exec(message, type, err);
	if (!facts)
		return -1;
	live_audit_guest(live, AUDIT_INFO, "exec",
			 type == CONTROL_EXEC_STARTED ? "exec.started" : "exec.finished", facts);
	return 0;
}

void live_observe_lost(struct live *live, bool broken, const char *why)
{
	if (broken)
		live_audit(live, AUDIT_CRITICAL, "guest", "guest.malformed",
			   json_pack("{s:s}", "why", why));
	else if (live->outcome.intent == INTENT_NONE && !live->severed)
		live_audit(live, AUDIT_WARNING, "guest", "guest.agent-lost",
			   json_pack("{s:s}", "why", why));
}

void live_observe_connection(struct live *live, const char *line)
{
	struct net_event event;

	if (!live->audit)
		return;
	event = net_line_read(line);
	live_audit_network(live, event.warning ? AUDIT_WARNING : AUDIT_INFO, event.name,
			   event.data);
}

void live_observe_companion(struct live *live, const char *text)
{
	live_audit(live, AUDIT_CRITICAL, "vmm", "vmm.companion-lost",
		   json_pack("{s:o}", "why", json_string_lossy(text, strlen(text))));
}

void live_observe_share(struct live *live, const json_t *share)
{
	json_t *told;

	/* The directory of containers is not reported here: its contents are reported with each
	 * container. */
	if (!live->observe || json_is_true(json_object_get(share, "containers")))
		return;
	told = json_pack("{s:O, s:O, s:O, s:O*}", "path", json_object_get(share, "path"),
			 "mountpoint", json_object_get(share, "mountpoint"), "mode",
			 json_object_get(share, "mode"), "anyway",
			 json_object_get(share, "anyway"));
	json_array_append(live->observe->shares, told);
	if (json_object_get(told, "anyway"))
		live_audit(live, AUDIT_WARNING, "share", "share.added", told);
	else
		live_audit_step(live, "share", "share.added", told);
}

void live_observe_unshared(struct live *live, const char *why)
{
	const json_t *share;
	size_t i;

	if (!live->observe)
		return;
	json_array_foreach(live->observe->shares, i, share)
	{
		live_audit_step(live, "share", "share.removed",
				json_pack("{s:O, s:O, s:o}", "path", json_object_get(share, "path"),
					  "mountpoint", json_object_get(share, "mountpoint"), "why",
					  json_string_lossy(why, strlen(why))));
	}
	json_array_clear(live->observe->shares);
}

void live_observe_untold(struct live *live, const char *why)
{
	char text[256];

	snprintf(text, sizeof(text), "the guest was killed before it reported the rest: %s", why);
	live_audit(live, AUDIT_WARNING, "audit", "audit.gap", json_pack("{s:s}", "why", text));
}

void live_observe_end(struct live *live, enum vm_end end, enum state state, const char *detail)
{
	bool asked = live->outcome.intent != INTENT_NONE;

	if (!live->audit)
		return;
	if (live->observe)
		tell_digest(live);
	live_observe_unshared(live, detail);
	if (end == VM_END_CRASHED || end == VM_END_STOPPED)
		live_audit(live, AUDIT_CRITICAL, "vmm", "vmm.crashed",
			   json_pack("{s:s}", "why", detail));
	else if (end == VM_END_RESET && !asked)
		live_audit(live, AUDIT_WARNING, "guest", "guest.reset",
			   json_pack("{s:s}", "why", detail));
	live_audit_step(live, "session", "session.ended",
			json_pack("{s:s, s:s}", "state", state_names[state], "detail", detail));
}

void live_observe_free(struct live *live)
{
	struct live_observe *observe = live->observe;

	if (!observe)
		return;
	watch_opens_free(observe->opens);
	watch_pressure_free(observe->pressure);
	watch_base_end(&observe->base);
	telemetry_close(&observe->telemetry);
	loop_remove(observe->look_timer);
	loop_remove(observe->digest_timer);
	json_decref(observe->observed);
	json_decref(observe->unobserved);
	json_decref(observe->shares);
	free(observe);
	live->observe = NULL;
}
