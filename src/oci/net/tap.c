/* SPDX-License-Identifier: MIT */
#include "oci/net/tap.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/if_tun.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/tc_act/tc_mirred.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/platform/linux/netlink.h"

#define TUN "/dev/net/tun"
#define PRIORITY 1

/* --- the tap --------------------------------------------------------------------------------- */

static void begin_link_change(struct netlink_message *message, unsigned index, unsigned flags)
{
	const struct ifinfomsg head = {
		.ifi_index = (int)index, .ifi_flags = flags, .ifi_change = flags};

	netlink_begin(message, RTM_NEWLINK, 0, &head, sizeof(head));
}

/* Keeps the tap silent: the namespace's kernel must not give the tap an IPv6 address, since the
 * kernel would then send frames of its own to the guest. A kernel without IPv6 returns an error,
 * which is ignored: such a kernel gives no IPv6 address. */
static int silence_tap(int fd, unsigned index, struct error *err)
{
	const uint8_t none = IN6_ADDR_GEN_MODE_NONE;
	struct netlink_message message;
	struct error why = {0};

	begin_link_change(&message, index, 0);
	size_t families = netlink_nest(&message, IFLA_AF_SPEC);
	size_t ipv6 = netlink_nest(&message, AF_INET6);
	netlink_put(&message, IFLA_INET6_ADDR_GEN_MODE, &none, sizeof(none));
	netlink_nest_end(&message, ipv6);
	netlink_nest_end(&message, families);
	if (netlink_request(fd, &message, &why) == 0 || why.errnum == EAFNOSUPPORT ||
	    why.errnum == EOPNOTSUPP)
		return 0;
	return error_copy(err, &why);
}

/* --- the redirect ---------------------------------------------------------------------------- */

static void begin_qdisc(struct netlink_message *message, uint16_t type, uint16_t flags,
			unsigned index)
{
	const struct tcmsg head = {.tcm_ifindex = (int)index,
				   .tcm_handle = TC_H_MAKE(TC_H_INGRESS, 0),
				   .tcm_parent = TC_H_INGRESS};

	netlink_begin(message, type, flags, &head, sizeof(head));
	netlink_put_string(message, TCA_KIND, "ingress");
}

static int add_qdisc(int fd, unsigned index, struct error *err)
{
	struct netlink_message message;

	begin_qdisc(&message, RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL, index);
	if (netlink_request(fd, &message, err) == 0)
		return 0;
	if (err && err->errnum == EEXIST)
		return error_set(
			err, ERR_CONFLICT,
			"another program has already made an ingress qdisc on this link: remove it (tc qdisc del dev LINK ingress)");
	return -1;
}

static int remove_qdisc(int fd, unsigned index, struct error *err)
{
	struct netlink_message message;

	begin_qdisc(&message, RTM_DELQDISC, 0, index);
	return netlink_request(fd, &message, err);
}

/* --- filters of a machine whose keeper was killed -------------------------------------------- */

struct found {
	unsigned dead, others;
};

/* Returns true if the filter redirects to a device that no longer exists. The kernel shows such a
 * device as index 0. */
static bool leads_nowhere(struct netlink_bytes options)
{
	struct netlink_bytes actions, action, kind, inner, parameters;
	struct tc_mirred redirect;

	if (!netlink_attribute(options, TCA_U32_ACT, &actions) ||
	    !netlink_attribute(actions, 1, &action) ||
	    !netlink_attribute(action, TCA_ACT_KIND, &kind) || kind.len != sizeof("mirred") ||
	    memcmp(kind.data, "mirred", kind.len) != 0 ||
	    !netlink_attribute(action, TCA_ACT_OPTIONS, &inner) ||
	    !netlink_attribute(inner, TCA_MIRRED_PARMS, &parameters) ||
	    parameters.len != sizeof(redirect))
		return false;
	memcpy(&redirect, parameters.data, sizeof(redirect));
	return redirect.eaction == TCA_EGRESS_REDIR && redirect.ifindex == 0;
}

/* Counts a filter. The kernel also lists entries that only hold filters. Such entries have only a
 * kind, or a table, and are skipped. */
