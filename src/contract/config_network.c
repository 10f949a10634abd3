/* SPDX-License-Identifier: MIT */
/* Decodes config.network: the guest's network card, published ports and allowed destinations. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/prefix.h"
#include "contract/decode.h"

#define PATH "config.network"
#define DEFAULT_PUBLISH_HOST "127.0.0.1"

/* Returns true if a host can listen at the address. No host can listen at a multicast or broadcast
 * address. An IPv4 address inside an IPv6 address is refused, because it would be a second name for
 * the IPv4 address. */
static bool is_listening_address(const char *host)
{
	struct in6_addr v6;
	struct in_addr v4;

	if (inet_pton(AF_INET, host, &v4) == 1)
		return !IN_MULTICAST(ntohl(v4.s_addr)) && v4.s_addr != INADDR_BROADCAST;
	return inet_pton(AF_INET6, host, &v6) == 1 && !IN6_IS_ADDR_MULTICAST(&v6) &&
	       !IN6_IS_ADDR_V4MAPPED(&v6);
}

/* Decodes the address at which the host listens. The address must be numeric (or "localhost"),
 * because a name could later stand for another interface. */
static int decode_publish_host(const json_t *item, const char *path, json_t *out, struct error *err)
{
	const char *host = DEFAULT_PUBLISH_HOST;

	if (decode_text(item, path, "host", JSON_OPTIONAL, &host, err) < 0)
		return -1;
	if (!strcmp(host, "localhost"))
		host = DEFAULT_PUBLISH_HOST;
	if (!is_listening_address(host))
		return error_set(err, ERR_INVALID,
				 "%s.host must be an IP address of this host, and is \"%.64s\"",
				 path, host);
	return json_put_string(out, "host", host, err);
}

/* Refuses a forward that overlaps with an earlier forward at the same host port. "0.0.0.0" and "::"
 * listen on every address of their family, so they overlap with every other address of the family.
 * (The caller refuses two equal addresses.) `seen` has, for each family and port, the host address
 * of the first forward with this family and port. The function adds the forward `out` to `seen` if
 * `seen` has no such entry. */
static int refuse_overlap(json_t *seen, const json_t *out, const char *path, struct error *err)
{
	const char *host = json_text(out, "host", ""), *any = strchr(host, ':') ? "::" : "0.0.0.0";
	int port = (int)json_integer_value(json_object_get(out, "hostPort"));
	char key[96];
	const char *other;
	json_t *value;

	snprintf(key, sizeof(key), "%s:%d", any[0] == ':' ? "v6" : "v4", port);
	other = json_string_value(json_object_get(seen, key));
	if (other && (!strcmp(host, any) || !strcmp(other, any)))
		return error_set(
			err, ERR_INVALID,
			"%s has the same host port %d as another forward: the addresses %s and %s overlap, so leave one of the two out",
			path, port, host, other);
	value = json_string(host);
	return other ? (json_decref(value), 0) : json_put(seen, key, value, err);
}

