/* SPDX-License-Identifier: MIT */
/*
 * Passes frames between a link of a network namespace and a machine, through a tap in that
 * namespace. A filter on the link sends each incoming frame out of the tap. A filter on the tap
 * sends each frame out of the link. The filters are built from an ingress qdisc, u32 and mirred,
 * since not every kernel has matchall or flower. The host's kernel gets no frame that comes to the
 * link, so the kernel answers no such frame. The link keeps its addresses, since CNI looks for them
 * there.
 */
#ifndef OCI_NET_TAP_H
#define OCI_NET_TAP_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "oci/net/netns.h"

struct netns_tap {
	/* the tap's only queue, non-blocking; the tap ends when all copies of this descriptor are
	 * closed */
	int fd;
	char name[IFNAMSIZ]; /* the tap's name: "ma0", "ma1", ... */
	char link[IFNAMSIZ];
};

struct netns_taps {
	size_t ntaps;
	struct netns_tap taps[NETNS_LINKS_MAX];
};

/* Makes a tap for each link of `netns`, in the network namespace of this process. out->taps has the
 * order of netns->links. With vnet_hdr each frame begins with a struct virtio_net_hdr.
 * ERR_CONFLICT: a link has an ingress qdisc that another program uses. An ingress qdisc whose
 * filters lead only to a tap that no longer exists is replaced: it is left over from a machine
 * whose keeper was killed. */
int netns_taps_make(const struct netns *netns, bool vnet_hdr, struct netns_taps *out,
		    struct error *err);
/* Removes the taps and filters, so that frames to the links reach the host's kernel again. The
 * caller is in the namespace in which netns_taps_make() was called. The descriptor of a tap may be
 * -1 if the caller has closed it. It is no error if a link no longer exists. */
int netns_taps_remove(struct netns_taps *taps, struct error *err);

#endif
