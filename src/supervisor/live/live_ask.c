/* SPDX-License-Identifier: MIT */
/* Handles requests on control.sock, and all other events that end the VM: the end of a lifeline,
 * SIGTERM, and the boot deadline. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "contract/kind.h"
#include "supervisor/live/channels.h"
#include "supervisor/live/live.h"
#include "supervisor/live/live_audit.h"
#include "supervisor/live/readiness.h"
#include "supervisor/live/watch_opens.h"

/* Starts to determine the readiness of the machine, and answers later. If the machine is
 * quarantined, answers at once, without signals of readiness. */
static int ask_readiness(struct live *live, const json_t *request, struct control_client *client,
			 struct error *err)
{
	const char *ready_at = json_text(live->runtime, "readyAt", NULL);

	(void)request;
	if (live->severed)
		return 0;
	return readiness_ask(live->readiness, ready_at, channels_mediation(live->channels), client,
			     err);
}

static int ask_power(struct live *live, const json_t *request, struct control_client *client,
		     struct error *err)
{
	static const struct {
		const char *action;
		enum intent intent;
	} actions[] = {{"halt", INTENT_HALT}, {"stop", INTENT_STOP}, {"kill", INTENT_KILL}};
	const char *action = NULL;
	bool keep = false;

	(void)client;
	if (json_get_string(request, "", "action", JSON_REQUIRED, &action, err) < 0 ||
	    json_get_bool(request, "", "keepQuarantined", JSON_OPTIONAL, &keep, err) < 0)
		return -1;
	if (keep && live->severed)
		return kind_say(KIND_KEPT, live->ws.id, NULL, ERR_CONFLICT, err);
	for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
		if (strcmp(actions[i].action, action) != 0)
			continue;
		log_line(&live->log, "asked to %s by control.sock", action);
		/* A halt after a kill does not change the end that is in progress, so the halt is
		 * not recorded as the cause of the end. */
		if (intent_after(live->outcome.intent, actions[i].intent) != live->outcome.intent)
			live_asked_by(live, request);
		live_end(live, actions[i].intent, NULL);
		return 0;
	}
	return error_set(
		err, ERR_INVALID,
		"the live supervisor refuses the request, because its action is not halt, stop or kill: ask for one of these three");
}

/* Carries out a request. Returns 0 if it is done or will be answered later; -1 with an error. */
static int act_on_request(struct live *live, const json_t *request, struct control_client *client,
			  struct error *err)
{
	static const struct {
		const char *command;
		int (*fn)(struct live *live, const json_t *request, struct control_client *client,
			  struct error *err);
	} requests[] = {{"power", ask_power},
			{"quarantine", live_quarantine},
			{"readiness", ask_readiness},
			{"balloon", live_balloon},
			{"share-attach", live_share},
			{"network", live_network},
			{"disk-quota", live_quota},
			{"session-term", live_term_set},
			{"session-hold", live_term_hold},
			{"save", live_save},
			{"fork", live_fork},
			{"note", live_note}};
	const char *command = NULL;

