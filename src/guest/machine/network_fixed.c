/* SPDX-License-Identifier: MIT */
#include "guest/machine/network_fixed.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/ip.h"
#include "base/json.h"
#include "base/mac.h"
#include "base/platform/linux/netlink.h"

#define PATH 64

struct fixed_card {
	int fd; /* the netlink socket */
	unsigned index;
	char path[PATH]; /* the path of `object` in the config, for messages */
	char name[IFNAMSIZ];
	json_t *object;
};

/* --- reading --------------------------------------------------------------------------------- */

static int refuse_value(const char *path, const char *key, const char *what, struct error *err)
{
	return error_set(err, ERR_INVALID, "%s.%s is %s", path, key, what);
}

static int get_ip(json_t *object, const char *path, const char *key, enum json_need need,
		  struct ip *out, struct error *err)
{
	const char *text = NULL;

	if (json_get_string(object, path, key, need, &text, err) < 0)
		return -1;
	return !text || ip_parse(text, out) ? 0 : refuse_value(path, key, "not an IP address", err);
}

static int get_mac(json_t *object, const char *path, uint8_t out[MAC_BYTES], struct error *err)
{
	const char *text = NULL;

	if (json_get_string(object, path, "mac", JSON_REQUIRED, &text, err) < 0)
		return -1;
	return mac_parse(text, out) ? 0 : refuse_value(path, "mac", "not a MAC address", err);
}

static int get_u32(json_t *object, const char *path, const char *key, uint32_t *out,
		   struct error *err)
{
	int64_t value = *out;

	if (json_get_int(object, path, key, JSON_OPTIONAL, 0, UINT32_MAX, &value, err) < 0)
		return -1;
	*out = (uint32_t)value;
	return 0;
}

/* --- the card -------------------------------------------------------------------------------- */

struct search {
	uint8_t mac[MAC_BYTES];
	unsigned index;
	char name[IFNAMSIZ];
};

static int look_at_link(void *data, const struct netlink_reply *reply, struct error *err)
{
	struct search *search = data;
	struct netlink_bytes attributes, mac, name;
	struct ifinfomsg head;

	(void)err;
	if (search->index || reply->type != RTM_NEWLINK ||
	    !netlink_head(reply->body, &head, sizeof(head), &attributes) || head.ifi_index <= 0 ||
	    !netlink_attribute(attributes, IFLA_ADDRESS, &mac) || mac.len != MAC_BYTES ||
	    memcmp(mac.data, search->mac, MAC_BYTES) != 0 ||
	    !netlink_attribute(attributes, IFLA_IFNAME, &name) || name.len > IFNAMSIZ)
		return 0;
	search->index = (unsigned)head.ifi_index;
	memcpy(search->name, name.data, name.len);
	search->name[IFNAMSIZ - 1] = '\0';
	return 0;
}

static void begin_card_change(struct netlink_message *message, const struct fixed_card *card,
			      unsigned flags, unsigned change)
{
	const struct ifinfomsg head = {
		.ifi_index = (int)card->index, .ifi_flags = flags, .ifi_change = change};

	netlink_begin(message, RTM_NEWLINK, 0, &head, sizeof(head));
}

/* Renames a card. First switches the card off, since the kernel renames only a card that is off. */
static int rename_card(const struct fixed_card *card, const char *name, struct error *err)
{
	struct netlink_message message;

	begin_card_change(&message, card, 0, IFF_UP);
	if (netlink_request(card->fd, &message, err) < 0)
		return error_prefix(
			err,
			"%s: the guest's network card cannot be switched off, which the kernel requires before the card is renamed",
			card->path);
	begin_card_change(&message, card, 0, 0);
	netlink_put_string(&message, IFLA_IFNAME, name);
	if (netlink_request(card->fd, &message, err) < 0)
		return error_prefix(err, "%s.name", card->path);
	return 0;
}

/* Finds the card that has the MAC address. If the card has another name than the wanted one, first
 * renames it to "card-N", since its present name may be the wanted name of another card. */
static int find_fixed_card(struct fixed_card *card, struct error *err)
{
	const struct ifinfomsg all = {.ifi_family = AF_UNSPEC};
	struct netlink_message message;
	struct search search = {0};
	const char *name = NULL;
	char between[IFNAMSIZ];

	if (get_mac(card->object, card->path, search.mac, err) < 0 ||
	    json_get_string(card->object, card->path, "name", JSON_REQUIRED, &name, err) < 0)
		return -1;
	if (!*name || strlen(name) >= IFNAMSIZ)
		return refuse_value(card->path, "name", "not the name of an interface", err);
	netlink_begin(&message, RTM_GETLINK, 0, &all, sizeof(all));
	if (netlink_dump(card->fd, &message, look_at_link, &search, err) < 0)
		return error_prefix(err, "%s: the guest's network cards cannot be listed",
				    card->path);
	if (!search.index)
		return error_set(
			err, ERR_NOT_FOUND,
			"%s: no network card of the machine has this MAC address: name the address of one that it has",
			card->path);
	card->index = search.index;
	memcpy(card->name, name, strlen(name) + 1);
	snprintf(between, sizeof(between), "card-%u", card->index);
	return strcmp(search.name, name) == 0 ? 0 : rename_card(card, between, err);
}

