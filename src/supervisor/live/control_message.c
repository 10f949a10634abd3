/* SPDX-License-Identifier: MIT */
#include "supervisor/live/control_message.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "contract/nat.h"

/* The greatest number of objects, arrays and commas in one message. A telemetry message of
 * microagent's agent has some thousands of them. Without this limit, a short frame with a million
 * empty arrays would need hundreds of megabytes when it is decoded. */
#define STRUCTURE_MAX 8192

size_t control_result_max(void)
{
	size_t encoded = (limit_get(LIMIT_RESULT_STREAM_BYTES) + 2) / 3 * 4;
	size_t bound = 2 * encoded + CONTROL_SMALL_MAX;

	return bound < limit_get(LIMIT_RESULT_BYTES) ? bound : limit_get(LIMIT_RESULT_BYTES);
}

static enum control_type message_type(const char *name)
{
	static const struct {
		const char *name;
		enum control_type type;
	} types[] = {{"hello", CONTROL_HELLO},
		     {"ready", CONTROL_READY},
		     {"result", CONTROL_RESULT},
		     {"exec-started", CONTROL_EXEC_STARTED},
		     {"exec-finished", CONTROL_EXEC_FINISHED},
		     {"exec-lost", CONTROL_EXEC_LOST},
		     {"telemetry", CONTROL_TELEMETRY},
		     {"mounted", CONTROL_MOUNTED},
		     {"published", CONTROL_PUBLISHED},
		     {"listening", CONTROL_LISTENING},
		     {"quiesced", CONTROL_QUIESCED},
		     {"settled", CONTROL_SETTLED},
		     {"telemetry-status", CONTROL_TELEMETRY_STATUS},
		     {"ending", CONTROL_ENDING}};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (!strcmp(types[i].name, name))
			return types[i].type;
	return CONTROL_UNKNOWN;
}

json_t *control_decode(const uint8_t *payload, size_t len, enum control_type *type,
		       struct error *err)
{
	json_auto_t *message = NULL;
	const char *name = NULL;

	message = json_load_plain(payload, len, STRUCTURE_MAX, err);
	if (!message) {
		error_prefix(err, "a message of the guest");
		return NULL;
	}
	if (!json_is_object(message)) {
		error_set(
			err, ERR_INVALID,
			"a message of the guest is not a JSON object: this is a bug, or the guest attacks its host");
		return NULL;
	}
	if (json_get_string(message, "", "type", JSON_REQUIRED, &name, err) < 0)
		return NULL;
	*type = message_type(name);
	return steal_ptr(&message);
}

int control_read_hello(const json_t *message, struct control_hello *out, struct error *err)
{
	struct control_hello hello = {.version = "", .boot_id = ""};
	json_t *protocol = NULL;
	int64_t min = 0, max = 0;

	if (json_get_object(message, "hello", "protocol", JSON_REQUIRED, &protocol, err) < 0 ||
	    json_get_int(protocol, "hello.protocol", "min", JSON_REQUIRED, 1, 1000000, &min, err) <
		    0 ||
	    json_get_int(protocol, "hello.protocol", "max", JSON_REQUIRED, 1, 1000000, &max, err) <
		    0 ||
	    json_get_string(message, "hello", "version", JSON_OPTIONAL, &hello.version, err) < 0 ||
	    json_get_string(message, "hello", "bootId", JSON_OPTIONAL, &hello.boot_id, err) < 0 ||
	    json_get_int(message, "hello", "generation", JSON_OPTIONAL, 0, INT64_MAX,
			 &hello.generation, err) < 0 ||
	    json_get_bool(message, "hello", "restored", JSON_OPTIONAL, &hello.restored, err) < 0 ||
	    json_get_bool(message, "hello", "linked", JSON_OPTIONAL, &hello.linked, err) < 0)
		return -1;
	if (strlen(hello.version) > 64 || strlen(hello.boot_id) > 64)
		return error_set(
			err, ERR_INVALID,
			"the guest's message \"hello\" is malformed: version or bootId is too long; this is a bug, or the guest attacks its host");
	if (min > CONTROL_PROTOCOL || max < CONTROL_PROTOCOL)
		return error_set(
			err, ERR_UNSUPPORTED,
			"the guest speaks versions %lld to %lld of the control protocol, but this supervisor speaks version %d: install the kernel's initrd again",
			(long long)min, (long long)max, CONTROL_PROTOCOL);
	*out = hello;
	return 0;
}

