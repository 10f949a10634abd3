/* SPDX-License-Identifier: MIT */
/*
 * The way from a link of a network namespace to a machine and back: a tap beside the link. On the
 * link and on the tap, a filter sends each incoming frame out of the other one (an ingress qdisc,
 * u32 and mirred; not every kernel has matchall or flower). The namespace's own kernel no longer
 * hears what is sent to the link, so it answers nothing, though the link keeps its addresses: CNI
 * looks for them there.
 */
#ifndef OCI_NET_TAP_H
#define OCI_NET_TAP_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "oci/net/netns.h"

struct netns_tap {
	int fd;		     /* its only queue, non-blocking; the tap ends with the last copy */
	char name[IFNAMSIZ]; /* "ma0", "ma1", ... */
	char link[IFNAMSIZ];
};

struct netns_taps {
	size_t ntaps;
	struct netns_tap taps[NETNS_LINKS_MAX];
};

/* Makes a tap for each link of netns, in their order, in the caller's namespace. With vnet_hdr each
 * frame begins with a struct virtio_net_hdr. Fails with ERR_CONFLICT if a link has an ingress qdisc
 * of another program, whose effect would be undone. A qdisc that leads only to a tap that no longer
 * exists (its machine's keeper was killed) is replaced. */
int netns_taps_make(const struct netns *netns, bool vnet_hdr, struct netns_taps *out,
		    struct error *err);
/* Removes the taps and filters, in the same namespace: frames to the links then reach the
 * namespace's kernel again. A descriptor that is -1 was closed or handed on before. A link that no
 * longer exists is no failure. */
int netns_taps_remove(struct netns_taps *taps, struct error *err);

#endif