static int take_filter(void *data, const struct netlink_reply *reply, struct error *err)
{
	struct netlink_bytes attributes, kind, options, unused;
	struct found *found = data;
	struct tcmsg head;

	(void)err;
	if (reply->type != RTM_NEWTFILTER ||
	    !netlink_head(reply->body, &head, sizeof(head), &attributes) ||
	    !netlink_attribute(attributes, TCA_KIND, &kind))
		return 0;
	if (kind.len != sizeof("u32") || memcmp(kind.data, "u32", kind.len) != 0)
		found->others++;
	else if (netlink_attribute(attributes, TCA_OPTIONS, &options) &&
		 netlink_attribute(options, TCA_U32_SEL, &unused))
		(*(leads_nowhere(options) ? &found->dead : &found->others))++;
	return 0;
}

/* Returns true if all filters of the link are left over from a machine whose keeper was killed. The
 * tap of that machine no longer exists, so these filters drop all frames that come to the link. */
static bool is_left_over(int fd, unsigned index)
{
	const struct tcmsg head = {.tcm_ifindex = (int)index,
				   .tcm_parent = TC_H_MAKE(TC_H_INGRESS, 0)};
	struct netlink_message message;
	struct found found = {0};

	netlink_begin(&message, RTM_GETTFILTER, 0, &head, sizeof(head));
	return netlink_dump(fd, &message, take_filter, &found, NULL) == 0 && found.dead > 0 &&
	       found.others == 0;
}

static int add_link_qdisc(int fd, unsigned index, struct error *err)
{
	struct error why = {0};

	if (add_qdisc(fd, index, &why) == 0)
		return 0;
	if (why.code != ERR_CONFLICT || !is_left_over(fd, index))
		return error_copy(err, &why);
	return remove_qdisc(fd, index, err) < 0 ? -1 : add_qdisc(fd, index, err);
}

/* Adds a redirect that has no keys, so it matches every frame. A key for all values (tc's `match
 * u32 0 0`) would not match every frame: such a key reads four bytes, and a frame that is shorter
 * would go to the namespace's kernel. */
static int add_redirect(int fd, unsigned from, unsigned to, struct error *err)
{
	const struct tc_mirred redirect = {
		.action = TC_ACT_STOLEN, .eaction = TCA_EGRESS_REDIR, .ifindex = to};
	const struct tc_u32_sel all = {.flags = TC_U32_TERMINAL};
	const struct tcmsg head = {.tcm_ifindex = (int)from,
				   .tcm_parent = TC_H_MAKE(TC_H_INGRESS, 0),
				   .tcm_info = TC_H_MAKE(PRIORITY << 16, htons(ETH_P_ALL))};
	struct netlink_message message;

	netlink_begin(&message, RTM_NEWTFILTER, NLM_F_CREATE | NLM_F_EXCL, &head, sizeof(head));
	netlink_put_string(&message, TCA_KIND, "u32");
	size_t options = netlink_nest(&message, TCA_OPTIONS);
	netlink_put(&message, TCA_U32_SEL, &all, sizeof(all));
	size_t actions = netlink_nest(&message, TCA_U32_ACT);
	size_t first = netlink_nest(&message, 1); /* the action's number in the order of actions */
	netlink_put_string(&message, TCA_ACT_KIND, "mirred");
	size_t parameters = netlink_nest(&message, TCA_ACT_OPTIONS | NLA_F_NESTED);
	netlink_put(&message, TCA_MIRRED_PARMS, &redirect, sizeof(redirect));
	netlink_nest_end(&message, parameters);
	netlink_nest_end(&message, first);
	netlink_nest_end(&message, actions);
	netlink_nest_end(&message, options);
	return netlink_request(fd, &message, err);
}

/* --- one link -------------------------------------------------------------------------------- */

/* Joins a link and its tap. After a failure *step names the failed step. The link is changed last,
 * so it stays unchanged if an earlier step fails. */