int control_read_listening(const json_t *message, struct control_listening *out, struct error *err)
{
	struct control_listening listening = {0};
	json_t *list = NULL;

	if (json_get_array(message, "listening", "ports", JSON_OPTIONAL, &list, err) < 0)
		return -1;
	if (json_array_size(list) > limit_get(LIMIT_PUBLISHES))
		return error_set(
			err, ERR_INVALID,
			"the guest's message \"listening\" is malformed: ports has more than %llu entries; this is a bug, or the guest attacks its host",
			(unsigned long long)limit_get(LIMIT_PUBLISHES));
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *port = json_array_get(list, i);
		json_int_t number = json_integer_value(port);

		if (!json_is_integer(port) || number < 1 || number > UINT16_MAX)
			return error_set(
				err, ERR_INVALID,
				"the guest's message \"listening\" is malformed: ports[%zu] is not a number from 1 to 65535; this is a bug, or the guest attacks its host",
				i);
		port_set_add(&listening.ports, (uint16_t)number);
	}
	listening.told = list != NULL;
	*out = listening;
	return 0;
}

void control_hostname(const char *runtime_id, char out[64])
{
	size_t n = 0;

	for (const char *p = runtime_id; *p && n < 63; p++) {
		char c = *p >= 'A' && *p <= 'Z' ? (char)(*p - 'A' + 'a') : *p;

		if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
			out[n++] = c;
		else if (n > 0 && out[n - 1] != '-')
			out[n++] = '-';
	}
	while (n > 0 && out[n - 1] == '-')
		n--;
	out[n] = '\0';
	if (n == 0)
		memcpy(out, "microagent", sizeof("microagent"));
}

/* Adds a copy of `value`, a part of the config, to the message. Does nothing if `value` is NULL. */
static int put_copy(json_t *message, const char *key, const json_t *value, struct error *err)
{
	return value ? json_put(message, key, json_deep_copy(value), err) : 0;
}

static int put_guest_workload(json_t *message, const struct config *config, struct error *err)
{
	if (put_copy(message, "command", config->command, err) < 0 ||
	    put_copy(message, "env", config->env, err) < 0)
		return -1;
	if (config->user && json_put_string(message, "user", config->user, err) < 0)
		return -1;
	if (config->cwd && json_put_string(message, "cwd", config->cwd, err) < 0)
		return -1;
	if (config->timeout_seconds > 0)
		return json_put(message, "timeoutSeconds", json_integer(config->timeout_seconds),
				err);
	return 0;
}

/* Adds the shares to the message, without the members that only the host needs. */
static int put_shares(json_t *message, const json_t *given, struct error *err)
{
	json_auto_t *shares = json_array();
	json_t *share;
	size_t i;

	json_array_foreach(given, i, share)
	{
		json_t *told = json_pack("{s:O, s:O, s:O}", "tag", json_object_get(share, "tag"),
					 "mountpoint", json_object_get(share, "mountpoint"), "mode",
					 json_object_get(share, "mode"));

		if (json_is_true(json_object_get(share, "containers")))
			json_object_set_new(told, "containers", json_true());
		if (json_array_append_new(shares, told) < 0)
			return error_set(err, ERR_IO, "out of memory");
	}
	return json_array_size(shares) ? json_put(message, "shares", json_incref(shares), err) : 0;
}

static json_t *new_message(const char *type, struct error *err)
{
	json_auto_t *message = json_object();

	if (!message) {
		error_set(err, ERR_IO, "out of memory");
		return NULL;
	}
	if (json_put_string(message, "type", type, err) < 0 ||
	    json_put(message, "format", json_integer(1), err) < 0)
		return NULL;
	return steal_ptr(&message);
}

