/* SPDX-License-Identifier: MIT */
/* Puts published ports, mediation and listeners into a config. The user names each of them by a
 * word such as HOSTPORT:GUESTPORT. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "base/cleanup.h"
#include "base/json.h"

/* Parses a port, which consists only of decimal digits. Returns a number from 1 to `most`, or -1
 * for any other text. */
static json_int_t port_of(const char *text, size_t len, json_int_t most)
{
	json_int_t value = 0;

	if (len == 0 || len > 10)
		return -1;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -1;
		value = value * 10 + (text[i] - '0');
	}
	return value >= 1 && value <= most ? value : -1;
}

/* Returns a pointer to the last `c` among the first `len` characters of `text`, or NULL if `c` is
 * not there. */
static const char *last_of(const char *text, size_t len, char c)
{
	while (len > 0 && text[len - 1] != c)
		len--;
	return len > 0 ? text + len - 1 : NULL;
}

/* Puts a host into `out` in the form of the protocol (docs/protocol.md), where an IPv6 address has
 * no brackets. */
static int put_host(json_t *out, const char *text, size_t len, struct error *err)
{
	bool bracketed = len > 2 && text[0] == '[' && text[len - 1] == ']';
	autofree char *host = bracketed ? strndup(text + 1, len - 2) : strndup(text, len);

	return host ? json_put_string(out, "host", host, err) : error_errno(err, ENOMEM, "memory");
}

/* Parses a published port, [HOST:]HOSTPORT:GUESTPORT[/tcp]. */
json_t *channels_forward(const char *word, struct error *err)
{
	json_auto_t *out = json_object();
	const char *slash = strchr(word, '/');
	size_t len = slash ? (size_t)(slash - word) : strlen(word);
	const char *second = last_of(word, len, ':');
	const char *first = second ? last_of(word, (size_t)(second - word), ':') : NULL;
	const char *host_port = first ? first + 1 : word;
	json_int_t host = second ? port_of(host_port, (size_t)(second - host_port), 65535) : -1;
	json_int_t guest =
		second ? port_of(second + 1, len - (size_t)(second + 1 - word), 65535) : -1;

	if (host < 0 || guest < 0 || first == word || (slash && strcmp(slash, "/tcp") != 0)) {
		error_set(
			err, ERR_INVALID,
			"\"%.100s\" does not name ports to publish: write [HOST:]HOSTPORT:GUESTPORT[/tcp], with ports from 1 to 65535",
			word);
		return NULL;
	}
	if ((first && put_host(out, word, (size_t)(first - word), err) < 0) ||
	    json_put_string(out, "protocol", "tcp", err) < 0 ||
	    json_put(out, "hostPort", json_integer(host), err) < 0 ||
	    json_put(out, "guestPort", json_integer(guest), err) < 0)
		return NULL;
	return steal_ptr(&out);
}

static json_t *publish_json(const char *word, size_t index, struct error *err)
{
	(void)index;
	return channels_forward(word, err);
}

/* Parses a listener, PORT=HOST:PORT. */
static json_t *listener_json(const char *word, size_t index, struct error *err)
{
	json_auto_t *out = json_object();
	const char *equals = strchr(word, '=');
	json_int_t port = equals ? port_of(word, (size_t)(equals - word), UINT32_MAX) : -1;
	const char *colon = equals ? strrchr(equals + 1, ':') : NULL;

	(void)index;
	if (port < 0 || !colon || colon == equals + 1 ||
	    port_of(colon + 1, strlen(colon + 1), 65535) < 0) {
		error_set(
			err, ERR_INVALID,
			"\"%.100s\" does not name a vsock port and its service on the host: write PORT=HOST:PORT",
			word);
		return NULL;
	}
	if (json_put(out, "port", json_integer(port), err) < 0 ||
	    json_put_string(out, "target", equals + 1, err) < 0)
		return NULL;
	return steal_ptr(&out);
}

int microagent_check_publish(const char *word, struct error *err)
{
	json_auto_t *value = channels_forward(word, err);

	return value ? 0 : -1;
}

int microagent_check_listener(const char *word, struct error *err)
{
	json_auto_t *value = listener_json(word, 0, err);

	return value ? 0 : -1;
}

int channels_put(json_t *config, const struct microagent_machine *machine, struct error *err)
{
	json_t *network = json_object_get(config, "network");
	json_auto_t *mediation = NULL;

	if (words_put(network, "portForwards", machine->publish, publish_json, err) < 0 ||
	    words_put(config, "vsockListeners", machine->vsock, listener_json, err) < 0)
		return -1;
	if (!machine->mediation)
		return 0;
	mediation = listener_json(machine->mediation, 0, err);
	if (!mediation || json_put(mediation, "enabled", json_true(), err) < 0 ||
	    json_put(mediation, "required", json_boolean(!machine->mediation_optional), err) < 0 ||
	    json_put(mediation, "failClosed", json_true(), err) < 0)
		return -1;
	return json_put(config, "mediation", json_incref(mediation), err);
}