static int raise_card(const struct fixed_card *card, struct error *err)
{
	struct netlink_message message;
	char name[IFNAMSIZ] = "";
	uint32_t mtu = 0;

	if (get_u32(card->object, card->path, "mtu", &mtu, err) < 0)
		return -1;
	(void)if_indextoname(card->index, name);
	if (strcmp(name, card->name) != 0 && rename_card(card, card->name, err) < 0)
		return -1;
	begin_card_change(&message, card, IFF_UP, IFF_UP);
	if (mtu)
		netlink_put_u32(&message, IFLA_MTU, mtu);
	if (netlink_request(card->fd, &message, err) < 0)
		return error_prefix(
			err, "%s: the guest's network card cannot be brought up with an MTU of %u",
			card->path, mtu);
	return 0;
}

/* --- addresses ------------------------------------------------------------------------------- */

static int add_card_address(const struct fixed_card *card, json_t *item, const char *path,
			    struct error *err)
{
	const char *text = json_string_value(item);
	struct netlink_message message;
	uint32_t address;
	unsigned bits;
	struct ip ip;

	if (!text || !ip_parse_prefix(text, &ip, &bits))
		return error_set(
			err, ERR_INVALID,
			"%s must be an address with the length of its prefix, like 10.0.0.2/24",
			path);
	bool link_local4 = ip.family == AF_INET && ip.bytes[0] == 169 && ip.bytes[1] == 254;
	const struct ifaddrmsg head = {.ifa_family = ip.family,
				       .ifa_prefixlen = (uint8_t)bits,
				       .ifa_scope = link_local4 ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE,
				       .ifa_index = card->index};
	netlink_begin(&message, RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE, &head, sizeof(head));
	netlink_put(&message, IFA_LOCAL, ip.bytes, ip_length(ip.family));
	netlink_put(&message, IFA_ADDRESS, ip.bytes, ip_length(ip.family));
	if (ip.family == AF_INET && bits <= 30) {
		memcpy(&address, ip.bytes, sizeof(address));
		netlink_put_u32(&message, IFA_BROADCAST, address | htonl(UINT32_MAX >> bits));
	}
	netlink_put_u32(&message, IFA_FLAGS,
			IFA_F_NOPREFIXROUTE | (ip.family == AF_INET6 ? IFA_F_NODAD : 0));
	return netlink_request(card->fd, &message, err) < 0 ? error_prefix(err, "%s", path) : 0;
}

/* --- routes ---------------------------------------------------------------------------------- */

struct fixed_route {
	struct ip to, via, source;
	unsigned bits;
	bool link, onlink;
	uint32_t metric, mtu;
};

static int decode_fixed_route(json_t *object, const char *path, struct fixed_route *out,
			      struct error *err)
{
	struct fixed_route route = {0};
	const char *to = NULL, *scope = NULL;

	if (json_get_string(object, path, "to", JSON_REQUIRED, &to, err) < 0 ||
	    json_get_string(object, path, "scope", JSON_OPTIONAL, &scope, err) < 0 ||
	    get_ip(object, path, "via", JSON_OPTIONAL, &route.via, err) < 0 ||
	    get_ip(object, path, "source", JSON_OPTIONAL, &route.source, err) < 0)
		return -1;
	if (json_get_bool(object, path, "onlink", JSON_OPTIONAL, &route.onlink, err) < 0 ||
	    get_u32(object, path, "metric", &route.metric, err) < 0 ||
	    get_u32(object, path, "mtu", &route.mtu, err) < 0)
		return -1;
	if (!ip_parse_prefix(to, &route.to, &route.bits))
		return refuse_value(path, "to", "not a prefix", err);
	if (scope && strcmp(scope, "link") != 0)
		return refuse_value(path, "scope", "not known", err);
	if (route.source.family && route.source.family != route.to.family)
		return refuse_value(path, "source", "not of the same address family as \"to\"",
				    err);
	route.link = scope;
	*out = route;
	return 0;
}

static void make_route_message(struct netlink_message *message, const struct fixed_card *card,
			       const struct fixed_route *route)
{
	const struct rtmsg head = {.rtm_family = route->to.family,
				   .rtm_dst_len = (uint8_t)route->bits,
				   .rtm_table = RT_TABLE_MAIN,
				   .rtm_protocol = RTPROT_STATIC,
				   .rtm_scope = route->link ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE,
				   .rtm_type = RTN_UNICAST,
				   .rtm_flags = route->onlink ? RTNH_F_ONLINK : 0};
	struct {
		uint16_t family;
		uint8_t bytes[IP_BYTES];
	} via = {.family = route->via.family};
	size_t len = ip_length(route->to.family), via_len = ip_length(route->via.family);

	netlink_begin(message, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, &head, sizeof(head));
	if (route->bits)
		netlink_put(message, RTA_DST, route->to.bytes, len);
	if (route->via.family == route->to.family) {
		netlink_put(message, RTA_GATEWAY, route->via.bytes, via_len);
	} else if (via_len) {
		memcpy(via.bytes, route->via.bytes, via_len);
		netlink_put(message, RTA_VIA, &via, sizeof(via.family) + via_len);
	}
	if (route->source.family)
		netlink_put(message, RTA_PREFSRC, route->source.bytes, len);
	if (route->metric)
		netlink_put_u32(message, RTA_PRIORITY, route->metric);
	netlink_put_u32(message, RTA_OIF, card->index);
	if (route->mtu) {
		size_t metrics = netlink_nest(message, RTA_METRICS);

		netlink_put_u32(message, RTAX_MTU, route->mtu);
		netlink_nest_end(message, metrics);
	}
}