/* Adds the guest's port of each published port to the message. */
static int put_publishes(json_t *message, const json_t *forwards, struct error *err)
{
	json_auto_t *list = json_array();
	const json_t *forward;
	size_t i;

	json_array_foreach(forwards, i, forward)
	{
		json_auto_t *item = json_object();

		if (json_put(item, "guestPort", json_incref(json_object_get(forward, "guestPort")),
			     err) < 0 ||
		    json_array_append(list, item) < 0)
			return -1;
	}
	return json_put(message, "publishes", json_incref(list), err);
}

/* Returns the guest's network for a mode other than isolated. On a bridge the guest asks a DHCP
 * server of the bridge's network for its address. */
static json_t *network_json(enum network_mode mode)
{
	if (mode == NETWORK_BRIDGED)
		return json_pack("{s:b}", "dhcp", 1);
	return json_pack("{s:s, s:i, s:s, s:[s], s:i}", "address", NAT_GUEST, "prefixLength",
			 NAT_PREFIX_LENGTH, "gateway", NAT_GATEWAY, "dns", NAT_DNS, "mtu", NAT_MTU);
}

static int put_guest_network(json_t *message, const struct config *config, struct error *err)
{
	if (config->network_mode == NETWORK_ISOLATED)
		return 0;
	return json_put(message, "network", network_json(config->network_mode), err);
}

json_t *control_config(const struct config *config, const char *runtime_id, bool attach,
		       struct error *err)
{
	json_auto_t *message = new_message("config", err);
	char hostname[64];

	if (!message)
		return NULL;
	control_hostname(runtime_id, hostname);
	if (json_put_string(message, "hostname", config->hostname ? config->hostname : hostname,
			    err) < 0 ||
	    put_guest_workload(message, config, err) < 0 ||
	    put_guest_network(message, config, err) < 0 ||
	    json_put(message, "attach", json_boolean(attach && config->command), err) < 0 ||
	    json_put(message, "disks", json_array(), err) < 0 ||
	    put_shares(message, config->shares, err) < 0 ||
	    put_publishes(message, config->port_forwards, err) < 0 ||
	    json_put(message, "resultStreamBytes",
		     json_integer((json_int_t)limit_get(LIMIT_RESULT_STREAM_BYTES)), err) < 0)
		return NULL;
	return steal_ptr(&message);
}

int control_stamp(json_t *message, struct error *err)
{
	return json_put(message, "realtimeNs", json_integer(clock_real_ns()), err);
}

json_t *control_time(struct error *err)
{
	json_auto_t *message = new_message("time", err);

	return message && control_stamp(message, err) == 0 ? steal_ptr(&message) : NULL;
}

json_t *control_power_off(struct error *err)
{
	json_auto_t *message = new_message("power", err);

	if (!message || json_put_string(message, "action", "off", err) < 0)
		return NULL;
	return steal_ptr(&message);
}

json_t *control_mount(const json_t *shares, struct error *err)
{
	json_auto_t *message = new_message("mount", err);

	return message && put_shares(message, shares, err) == 0 ? steal_ptr(&message) : NULL;
}

static json_t *about_published(const char *type, const json_t *forward, struct error *err)
{
	json_auto_t *message = new_message(type, err);
	json_auto_t *forwards = json_pack("[O]", forward);

	return message && put_publishes(message, forwards, err) == 0 ? steal_ptr(&message) : NULL;
}

json_t *control_publish(const json_t *forward, struct error *err)
{
	return about_published("publish", forward, err);
}

json_t *control_unpublish(const json_t *forward, struct error *err)
{
	return about_published("unpublish", forward, err);
}

json_t *control_quiesce(bool goes_on, struct error *err)
{
	json_auto_t *message = new_message("quiesce", err);

	if (!message || (goes_on && json_put(message, "goesOn", json_true(), err) < 0))
		return NULL;
	return steal_ptr(&message);
}

json_t *control_settle(struct error *err)
{
	return new_message("settle", err);
}

int control_put_template(json_t *message, struct error *err)
{
	return json_put(message, "template", json_true(), err);
}
