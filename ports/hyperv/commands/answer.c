/* SPDX-License-Identifier: MIT */
#include "hyperv/commands/answer.h"

#include <stdio.h>
#include <string.h>

#include "base/agent_wire.h"
#include "base/architecture.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "contract/request.h"
#include "hyperv/keeper/hvsocket.h"
#include "hyperv/windows/tcp.h"

struct told answer_read(const struct record *record)
{
	struct error ignored;
	struct told told = {.result = store_read(&record->store, "result.json", &ignored),
			    .runtime = store_read(&record->store, "runtime.json", &ignored)};

	if (told.result)
		json_object_del(told.result, "format");
	return told;
}

void told_free(struct told *told)
{
	json_decref(told->result);
	json_decref(told->runtime);
	*told = (struct told){0};
}

static DWORD ms_until(uint64_t deadline_ns)
{
	uint64_t now = clock_mono_ns();

	return now < deadline_ns ? (DWORD)((deadline_ns - now) / NS_PER_MS + 1) : 0;
}

/* Waits for any line of the agent, which shows that the agent runs and reads requests. The deadline
 * applies to the whole line. Otherwise a guest that sends single bytes could delay the command for
 * ever. */
static int hear_agent_line(SOCKET agent, uint64_t deadline_ns, struct error *err)
{
	char bytes[512];
	DWORD ms;
	int n = -1;

	while ((ms = ms_until(deadline_ns)) > 0) {
		if (hvsocket_timeout(agent, SO_RCVTIMEO, ms, err) < 0)
			return -1;
		n = recv(agent, bytes, sizeof(bytes), 0);
		if (n <= 0)
			break;
		if (memchr(bytes, '\n', (size_t)n))
			return 0;
	}
	return n == 0 ? error_set(err, ERR_UNAVAILABLE,
				  "the guest's agent closed the connection without an answer")
		      : error_set(
				err, ERR_TIMEOUT,
				"the guest's agent accepted a connection, but did not answer in time");
}

static int ask_hvsocket_agent(const struct guid *vm, struct error *err)
{
	uint64_t ms = limit_get(LIMIT_SHELL_PROBE_MS), deadline = clock_mono_ns() + ms * NS_PER_MS;
	SOCKET agent = hvsocket_connect(vm, AGENT_PORT, (ULONG)ms, err);
	int status = -1;

	if (agent == INVALID_SOCKET)
		return -1;
	if (hvsocket_timeout(agent, SO_SNDTIMEO, (DWORD)ms, err) == 0 &&
	    hvsocket_send(agent, AGENT_PING, strlen(AGENT_PING), err) == 0)
		status = hear_agent_line(agent, deadline, err);
	closesocket(agent);
	return status;
}

static json_t *agent_signal(const json_t *runtime)
{
	uint64_t begun = clock_mono_ns();
	char now[CLOCK_TEXT], detail[96];
	struct error err = {0};
	struct guid vm;

	if (!guid_parse(json_text(runtime, "vmId", ""), &vm))
		return readiness_signal(false, NULL, "the guest has not reported ready", NULL);
	int status = ask_hvsocket_agent(&vm, &err);
	clock_rfc3339(clock_real_ns(), now);
	snprintf(detail, sizeof(detail), "agent round trip in %llu us",
		 (unsigned long long)((clock_mono_ns() - begun) / 1000));
	return status == 0 ? readiness_signal(true, now, detail, NULL)
			   : readiness_signal(false, now, NULL, err.msg);
}

/* Returns a readiness signal with the detail "workspace is S; live readiness unavailable", where S
 * is the recorded state. The caller releases the result. */
static json_t *signal_not_live(const struct record *record, const char *error)
{
	char detail[96];

	snprintf(detail, sizeof(detail), "workspace is %s; live readiness unavailable",
		 state_names[record->state]);
	return readiness_signal(false, NULL, detail, error);
}

/* Returns a readiness signal that says whether the target of the mediation accepts a connection.
 * Sends nothing on the connection. The caller releases the result. */
static json_t *target_signal(const char *target)
{
	uint64_t begun = clock_mono_ns();
	uint64_t deadline = begun + limit_get(LIMIT_MEDIATION_PROBE_MS) * NS_PER_MS;
	char now[CLOCK_TEXT], detail[256];
	struct error err = {0};
	SOCKET reached = tcp_connect(target, deadline, &err);

	clock_rfc3339(clock_real_ns(), now);
	if (reached == INVALID_SOCKET)
		return readiness_signal(false, now, NULL, err.msg);
	closesocket(reached);
	snprintf(detail, sizeof(detail), "connection to %.200s in %llu us", target,
		 (unsigned long long)((clock_mono_ns() - begun) / 1000));
	return readiness_signal(true, now, detail, NULL);
}

static json_t *mediation_signal(const struct record *record, const json_t *mediation)
{
	bool required = json_is_true(json_object_get(mediation, "required"));

	if (!mediation)
		return readiness_signal(false, NULL, "mediation is not configured", NULL);
	if (state_is_live(record->state))
		return target_signal(json_text(mediation, "target", ""));
	return signal_not_live(record, required ? "required mediation is not ready" : NULL);
}

static json_t *readiness_json(const struct record *record, const struct config *config,
			      const struct told *told, struct error *err)
{
	const char *ready_at = json_text(told->runtime, "readyAt", NULL);
	json_auto_t *readiness = json_object();
	json_t *guest, *shell;

	if (!state_is_live(record->state)) {
		guest = signal_not_live(record, NULL);
		shell = signal_not_live(record, NULL);
	} else if (!ready_at) {
		guest = readiness_signal(false, NULL, "the guest has not reported ready", NULL);
		shell = json_incref(guest);
	} else {
		guest = readiness_signal(true, ready_at, "the guest reported ready", NULL);
		shell = agent_signal(told->runtime);
	}
	/* Releases `shell`, because the json_put() below, which takes over the reference, is not
	 * called after this failure. */
	if (json_put(readiness, "guestReady", guest, err) < 0) {
		json_decref(shell);
		return NULL;
	}
	if (json_put(readiness, "shellReady", shell, err) < 0 ||
	    json_put(readiness, "resultReady",
		     readiness_of_result(told->result != NULL,
					 json_text(told->result, "completedAt", NULL)),
		     err) < 0 ||
	    json_put(readiness, "mediationReady", mediation_signal(record, config->mediation),
		     err) < 0)
		return NULL;
	return steal_ptr(&readiness);
}

/* Returns the address of the guest's agent, for clients that run commands in the guest. The caller
 * releases the result. */
static json_t *agent_address_json(const json_t *runtime)
{
	struct guid service = guid_of_vsock_port(AGENT_PORT);
	const char *vm = json_text(runtime, "vmId", NULL);
	char text[GUID_TEXT];

	guid_text(&service, text);
	return vm ? json_pack("{s:s, s:s}", "vmId", vm, "agentServiceId", text) : NULL;
}

void answer_declared(const struct config *config, struct response *response)
{
	response->mediation = json_deep_copy(config->mediation);
}

int answer_live(const struct record *record, const struct config *config, const struct told *told,
		struct response *response, struct error *err)
{
	answer_declared(config, response);
	response->readiness = readiness_json(record, config, told, err);
	response->architecture = json_string(architecture_name(config->architecture));
	response->network = json_incref(json_object_get(config->normalised, "network"));
	response->result = json_incref(told->result);
	if (state_is_live(record->state))
		response->hvsocket = agent_address_json(told->runtime);
	return response->readiness ? 0 : -1;
}