	if (json_get_string(request, "", "command", JSON_REQUIRED, &command, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++)
		if (strcmp(requests[i].command, command) == 0)
			return requests[i].fn(live, request, client, err);
	return error_set(
		err, ERR_UNSUPPORTED,
		"the live supervisor of this machine does not know the request %.32s: stop the machine and start it again, because it was started by another version, microagent " MICROAGENT_VERSION,
		command);
}

json_t *live_request(void *data, const json_t *request, struct control_client *client)
{
	struct error err = {0};

	/* The process that has sent the request may exit as soon as it has the answer. So the files
	 * that it has opened are examined first, while the process can still be identified. */
	watch_opens_look(live_observe_opens(data));
	if (act_on_request(data, request, client, &err) < 0)
		return control_sock_refusal(&err);
	return json_pack("{s:b}", "ok", 1);
}

/* --- lifelines, signals, the boot deadline --------------------------------------------------- */

static void drop_lifelines(struct live *live)
{
	for (size_t i = 0; i < ARRAY_SIZE(live->lifelines); i++)
		loop_remove(steal_ptr(&live->lifelines[i]));
}

static void on_lifeline(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct live *live = data;
	char bytes[256];
	ssize_t n = read(fd, bytes, sizeof(bytes));
	bool told = n > 0 && fd == LIVE_COMMAND;

	(void)loop;
	(void)events;
	if (n > 0 && ticket_has(&live->ticket, LIVE_COMMAND) && !told)
		return; /* a byte on the caller's lifeline has no meaning for the command run */
	drop_lifelines(live);
	if (n > 0 && !told)
		return; /* by this byte the caller of start lets the machine go on without the
			 * lifeline */
	log_line(&live->log, told ? RUN_TOLD : "a lifeline ended");
	if (live->audit)
		live_term_orphan(live);
	else
		live_end(live, told ? INTENT_RUN_TOLD : INTENT_CALLER_GONE, NULL);
}

static void on_end_signal(struct loop *loop, int signal, void *data)
{
	struct live *live = data;

	(void)loop;
	log_line(&live->log, "signal %d", signal);
	live_end(live, INTENT_SIGNAL, NULL);
}

/* Returns true if the firmware has its own deadline. Such a deadline is needed only under KVM: a
 * paravirtual KVM may emulate the firmware, which is then a hundred times slower than the guest's
 * kernel. Without KVM, firmware and kernel are equally slow, so one deadline for both is enough. */
static bool has_firmware_deadline(const struct live *live)
{
	return live->backend->has_firmware && live->ticket.origin != VM_RESTORED &&
	       live->ticket.accelerator == ACCELERATOR_KVM;
}

static uint64_t boot_ms(const struct live *live)
{
	return live->awaits_kernel && has_firmware_deadline(live)
		       ? limit_get(LIMIT_FIRMWARE_MS)
		       : ticket_boot_ms(live->ticket.accelerator,
					ticket_has(&live->ticket, LIVE_MODEL));
}

static void on_boot_timer(struct loop *loop, void *data)
{
	struct live *live = data;
	bool from_kernel = !live->awaits_kernel && has_firmware_deadline(live);
	char text[160];

	(void)loop;
	live->boot_timer = NULL;
	if (live->outcome.intent != INTENT_NONE)
		return;
	snprintf(text, sizeof(text),
		 "the boot deadline passed: the guest was not ready within %llu ms %s(%s)",
		 (unsigned long long)boot_ms(live),
		 from_kernel ? "after its kernel had begun " : "",
		 accelerator_names[live->ticket.accelerator]);
	live_fail(live, ERR_TIMEOUT, text);
}

static int begin_boot_timer(struct live *live, struct error *err)
{
	live->boot_timer = loop_add_timer(live->loop, clock_mono_ns() + boot_ms(live) * NS_PER_MS,
					  on_boot_timer, live, err);
	return live->boot_timer ? 0 : -1;
}

void live_kernel_began(struct live *live, const char *sign)
{
	struct error err;

	if (!live->awaits_kernel)
		return;
	live->awaits_kernel = false;
	log_line(&live->log, "the guest's kernel has begun: %s", sign);
	if (!live->boot_timer || !has_firmware_deadline(live))
		return;
	loop_remove(steal_ptr(&live->boot_timer));
	if (begin_boot_timer(live, &err) < 0)
		live_fail(live, err.code, err.msg);
}

static int watch_lifelines(struct live *live, struct error *err)
{
	const struct {
		int fd;
		bool given;
	} lines[] = {{LIVE_COMMAND, ticket_has(&live->ticket, LIVE_COMMAND)},
		     {LIVE_CALLER, ticket_has(&live->ticket, LIVE_CALLER)}};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		if (!lines[i].given)
			continue;
		live->lifelines[i] =
			loop_add_fd(live->loop, lines[i].fd, LOOP_IN, on_lifeline, live, err);
		if (!live->lifelines[i])
			return -1;
	}
	return 0;
}

int live_ask_begin(struct live *live, struct error *err)
{
	live->awaits_kernel = live->backend->has_firmware && live->ticket.origin != VM_RESTORED;
	if (!loop_add_signal(live->loop, SIGTERM, on_end_signal, live, err) ||
	    !loop_add_signal(live->loop, SIGINT, on_end_signal, live, err) ||
	    watch_lifelines(live, err) < 0)
		return -1;
	return begin_boot_timer(live, err);
}
