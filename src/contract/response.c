/* SPDX-License-Identifier: MIT */
/* Builds responses. All responses are made here, so that no command can answer with a block that
 * the command must not have. */
#include "contract/response.h"

#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"

/* Adds a text that may hold bytes of a guest or of a file name. The text is never refused because
 * of its encoding. */
static int put_response_text(json_t *object, const char *key, const char *text)
{
	return json_put(object, key, json_string_lossy(text, strlen(text)), NULL);
}

/* Adds an optional text; NULL adds nothing. */
static int put_optional_text(json_t *object, const char *key, const char *text)
{
	return text ? put_response_text(object, key, text) : 0;
}

void response_free(struct response *response)
{
	json_t **const blocks[] = {
		&response->event,	 &response->host,
		&response->kernel,	 &response->verification,
		&response->readiness,	 &response->result,
		&response->artifacts,	 &response->mediation,
		&response->network,	 &response->shared_anyway,
		&response->confinement,	 &response->console_mode,
		&response->architecture, &response->term,
		&response->hvsocket,	 &response->cgroup_unlimited,
	};

	for (size_t i = 0; i < ARRAY_SIZE(blocks); i++) {
		json_decref(*blocks[i]);
		*blocks[i] = NULL;
	}
}

json_t *event_json(const json_t *identity, enum state state, const char *detail,
		   const char *observed_at)
{
	json_auto_t *event = json_object();

	if (!event || (unsigned)state >= STATE_COUNT)
		return NULL;
	/* The identity is copied, because its document may be freed before the event. */
	if (identity && json_put(event, "identity", json_deep_copy(identity), NULL) < 0)
		return NULL;
	if (put_response_text(event, "state", state_names[state]) < 0 ||
	    put_optional_text(event, "detail", detail) < 0 ||
	    put_response_text(event, "observedAt", observed_at) < 0)
		return NULL;
	return steal_ptr(&event);
}

json_t *readiness_signal(bool ready, const char *observed_at, const char *detail, const char *error)
{
	json_auto_t *signal = json_object();

	if (!signal || json_put(signal, "ready", json_boolean(ready), NULL) < 0 ||
	    put_optional_text(signal, "observedAt", observed_at) < 0 ||
	    put_optional_text(signal, "detail", detail) < 0 ||
	    put_optional_text(signal, "error", error) < 0)
		return NULL;
	return steal_ptr(&signal);
}

json_t *readiness_of_result(bool delivered, const char *at)
{
	return readiness_signal(delivered, at,
				delivered ? "the guest's result was delivered"
					  : "no result of a command was delivered",
				NULL);
}

json_t *response_build(enum command command, const struct response *response)
{
	const struct {
		const char *key;
		unsigned block;
		json_t *value;
	} blocks[] = {
		{"event", BLOCK_EVENT, response->event},
		{"host", BLOCK_HOST, response->host},
		{"kernel", BLOCK_HOST, response->kernel},
		{"verification", BLOCK_VERIFICATION, response->verification},
		{"readiness", BLOCK_READINESS, response->readiness},
		{"result", BLOCK_RESULT, response->result},
		{"artifacts", BLOCK_ARTIFACTS, response->artifacts},
		{"mediation", BLOCK_MEDIATION, response->mediation},
		{"network", BLOCK_NETWORK, response->network},
		{"sharedAnyway", BLOCK_SHARED_ANYWAY, response->shared_anyway},
		{"architecture", BLOCK_READINESS, response->architecture},
		{"confinement", BLOCK_READINESS, response->confinement},
		{"cgroupUnlimited", BLOCK_READINESS, response->cgroup_unlimited},
		{"consoleMode", BLOCK_READINESS, response->console_mode},
		{"hvSocket", BLOCK_READINESS, response->hvsocket},
	};
	json_auto_t *answer = json_object();

	if (!answer || (unsigned)command >= COMMAND_COUNT ||
	    json_put(answer, "ok", json_true(), NULL) < 0 ||
	    put_response_text(answer, "backend", response->backend) < 0)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(blocks); i++) {
		if (!blocks[i].value || !(command_table[command].blocks & blocks[i].block))
			continue;
		if (json_put(answer, blocks[i].key, json_incref(blocks[i].value), NULL) < 0)
			return NULL;
	}
	if (response->term && command_table[command].blocks & BLOCK_READINESS &&
	    json_object_update_missing(answer, response->term) < 0)
		return NULL;
	return steal_ptr(&answer);
}

json_t *response_failure(const char *backend, json_t *event, const struct error *error)
{
	json_auto_t *answer = json_object();

	if (!answer || json_put(answer, "ok", json_false(), NULL) < 0 ||
	    put_response_text(answer, "backend", backend) < 0)
		return NULL;
	if (event && json_put(answer, "event", json_incref(event), NULL) < 0)
		return NULL;
	return json_put_error(answer, error, NULL) < 0 ? NULL : steal_ptr(&answer);
}

int response_exit_code(const struct error *error)
{
	switch (error->code) {
	case ERR_NONE:
		return 0;
	case ERR_UNAVAILABLE:
	case ERR_TIMEOUT:
		return 75; /* EX_TEMPFAIL of sysexits.h */
	default:
		return 1;
	}
}
