/* SPDX-License-Identifier: MIT */
#include "oci/net/netns.h"

#include <linux/rtnetlink.h>
#include <stdio.h>

#include "base/json.h"

static int put_mac(json_t *object, const uint8_t mac[NETNS_MAC], struct error *err)
{
	char text[18];

	snprintf(text, sizeof(text), "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2],
		 mac[3], mac[4], mac[5]);
	return json_put_string(object, "mac", text, err);
}

/* Puts the address into `object` as a text. Puts nothing if ip->family is 0. */
static int put_ip(json_t *object, const char *key, const struct ip *ip, struct error *err)
{
	char text[IP_TEXT];

	if (!ip->family)
		return 0;
	ip_format(ip, text);
	return json_put_string(object, key, text, err);
}

static int put_nonzero(json_t *object, const char *key, uint32_t value, struct error *err)
{
	return value ? json_put(object, key, json_integer(value), err) : 0;
}

/* Appends a new object to the list. Returns the object as a borrowed reference; NULL with an
 * error. */
static json_t *add_object(json_t *list, struct error *err)
{
	json_t *object = json_object();

	if (object && json_array_append_new(list, object) == 0)
		return object;
	error_set(err, ERR_IO, "no memory");
	return NULL;
}

static int put_addresses(json_t *list, const struct netns_link *link, struct error *err)
{
	for (size_t i = 0; i < link->naddresses; i++) {
		char text[IP_TEXT];

		ip_format_prefix(&link->addresses[i].ip, link->addresses[i].bits, text);
		if (json_array_append_new(list, json_string(text)) < 0)
			return error_set(err, ERR_IO, "no memory");
	}
	return 0;
}

static int put_routes(json_t *list, const struct netns_link *link, struct error *err)
{
	for (size_t i = 0; i < link->nroutes; i++) {
		const struct netns_route *route = &link->routes[i];
		json_t *object = add_object(list, err);
		char to[IP_TEXT];

		ip_format_prefix(&route->to, route->bits, to);
		if (!object || json_put_string(object, "to", to, err) < 0 ||
		    put_ip(object, "via", &route->via, err) < 0 ||
		    put_ip(object, "source", &route->source, err) < 0 ||
		    (route->scope == RT_SCOPE_LINK &&
		     json_put_string(object, "scope", "link", err) < 0) ||
		    (route->onlink && json_put(object, "onlink", json_true(), err) < 0) ||
		    put_nonzero(object, "metric", route->metric, err) < 0 ||
		    put_nonzero(object, "mtu", route->mtu, err) < 0)
			return -1;
	}
	return 0;
}

static int put_neighbours(json_t *list, const struct netns_link *link, struct error *err)
{
	for (size_t i = 0; i < link->nneighbours; i++) {
		json_t *object = add_object(list, err);

		if (!object || put_ip(object, "address", &link->neighbours[i].ip, err) < 0 ||
		    put_mac(object, link->neighbours[i].mac, err) < 0)
			return -1;
	}
	return 0;
}

static int put_link_list(json_t *object, const char *key, const struct netns_link *link,
			 int (*fill)(json_t *, const struct netns_link *, struct error *),
			 struct error *err)
{
	json_t *list = json_array();

	if (json_put(object, key, list, err) < 0)
		return -1;
	return fill(list, link, err);
}

static int put_link(json_t *object, const struct netns_link *link, struct error *err)
{
	if (json_put_string(object, "name", link->name, err) < 0 ||
	    put_mac(object, link->mac, err) < 0 ||
	    json_put(object, "mtu", json_integer(link->mtu), err) < 0)
		return -1;
	if (put_link_list(object, "addresses", link, put_addresses, err) < 0 ||
	    put_link_list(object, "routes", link, put_routes, err) < 0)
		return -1;
	return put_link_list(object, "neighbours", link, put_neighbours, err);
}

json_t *netns_document(const struct netns *netns, struct error *err)
{
	json_auto_t *document = json_object();
	json_t *list = json_array();

	if (json_put(document, "interfaces", list, err) < 0)
		return NULL;
	for (size_t i = 0; i < netns->nlinks; i++) {
		json_t *object = add_object(list, err);

		if (!object || put_link(object, &netns->links[i], err) < 0) {
			error_prefix(err, "network");
			return NULL;
		}
	}
	return json_incref(document);
}
