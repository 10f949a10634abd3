/* SPDX-License-Identifier: MIT */
/* A datagram of rtnetlink. Whatever it contains, the data that is read of a namespace stays within
 * its bounds, and becomes a document with valid addresses. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "oci/net/netns.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool what)
{
	if (!what)
		abort();
}

static void check_prefix(const char *text)
{
	unsigned bits;
	struct ip ip;

	require(text && ip_parse_prefix(text, &ip, &bits));
}

static void check_interface(const json_t *interface)
{
	const json_t *addresses = json_object_get(interface, "addresses");
	const json_t *routes = json_object_get(interface, "routes");

	require(json_array_size(addresses) > 0);
	for (size_t i = 0; i < json_array_size(addresses); i++)
		check_prefix(json_string_value(json_array_get(addresses, i)));
	for (size_t i = 0; i < json_array_size(routes); i++)
		check_prefix(json_text(json_array_get(routes, i), "to", NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct netns netns;
	struct error err = {0};

	memset(&netns, 0, sizeof(netns));
	if (netlink_take((struct netlink_bytes){data, size}, 0, netns_take, &netns, &err) < 0)
		require(err.msg[0]);
	if (netns_settle(&netns, &err) < 0)
		return 0;
	json_auto_t *document = netns_document(&netns, &err);
	if (!document) {
		require(strstr(err.msg, "name is not valid UTF-8"));
		return 0;
	}
	const json_t *list = json_object_get(document, "interfaces");
	require(json_array_size(list) == netns.nlinks);
	for (size_t i = 0; i < netns.nlinks; i++)
		check_interface(json_array_get(list, i));
	return 0;
}
