/* SPDX-License-Identifier: MIT */
/*
 * The way from a link of a network namespace to a machine and back: a tap beside the link, and on
 * each of the two a filter on what comes in that sends it out of the other (an ingress qdisc, u32
 * and mirred; not every kernel has matchall or flower). The namespace's own kernel hears nothing of
 * what is sent to the link any more, and so answers nothing, though the link keeps its addresses:
 * CNI looks for them there.
 */
#ifndef OCI_NET_TAP_H
#define OCI_NET_TAP_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "oci/net/netns.h"

struct netns_tap {
	int fd; /* of its one queue, non-blocking; the tap vanishes with the last copy */
	char name[IFNAMSIZ]; /* "ma0", "ma1", ... */
	char link[IFNAMSIZ];
};

struct netns_taps {
	size_t ntaps;
	struct netns_tap taps[NETNS_LINKS_MAX];
};

/* In the namespace that the caller is in, a tap for each link of netns, in their order. vnet_hdr:
 * with a struct virtio_net_hdr in front of each frame. A link that has such a qdisc of somebody
 * else's is ERR_CONFLICT: what it does would be undone. One that leads to a tap that is gone alone,
 * of a machine whose keeper was killed, is replaced. */
int netns_taps_make(const struct netns *netns, bool vnet_hdr, struct netns_taps *out,
		    struct error *err);
/* Takes all of it away, in that same namespace: what is sent to the links is its kernel's again.
 * Descriptors that are -1 were closed, or handed on, before. A link that is gone is none to fail
 * of. */
int netns_taps_remove(struct netns_taps *taps, struct error *err);

#endif