/* If `through_gateway` is true, adds the route if it has a gateway. If `through_gateway` is false,
 * adds the route if it has no gateway. The caller must add the routes without a gateway first,
 * since the kernel refuses a gateway that cannot be reached yet. */
static int add_card_route(const struct fixed_card *card, json_t *item, const char *path,
			  bool through_gateway, struct error *err)
{
	struct netlink_message message;
	struct fixed_route route;
	struct error why = {0};

	if (decode_fixed_route(item, path, &route, err) < 0)
		return -1;
	if ((route.via.family != 0) != through_gateway)
		return 0;
	make_route_message(&message, card, &route);
	if (netlink_request(card->fd, &message, &why) == 0 || why.errnum == EEXIST)
		return 0;
	error_copy(err, &why);
	return error_prefix(err, "%s", path);
}

static int add_direct_route(const struct fixed_card *card, json_t *item, const char *path,
			    struct error *err)
{
	return add_card_route(card, item, path, false, err);
}

static int add_gateway_route(const struct fixed_card *card, json_t *item, const char *path,
			     struct error *err)
{
	return add_card_route(card, item, path, true, err);
}

/* --- neighbours ------------------------------------------------------------------------------ */

static int add_card_neighbour(const struct fixed_card *card, json_t *item, const char *path,
			      struct error *err)
{
	struct netlink_message message;
	struct ip ip = {0};
	uint8_t mac[MAC_BYTES];

	if (get_ip(item, path, "address", JSON_REQUIRED, &ip, err) < 0 ||
	    get_mac(item, path, mac, err) < 0)
		return -1;
	const struct ndmsg head = {.ndm_family = ip.family,
				   .ndm_ifindex = (int)card->index,
				   .ndm_state = NUD_PERMANENT};
	netlink_begin(&message, RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, &head, sizeof(head));
	netlink_put(&message, NDA_DST, ip.bytes, ip_length(ip.family));
	netlink_put(&message, NDA_LLADDR, mac, sizeof(mac));
	return netlink_request(card->fd, &message, err) < 0 ? error_prefix(err, "%s", path) : 0;
}

/* --- all of it ------------------------------------------------------------------------------- */

typedef int add_fn(const struct fixed_card *, json_t *, const char *, struct error *);

static int add_each(const struct fixed_card *card, const char *key, add_fn *add, struct error *err)
{
	json_t *list = NULL;

	if (json_get_array(card->object, card->path, key, JSON_OPTIONAL, &list, err) < 0)
		return -1;
	for (size_t i = 0; i < json_array_size(list); i++) {
		char path[2 * PATH];

		snprintf(path, sizeof(path), "%s.%s[%zu]", card->path, key, i);
		if (add(card, json_array_get(list, i), path, err) < 0)
			return -1;
	}
	return 0;
}

int network_fixed_apply(json_t *network, struct error *err)
{
	struct fixed_card cards[NETWORK_FIXED_MAX];
	json_t *list = NULL;

	if (json_get_array(network, "network", "interfaces", JSON_REQUIRED, &list, err) < 0)
		return -1;
	size_t count = json_array_size(list);
	if (count > NETWORK_FIXED_MAX)
		return error_set(err, ERR_INVALID,
				 "network.interfaces may have at most %d entries: give fewer",
				 NETWORK_FIXED_MAX);
	autoclose int fd = netlink_open(NETLINK_ROUTE, err);
	if (fd < 0)
		return error_prefix(err, "network");
	for (size_t i = 0; i < count; i++) {
		cards[i] = (struct fixed_card){.fd = fd, .object = json_array_get(list, i)};
		snprintf(cards[i].path, PATH, "network.interfaces[%zu]", i);
		if (find_fixed_card(&cards[i], err) < 0)
			return -1;
	}
	for (size_t i = 0; i < count; i++)
		if (raise_card(&cards[i], err) < 0 ||
		    add_each(&cards[i], "addresses", add_card_address, err) < 0 ||
		    add_each(&cards[i], "routes", add_direct_route, err) < 0 ||
		    add_each(&cards[i], "routes", add_gateway_route, err) < 0 ||
		    add_each(&cards[i], "neighbours", add_card_neighbour, err) < 0)
			return -1;
	return 0;
}
