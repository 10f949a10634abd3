/* SPDX-License-Identifier: MIT */
/*
 * The way from a link of a network namespace to a machine and back: a tap in the same namespace. A
 * filter on the link sends each incoming frame out of the tap, and a filter on the tap sends each
 * frame out of the link. The filters are an ingress qdisc, u32 and mirred, since not every kernel
 * has matchall or flower. The host's kernel no longer gets the frames that are sent to the link, so
 * it answers no frame. The link keeps its addresses, since CNI looks for them on the link.
 */
#ifndef OCI_NET_TAP_H
#define OCI_NET_TAP_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "oci/net/netns.h"

struct netns_tap {
	int fd;		     /* the only queue, non-blocking; the tap ends with its last copy */
	char name[IFNAMSIZ]; /* "ma0", "ma1", ... */
	char link[IFNAMSIZ];
};

struct netns_taps {
	size_t ntaps;
	struct netns_tap taps[NETNS_LINKS_MAX];
};

/* Makes a tap for each link of `netns`, in the same order, in the network namespace of this
 * process. With vnet_hdr each frame begins with a struct virtio_net_hdr. ERR_CONFLICT: a link has
 * an ingress qdisc of another program, which this function would have to replace. A qdisc that
 * leads only to a tap that no longer exists (since the keeper of its machine was killed) is
 * replaced. */
int netns_taps_make(const struct netns *netns, bool vnet_hdr, struct netns_taps *out,
		    struct error *err);
/* Removes the taps and filters, in the namespace in which netns_taps_make() made them, so that
 * frames to the links reach the host's kernel again. The descriptor of a tap may be -1, if it was
 * closed or handed on before. It is no error if a link no longer exists. */
int netns_taps_remove(struct netns_taps *taps, struct error *err);

#endif
