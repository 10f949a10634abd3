/* SPDX-License-Identifier: MIT */
#include "guest/init/acpi.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"

/* These values are from the file drivers/acpi/event.c of the kernel. No header that the kernel
 * gives to programs defines them. */
#define ACPI_FAMILY "acpi_event"
#define ACPI_GROUP "acpi_mc_group"
#define ACPI_ATTR_EVENT 1
#define ACPI_EVENT_CLASS 20 /* the size in bytes of the device class, with which an event begins */
static const char power_button[ACPI_EVENT_CLASS] = "button/power";

/* The attributes of a netlink message that were not read yet. */
struct attrs {
	const uint8_t *at;
	size_t left;
};

struct attr {
	uint16_t type;
	const uint8_t *data;
	size_t len;
};

static bool next_attr(struct attrs *attrs, struct attr *out)
{
	struct nlattr head;
	size_t whole;

	if (attrs->left < sizeof(head))
		return false;
	memcpy(&head, attrs->at, sizeof(head));
	if (head.nla_len < sizeof(head) || head.nla_len > attrs->left)
		return false;
	*out = (struct attr){
		.type = head.nla_type & NLA_TYPE_MASK,
		.data = attrs->at + sizeof(head),
		.len = head.nla_len - sizeof(head),
	};
	whole = NLA_ALIGN(head.nla_len);
	if (whole > attrs->left)
		whole = attrs->left;
	attrs->at += whole;
	attrs->left -= whole;
	return true;
}

/* Finds the type and the attributes of the first generic netlink message. Returns false if fewer
 * bytes than the message's length were received. */
static bool open_message(const void *message, size_t len, uint16_t *type, struct attrs *out)
{
	const size_t heads = NLMSG_HDRLEN + GENL_HDRLEN;
	struct nlmsghdr head;

	if (len < heads)
		return false;
	memcpy(&head, message, sizeof(head));
	if (head.nlmsg_len < heads || head.nlmsg_len > len)
		return false;
	*type = head.nlmsg_type;
	*out = (struct attrs){(const uint8_t *)message + heads, head.nlmsg_len - heads};
	return true;
}

static bool read_group(struct attrs group, uint32_t *number)
{
	bool named = false;
	struct attr a;

	*number = 0;
	while (next_attr(&group, &a)) {
		if (a.type == CTRL_ATTR_MCAST_GRP_NAME)
			named = a.len == sizeof(ACPI_GROUP) &&
				memcmp(a.data, ACPI_GROUP, a.len) == 0;
		else if (a.type == CTRL_ATTR_MCAST_GRP_ID && a.len == sizeof(*number))
			memcpy(number, a.data, sizeof(*number));
	}
	return named && *number > 0 && *number <= INT32_MAX;
}

int acpi_parse_group(const void *reply, size_t len, struct error *err)
{
	struct attrs attrs, groups;
	struct attr a, group;
	uint32_t number;
	uint16_t type;

	if (!open_message(reply, len, &type, &attrs) || type == NLMSG_ERROR)
		return error_set(
			err, ERR_NOT_FOUND,
			"the guest's kernel does not report ACPI events, so the host cannot press the power button of the machine: choose a kernel that has ACPI");
	while (next_attr(&attrs, &a)) {
		if (a.type != CTRL_ATTR_MCAST_GROUPS)
			continue;
		groups = (struct attrs){a.data, a.len};
		while (next_attr(&groups, &group))
			if (read_group((struct attrs){group.data, group.len}, &number))
				return (int)number;
	}
	return error_set(
		err, ERR_NOT_FOUND,
		"the guest's kernel does not report ACPI events, so the host cannot press the power button of the machine: choose a kernel that has ACPI");
}

bool acpi_parse_button(const void *message, size_t len)
{
	struct attrs attrs;
	struct attr a;
	uint16_t type;

	if (!open_message(message, len, &type, &attrs) || type < NLMSG_MIN_TYPE)
		return false;
	while (next_attr(&attrs, &a))
		if (a.type == ACPI_ATTR_EVENT && a.len >= ACPI_EVENT_CLASS &&
		    memcmp(a.data, power_button, ACPI_EVENT_CLASS) == 0)
			return true;
	return false;
}

static int ask_for_family(int fd, struct error *err)
{
	struct {
		struct nlmsghdr head;
		struct genlmsghdr generic;
		struct nlattr attr;
		char name[NLA_ALIGN(sizeof(ACPI_FAMILY))];
	} ask = {
		.head = {.nlmsg_len = sizeof(ask),
			 .nlmsg_type = GENL_ID_CTRL,
			 .nlmsg_flags = NLM_F_REQUEST},
		.generic = {.cmd = CTRL_CMD_GETFAMILY, .version = 1},
		.attr = {.nla_len = NLA_HDRLEN + sizeof(ACPI_FAMILY),
			 .nla_type = CTRL_ATTR_FAMILY_NAME},
		.name = ACPI_FAMILY,
	};

	if (send(fd, &ask, sizeof(ask), 0) < 0)
		return error_errno(err, errno, "cannot ask for ACPI events");
	return 0;
}

int acpi_open(struct error *err)
{
	struct sockaddr_nl addr = {.nl_family = AF_NETLINK};
	uint8_t reply[4096];

	autoclose int fd =
		socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_GENERIC);
	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		return error_errno(err, errno, "cannot listen for ACPI events");
	if (ask_for_family(fd, err) < 0)
		return -1;
	/* When send() returns, the kernel has already queued its answer. */
	ssize_t n = recv(fd, reply, sizeof(reply), 0);
	if (n < 0)
		return error_errno(err, errno, "cannot ask for ACPI events");
	int group = acpi_parse_group(reply, (size_t)n, err);
	if (group < 0)
		return -1;
	if (setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)) < 0)
		return error_errno(err, errno, "cannot listen for ACPI events");
	return steal_fd(&fd);
}

bool acpi_button_pressed(int fd)
{
	uint8_t message[4096];
	bool pressed = false;
	ssize_t n;

	while ((n = recv(fd, message, sizeof(message), 0)) > 0)
		if (acpi_parse_button(message, (size_t)n))
			pressed = true;
	return pressed;
}
