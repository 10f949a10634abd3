/* SPDX-License-Identifier: MIT */
/*
 * Decodes the connections that the guest may open to the host: declared listeners and the mediation
 * channel. The host's ports 1024 and 1023 belong to the control stream and the link
 * (base/agent_wire.h). No listener may have one of them, because a service that listened there
 * could act as the supervisor.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/agent_wire.h"
#include "base/cleanup.h"
#include "contract/decode.h"
#include "contract/fields.h"

#define PORT_MAX INT64_C(4294967294) /* the largest port, because 2^32-1 is VMADDR_PORT_ANY */

static int decode_port(const json_t *object, const char *path, enum json_need need, int64_t *port,
		       struct error *err)
{
	if (json_get_int(object, path, "port", need, 1, PORT_MAX, port, err) < 0)
		return -1;
	if (*port == CONTROL_PORT || *port == LINK_PORT)
		return error_set(
			err, ERR_INVALID,
			"%s.port must not be %d, which is microagent's own port: choose another",
			path, (int)*port);
	return 0;
}

static int decode_listener(struct config_decode *d, const json_t *item, const char *path,
			   json_t *seen, json_t *out, struct error *err)
{
	const char *target = NULL;
	int64_t port = 0;
	char key[24];

	(void)d;
	if (decode_port(item, path, JSON_REQUIRED, &port, err) < 0)
		return -1;
	snprintf(key, sizeof(key), "%" PRId64, port);
	if (decode_unique(seen, key, path, "port", err) < 0 ||
	    decode_host_port(item, path, "target", JSON_REQUIRED, &target, err) < 0 ||
	    json_put(out, "port", json_integer(port), err) < 0)
		return -1;
	return json_put_string(out, "target", target, err);
}

int decode_vsock_listeners(struct config_decode *d, struct error *err)
{
	static const char *const keys[] = {"port", "target", NULL};

	return decode_list(d, d->in, "config", "vsockListeners", keys, decode_listener, d->out,
			   err);
}

struct mediation {
	bool enabled, required, fail_closed;
	int64_t port;
	const char *target;
};

/* Returns true if mediation is configured. A block in which every field is zero or empty does not
 * count, because some callers always write such a block. A block with "enabled": false does not
 * count either, even with a port and a target, unless "required" is true. */
static bool is_configured(const json_t *given, const struct mediation *m)
{
	if (json_is_false(json_object_get(given, "enabled")) && !m->required)
		return false;
	const json_t *port = json_object_get(given, "port");
	const json_t *target = json_object_get(given, "target");

	return m->enabled || m->required || m->fail_closed || json_number_value(port) != 0 ||
	       json_string_length(target);
}

static bool is_zero_port(const json_t *number)
{
	return json_is_number(number) && json_number_value(number) == 0;
}

static int decode_flags(const json_t *given, struct mediation *m, struct error *err)
{
	const char *target = NULL;
	int64_t port = 0;

	if (json_get_bool(given, "config.mediation", "enabled", JSON_OPTIONAL, &m->enabled, err) <
		    0 ||
	    json_get_bool(given, "config.mediation", "required", JSON_OPTIONAL, &m->required, err) <
		    0 ||
	    json_get_bool(given, "config.mediation", "failClosed", JSON_OPTIONAL, &m->fail_closed,
			  err) < 0)
		return -1;
	/* A zero port and an empty target can mean "not configured". Any other number must be a
	 * port that a configured block could have. */
	if (!is_zero_port(json_object_get(given, "port")) &&
	    json_get_int(given, "config.mediation", "port", JSON_OPTIONAL, 1, PORT_MAX, &port,
			 err) < 0)
		return -1;
	return json_get_string(given, "config.mediation", "target", JSON_OPTIONAL, &target, err);
}

static int decode_configured(struct config_decode *d, const json_t *given, struct mediation *m,
			     struct error *err)
{
	json_auto_t *out = json_object();
	const json_t *listeners = json_object_get(d->out, "vsockListeners");

	if (!out)
		return error_errno(err, ENOMEM, "config.mediation");
	if (!m->enabled)
		return error_set(
			err, ERR_INVALID,
			"config.mediation.enabled must be true if config.mediation is given");
	if (decode_port(given, "config.mediation", JSON_REQUIRED, &m->port, err) < 0 ||
	    decode_host_port(given, "config.mediation", "target", JSON_REQUIRED, &m->target, err) <
		    0)
		return -1;
	if (m->required && !m->fail_closed)
		return error_set(
			err, ERR_INVALID,
			"config.mediation.failClosed must be true if config.mediation.required is true");
	/* A listener on the mediation port is refused whatever its target, because the two channels
	 * would become one. */
	for (size_t i = 0; i < json_array_size(listeners); i++) {
		const json_t *listener = json_array_get(listeners, i);

		if (json_integer_value(json_object_get(listener, "port")) == m->port)
			return error_set(
				err, ERR_INVALID,
				"config.mediation.port must differ from config.vsockListeners[%zu].port",
				i);
	}
	if (json_put(out, "enabled", json_true(), err) < 0 ||
	    json_put(out, "required", json_boolean(m->required), err) < 0 ||
	    json_put(out, "port", json_integer(m->port), err) < 0 ||
	    json_put_string(out, "target", m->target, err) < 0 ||
	    json_put(out, "failClosed", json_boolean(m->fail_closed), err) < 0)
		return -1;
	return json_put(d->out, "mediation", json_incref(out), err);
}

int decode_mediation(struct config_decode *d, struct error *err)
{
	struct mediation mediation = {0};
	json_t *given = NULL;

	if (json_get_object(d->in, "config", "mediation", JSON_OPTIONAL, &given, err) < 0)
		return -1;
	if (!given)
		return 0;
	if ((d->strict && json_only_keys(given, "config.mediation", mediation_keys, err) < 0) ||
	    decode_flags(given, &mediation, err) < 0)
		return -1;
	if (!is_configured(given, &mediation))
		return 0;
	return decode_configured(d, given, &mediation, err);
}
