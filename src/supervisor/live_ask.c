/* SPDX-License-Identifier: MIT */
/* Who may want a VM to end: a request on control.sock, a lifeline, SIGTERM, the boot deadline. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "supervisor/live.h"

static int power_intent(const json_t *request, enum intent *out, struct error *err)
{
	static const struct {
		const char *action;
		enum intent intent;
	} actions[] = {{"halt", INTENT_HALT}, {"stop", INTENT_STOP}, {"kill", INTENT_KILL}};
	const char *command = NULL, *action = NULL;

	if (json_get_string(request, "", "command", JSON_REQUIRED, &command, err) < 0)
		return -1;
	if (strcmp(command, "power") != 0)
		return error_set(err, ERR_UNSUPPORTED, "%.32s is not a request of control.sock",
				 command);
	if (json_get_string(request, "", "action", JSON_REQUIRED, &action, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
		if (strcmp(actions[i].action, action) != 0)
			continue;
		*out = actions[i].intent;
		return 0;
	}
	return error_set(err, ERR_INVALID, "action must be halt, stop or kill");
}

json_t *live_request(void *data, const json_t *request)
{
	struct live *live = data;
	enum intent intent = INTENT_NONE;
	struct error err = {0};
	json_auto_t *answer = json_object();

	if (power_intent(request, &intent, &err) == 0) {
		log_line(&live->log, "asked to end by control.sock");
		live_end(live, intent, NULL);
	}
	if (json_put(answer, "ok", json_boolean(err.code == ERR_NONE), NULL) < 0)
		return NULL;
	if (err.code && (json_put_string(answer, "error", err.msg, NULL) < 0 ||
			 json_put_string(answer, "errorCode", error_code_name(err.code), NULL) < 0))
		return NULL;
	return steal_ptr(&answer);
}

/* --- lifelines, signals, the boot deadline ------------------------------------------------- */

static void on_lifeline(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct live *live = data;
	char bytes[256];
	ssize_t n = read(fd, bytes, sizeof(bytes));

	(void)loop;
	(void)events;
	if (n > 0)
		return; /* what is said on it means nothing */
	log_line(&live->log, "a lifeline ended");
	for (size_t i = 0; i < ARRAY_SIZE(live->lifelines); i++) {
		loop_remove(live->lifelines[i]);
		live->lifelines[i] = NULL;
	}
	live_end(live, INTENT_CALLER_GONE, NULL);
}

static void on_signal(struct loop *loop, int signal, void *data)
{
	struct live *live = data;

	(void)loop;
	log_line(&live->log, "signal %d", signal);
	live_end(live, INTENT_SIGNAL, NULL);
}

static void on_boot_timer(struct loop *loop, void *data)
{
	struct live *live = data;
	bool kvm = live->ticket.accelerator == ACCELERATOR_KVM;
	char text[160];

	(void)loop;
	live->boot_timer = NULL;
	if (live->outcome.intent != INTENT_NONE)
		return;
	snprintf(text, sizeof(text),
		 "the boot deadline passed: the guest was not ready within %llu ms "
		 "(%s)",
		 (unsigned long long)limit_get(kvm ? LIMIT_BOOT_KVM_MS : LIMIT_BOOT_TCG_MS),
		 accelerator_names[live->ticket.accelerator]);
	live_fail(live, ERR_TIMEOUT, text);
}

static int watch_lifelines(struct live *live, struct error *err)
{
	const struct {
		int fd;
		bool given;
	} lines[] = {{LIVE_COMMAND, live->ticket.foreground},
		     {LIVE_CALLER, live->ticket.has_lifeline}};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		if (!lines[i].given)
			continue;
		live->lifelines[i] =
			loop_add_fd(live->loop, lines[i].fd, EPOLLIN, on_lifeline, live, err);
		if (!live->lifelines[i])
			return -1;
	}
	return 0;
}

int live_ask_begin(struct live *live, struct error *err)
{
	bool kvm = live->ticket.accelerator == ACCELERATOR_KVM;
	uint64_t boot = limit_get(kvm ? LIMIT_BOOT_KVM_MS : LIMIT_BOOT_TCG_MS);

	if (!loop_add_signal(live->loop, SIGTERM, on_signal, live, err) ||
	    !loop_add_signal(live->loop, SIGINT, on_signal, live, err) ||
	    watch_lifelines(live, err) < 0)
		return -1;
	live->boot_timer = loop_add_timer(live->loop, clock_mono_ns() + boot * NS_PER_MS,
					  on_boot_timer, live, err);
	return live->boot_timer ? 0 : -1;
}