static int decode_forward(struct config_decode *d, const json_t *item, const char *path,
			  json_t *seen, json_t *out, struct error *err)
{
	static const char *const protocols[] = {"tcp"};
	static const char *const ports[] = {"hostPort", "guestPort"};
	size_t protocol = 0;
	char key[96];

	(void)d;
	if (decode_choice(item, path, "protocol", JSON_OPTIONAL, protocols, ARRAY_SIZE(protocols),
			  &protocol, err) < 0 ||
	    json_put_string(out, "protocol", protocols[protocol], err) < 0 ||
	    decode_publish_host(item, path, out, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(ports); i++) {
		int64_t port = 0;

		if (json_get_int(item, path, ports[i], JSON_REQUIRED, 1, 65535, &port, err) < 0 ||
		    json_put(out, ports[i], json_integer(port), err) < 0)
			return -1;
	}
	snprintf(key, sizeof(key), "%s/%s/%d", protocols[protocol], json_text(out, "host", NULL),
		 (int)json_integer_value(json_object_get(out, "hostPort")));
	if (decode_unique(seen, key, path, "host port", err) < 0)
		return -1;
	return refuse_overlap(seen, out, path, err);
}

static bool is_isolated_only(const struct config_decode *d)
{
	return d->bounds && d->bounds->isolated_only;
}

int config_check_prefix(struct prefix prefix, const char *what, struct error *err)
{
	if (prefix.bits == 0)
		return error_set(
			err, ERR_INVALID,
			"%s is the prefix of all addresses: name those that the guest needs", what);
	if (prefix.address >> 24 == IN_LOOPBACKNET)
		return error_set(
			err, ERR_INVALID,
			"%s is the guest's own loopback, which does not lead to this host: leave it out",
			what);
	if (prefix_is_secret(prefix))
		return error_set(
			err, ERR_INVALID,
			"%s is link-local or the address of a cloud's metadata service, which no guest can reach: leave it out",
			what);
	return 0;
}

int config_check_egress_prefix(struct prefix prefix, const char *what, struct error *err)
{
	if (config_check_prefix(prefix, what, err) < 0)
		return -1;
	if (prefix_is_not_public(prefix))
		return error_set(
			err, ERR_INVALID,
			"%s is not on the public internet, and stays blocked even when it is listed: if it is private, config.network.allow opens it",
			what);
	return 0;
}

/* Returns the canonical form of a prefix: the address and the length, such as "192.168.1.0/24". */
static json_t *prefix_json(struct prefix prefix)
{
	const struct in_addr in = {.s_addr = htonl(prefix.address)};
	char address[INET_ADDRSTRLEN];

	inet_ntop(AF_INET, &in, address, sizeof(address));
	return json_sprintf("%s/%u", address, (unsigned)prefix.bits);
}

/* Adds `item` to the list unless the list has an equal item. Takes over the reference to `item`. */
static int put_new_prefix(json_t *list, json_t *item)
{
	const json_t *other;
	size_t i;

	json_array_foreach(list, i, other)
	{
		if (json_equal(other, item)) {
			json_decref(item);
			return 0;
		}
	}
	return json_array_append_new(list, item);
}

int decode_prefixes(const struct config_decode *d, const json_t *in, const char *path,
		    const char *key, prefix_check_fn *check, json_t *out, struct error *err)
{
	json_auto_t *list = json_array();
	json_t *given = NULL;

	if (!list)
		return error_errno(err, ENOMEM, "%s.%s", path, key);
	if (json_get_array(in, path, key, JSON_OPTIONAL, &given, err) < 0)
		return -1;
	for (size_t i = 0; i < json_array_size(given); i++) {
		const json_t *entry = json_array_get(given, i);
		const char *text = json_string_value(entry);
		char item[DECODE_PATH];
		struct prefix prefix;

		snprintf(item, sizeof(item), "%s.%s[%zu]", path, key, i);
		if (!text || strlen(text) != json_string_length(entry) ||
		    prefix_parse(text, &prefix) < 0)
			return error_set(
				err, ERR_INVALID,
				"%s must be an IPv4 prefix like \"192.168.1.0/24\", in which all bits after the prefix are 0",
				item);
		/* The rule of check() applies only to requests. A record may be older than the
		 * rule, and must still be readable. */
		if (d->strict && check(prefix, item, err) < 0)
			return -1;
		if (put_new_prefix(list, prefix_json(prefix)) < 0)
			return error_errno(err, ENOMEM, "%s.%s", path, key);
	}
	return json_array_size(list) ? json_put(out, key, json_incref(list), err) : 0;
}

int decode_network(struct config_decode *d, struct error *err)
{
	static const char *const keys[] = {"mode",  "interface", "portForwards",
					   "allow", "egress",	 NULL};
	static const char *const forward_keys[] = {"protocol", "host", "hostPort", "guestPort",
						   NULL};
	json_auto_t *out = json_object();
	json_t *network = NULL;
	size_t mode = is_isolated_only(d) ? NETWORK_ISOLATED : NETWORK_NAT;
	const char *name = NULL;
	size_t allowed;

	if (!out)
		return error_errno(err, ENOMEM, PATH);
	if (json_get_object(d->in, "config", "network", JSON_OPTIONAL, &network, err) < 0)
		return -1;
	if (network && ((d->strict && json_only_keys(network, PATH, keys, err) < 0) ||
			decode_not_empty(network, PATH, "mode", err) < 0 ||
			decode_choice(network, PATH, "mode", JSON_OPTIONAL, network_mode_names,
				      ARRAY_SIZE(network_mode_names), &mode, err) < 0))
		return -1;
	if (json_put_string(out, "mode", network_mode_names[mode], err) < 0)
		return -1;
	if (!network)
		return json_put(d->out, "network", json_incref(out), err);
	if (decode_text(network, PATH, "interface", JSON_OPTIONAL, &name, err) < 0)
		return -1;
	if (name && mode != NETWORK_BRIDGED)
		return error_set(
			err, ERR_INVALID,
			"config.network.interface needs mode \"bridged\", and mode is \"%s\"",
			network_mode_names[mode]);
	if ((name && json_put_string(out, "interface", name, err) < 0) ||
	    decode_list(d, network, PATH, "portForwards", forward_keys, decode_forward, out, err) <
		    0)
		return -1;
	/* Ports are published over vsock. So a backend without network cards can publish them
	 * too. */
	if (d->strict && !is_isolated_only(d) && mode == NETWORK_ISOLATED &&
	    json_object_get(out, "portForwards"))
		return error_set(
			err, ERR_INVALID,
			"config.network.portForwards need mode \"nat\" or \"bridged\", and mode is \"isolated\"");
	if (mode != NETWORK_NAT && json_array_size(json_object_get(network, "allow")))
		return error_set(err, ERR_INVALID,
				 "config.network.allow needs mode \"nat\", and mode is \"%s\"",
				 network_mode_names[mode]);
	if (decode_prefixes(d, network, PATH, "allow", config_check_prefix, out, err) < 0)
		return -1;
	allowed = json_array_size(json_object_get(out, "allow"));
	if (d->strict && allowed > PREFIXES_ALLOW_MAX)
		return error_set(
			err, ERR_INVALID,
			"config.network.allow: %zu entries are given, but at most %d are allowed: leave some out",
			allowed, PREFIXES_ALLOW_MAX);
	if (decode_egress(d, network, (enum network_mode)mode, out, err) < 0)
		return -1;
	/* A backend without the mode "bridged" refuses the mode with its own message. */
	if (d->strict && !is_isolated_only(d) && mode == NETWORK_BRIDGED && !name)
		return error_set(
			err, ERR_INVALID,
			"config.network.interface is missing: mode \"bridged\" needs the name of a bridge (with the backend apple-vf, of an interface)");
	return json_put(d->out, "network", json_incref(out), err);
}

json_t *network_decode(const json_t *network, struct error *err)
{
	json_auto_t *in = json_pack("{s:O}", "network", network);
	json_auto_t *out = json_object();
	struct config_decode d = {.in = in, .out = out, .strict = true};

	if (!in || !out) {
		error_errno(err, ENOMEM, PATH);
		return NULL;
	}
	return decode_network(&d, err) < 0 ? NULL : json_incref(json_object_get(out, "network"));
}