static int join_tap(int fd, const struct netns_tap *tap, const struct netns_link *link,
		    const char **step, struct error *err)
{
	unsigned index = if_nametoindex(tap->name);
	struct netlink_message message;

	*step = "make the tap silent";
	if (silence_tap(fd, index, err) < 0)
		return -1;
	*step = "the tap's MTU";
	begin_link_change(&message, index, 0);
	netlink_put_u32(&message, IFLA_MTU, link->mtu);
	if (netlink_request(fd, &message, err) < 0)
		return -1;
	*step = "the tap's ingress qdisc";
	if (add_qdisc(fd, index, err) < 0)
		return -1;
	*step = "the tap's redirect (u32, mirred)";
	if (add_redirect(fd, index, link->index, err) < 0)
		return -1;
	*step = "bring up the tap";
	begin_link_change(&message, index, IFF_UP);
	if (netlink_request(fd, &message, err) < 0)
		return -1;
	*step = "the link's ingress qdisc";
	if (add_link_qdisc(fd, link->index, err) < 0)
		return -1;
	*step = "the link's redirect (u32, mirred)";
	if (add_redirect(fd, link->index, index, err) == 0)
		return 0;
	(void)remove_qdisc(fd, link->index, NULL);
	return -1;
}

static int make_netns_tap(int fd, unsigned number, const struct netns_link *link, bool vnet_hdr,
			  struct netns_tap *out, struct error *err)
{
	struct netns_tap tap = {.fd = -1};
	struct ifreq request = {0};
	const char *step = NULL;
	struct error why = {0};

	snprintf(tap.name, IFNAMSIZ, "ma%u", number);
	memcpy(tap.link, link->name, IFNAMSIZ);
	autoclose int made = open(TUN, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (made < 0)
		return error_errno(err, errno, "network: " TUN);
	memcpy(request.ifr_name, tap.name, IFNAMSIZ);
	request.ifr_flags = (short)(IFF_TAP | IFF_NO_PI | (vnet_hdr ? IFF_VNET_HDR : 0));
	if (ioctl(made, TUNSETIFF, &request) < 0)
		return error_errno(err, errno, "network: %s: the tap %s", tap.link, tap.name);
	if (join_tap(fd, &tap, link, &step, &why) < 0) {
		error_copy(err, &why);
		return error_prefix(err, "network: %s: %s", link->name, step);
	}
	tap.fd = steal_fd(&made);
	*out = tap;
	return 0;
}

/* --- all links ------------------------------------------------------------------------------- */

int netns_taps_make(const struct netns *netns, bool vnet_hdr, struct netns_taps *out,
		    struct error *err)
{
	struct netns_taps taps = {0};
	autoclose int fd = netlink_open(NETLINK_ROUTE, err);

	if (fd < 0)
		return error_prefix(err, "network");
	for (size_t i = 0; i < netns->nlinks; i++) {
		if (make_netns_tap(fd, (unsigned)i, &netns->links[i], vnet_hdr, &taps.taps[i],
				   err) < 0) {
			(void)netns_taps_remove(&taps, NULL);
			return -1;
		}
		taps.ntaps++;
	}
	*out = taps;
	return 0;
}

/* Removes all taps. First removes the ingress qdisc of each link, which redirects the link's frames
 * to the tap. In the other order, frames would be lost in a tap that no longer exists. Goes on
 * after an error, and returns the last error. */
int netns_taps_remove(struct netns_taps *taps, struct error *err)
{
	autoclose int fd = netlink_open(NETLINK_ROUTE, err);
	int rc = fd < 0 ? error_prefix(err, "network") : 0;

	for (size_t i = 0; i < taps->ntaps; i++) {
		struct netns_tap *tap = &taps->taps[i];
		unsigned index = fd < 0 ? 0 : if_nametoindex(tap->link);
		struct error why = {0};

		if (index && remove_qdisc(fd, index, &why) < 0 && why.errnum != ENOENT &&
		    why.errnum != EINVAL && why.errnum != ENODEV) {
			error_copy(err, &why);
			rc = error_prefix(
				err, "network: the ingress qdisc of the link %s cannot be removed",
				tap->link);
		}
		if (tap->fd >= 0)
			close(steal_fd(&tap->fd));
	}
	taps->ntaps = 0;
	return rc;
}
