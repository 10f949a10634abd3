/* SPDX-License-Identifier: MIT */
#include "guest/machine/dhcp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if.h>
#include <linux/sockios.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/limits.h"

enum {
	HEADER = 240, /* the number of bytes before the options, including the cookie */
	OPTION_PAD = 0,
	OPTION_NETMASK = 1,
	OPTION_ROUTER = 3,
	OPTION_DNS = 6,
	OPTION_MTU = 26,
	OPTION_ADDRESS = 50,
	OPTION_KIND = 53,
	OPTION_SERVER = 54,
	OPTION_WANTED = 55,
	OPTION_END = 255,
	SERVER_PORT = 67,
	CLIENT_PORT = 68,
	MTU_MIN = 576
};

static const uint8_t cookie[4] = {99, 130, 83, 99};

/* --- messages -------------------------------------------------------------------------------- */

static size_t put_option(uint8_t *out, uint8_t option, const void *value, uint8_t len)
{
	out[0] = option;
	out[1] = len;
	memcpy(out + 2, value, len);
	return 2 + (size_t)len;
}

size_t dhcp_make(uint8_t out[DHCP_MESSAGE_MAX], enum dhcp_kind kind, uint32_t transaction,
		 const uint8_t mac[6], const struct dhcp_answer *offer)
{
	static const uint8_t wanted[] = {OPTION_NETMASK, OPTION_ROUTER, OPTION_DNS, OPTION_MTU};
	const uint8_t kind_byte = (uint8_t)kind;
	size_t len = HEADER;

	memset(out, 0, DHCP_MESSAGE_MAX);
	out[0] = 1; /* the operation of the message: 1 is a request */
	out[1] = 1; /* the type of hardware: 1 is Ethernet */
	out[2] = 6;
	memcpy(out + 4, &transaction, 4);
	out[10] = 0x80; /* asks for a broadcast answer, since the guest has no address */
	memcpy(out + 28, mac, 6);
	memcpy(out + 236, cookie, 4);
	len += put_option(out + len, OPTION_KIND, &kind_byte, 1);
	if (offer) {
		len += put_option(out + len, OPTION_ADDRESS, &offer->network.address, 4);
		len += put_option(out + len, OPTION_SERVER, &offer->server, 4);
	}
	len += put_option(out + len, OPTION_WANTED, wanted, sizeof(wanted));
	out[len++] = OPTION_END;
	return len < 300 ? 300 : len; /* old servers do not accept a shorter message */
}

static void read_address_list(const uint8_t *value, size_t len, struct in_addr *out, size_t max,
			      size_t *count)
{
	for (*count = 0; *count < max && (*count + 1) * 4 <= len; ++*count)
		memcpy(&out[*count], value + *count * 4, 4);
}

static void read_option(uint8_t option, const uint8_t *value, size_t len, struct dhcp_answer *out)
{
	struct network *n = &out->network;
	size_t count;

	switch (option) {
	case OPTION_KIND:
		out->kind = len == 1 ? value[0] : 0;
		break;
	case OPTION_NETMASK:
		read_address_list(value, len, &n->netmask, 1, &count);
		break;
	case OPTION_ROUTER:
		read_address_list(value, len, &n->gateway, 1, &count);
		break;
	case OPTION_SERVER:
		read_address_list(value, len, &out->server, 1, &count);
		break;
	case OPTION_DNS:
		read_address_list(value, len, n->dns, NETWORK_DNS_MAX, &n->ndns);
		break;
	case OPTION_MTU:
		n->mtu = len == 2 ? (unsigned)value[0] << 8 | value[1] : 0;
		n->mtu = n->mtu < MTU_MIN ? 0 : n->mtu;
		break;
	}
}

/* Returns true if the mask is one or more 1 bits that only 0 bits follow. */
static bool is_mask(struct in_addr mask)
{
	uint32_t inverse = ~ntohl(mask.s_addr);

	return mask.s_addr && (inverse & (inverse + 1)) == 0;
}

int dhcp_read(const uint8_t *bytes, size_t len, uint32_t transaction, const uint8_t mac[6],
	      struct dhcp_answer *out, struct error *err)
{
	const uint8_t *at, *end = bytes + len;
	struct dhcp_answer answer = {0};

	if (len < HEADER || bytes[0] != 2 || bytes[1] != 1 || bytes[2] != 6 ||
	    memcmp(bytes + 4, &transaction, 4) != 0 || memcmp(bytes + 28, mac, 6) != 0 ||
	    memcmp(bytes + 236, cookie, 4) != 0)
		return error_set(
			err, ERR_INVALID,
			"a packet of the network is not an answer to the guest's DHCP request: check the DHCP server of the network");
	memcpy(&answer.network.address, bytes + 16, 4);
	at = bytes + HEADER;
	while (at < end && *at != OPTION_END) {
		if (*at == OPTION_PAD) {
			at++;
			continue;
		}
		if (end - at < 2 || end - at - 2 < at[1])
			return error_set(
				err, ERR_INVALID,
				"the answer of the network's DHCP server is malformed, because an option reaches past its end: check that server");
		read_option(at[0], at + 2, at[1], &answer);
		at += 2 + at[1];
	}
	if (answer.kind != DHCP_OFFER && answer.kind != DHCP_ACK && answer.kind != DHCP_NAK)
		return error_set(
			err, ERR_INVALID,
			"the answer of the network's DHCP server is malformed, because it is neither an offer nor an acknowledgement nor a refusal: check that server");
	if (answer.kind != DHCP_NAK &&
	    (!answer.network.address.s_addr || !is_mask(answer.network.netmask)))
		return error_set(
			err, ERR_INVALID,
			"the answer of the network's DHCP server is malformed, because it has no address or no netmask: check that server");
	*out = answer;
	return 0;
}

/* --- the exchange ---------------------------------------------------------------------------- */

struct exchange {
	int fd;
	uint32_t transaction;
	uint8_t mac[6];
	uint64_t deadline;
};

static int open_exchange(struct exchange *x, const char *interface, struct error *err)
{
	const struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons(CLIENT_PORT)};
	struct ifreq r = {0};
	int on = 1;

	memcpy(r.ifr_name, interface, strlen(interface) + 1);
	if (ioctl(x->fd, SIOCGIFHWADDR, &r) < 0 ||
	    setsockopt(x->fd, SOL_SOCKET, SO_BROADCAST, &on, sizeof(on)) < 0 ||
	    setsockopt(x->fd, SOL_SOCKET, SO_BINDTODEVICE, interface,
		       (socklen_t)strlen(interface)) < 0 ||
	    bind(x->fd, (const struct sockaddr *)&own, sizeof(own)) < 0 ||
	    getrandom(&x->transaction, sizeof(x->transaction), 0) < 0)
		return error_errno(err, errno, "DHCP on %s", interface);
	memcpy(x->mac, r.ifr_hwaddr.sa_data, 6);
	x->deadline = limit_deadline(LIMIT_GUEST_DHCP_MS);
	return 0;
}

/* Sends a message. Errors are ignored: an error such as ENETUNREACH means that the link is not up
 * yet. In that case no answer comes, and the caller sends the message again. */
static void dhcp_say(struct exchange *x, enum dhcp_kind kind, const struct dhcp_answer *offer)
{
	const struct sockaddr_in all = {.sin_family = AF_INET,
					.sin_port = htons(SERVER_PORT),
					.sin_addr.s_addr = INADDR_BROADCAST};
	uint8_t bytes[DHCP_MESSAGE_MAX];
	size_t len = dhcp_make(bytes, kind, x->transaction, x->mac, offer);

	(void)!sendto(x->fd, bytes, len, 0, (const struct sockaddr *)&all, sizeof(all));
}

/* Waits for an answer until the time `until`. Returns 1 and sets *out if an answer has come,
 * otherwise 0. */
static int dhcp_hear(struct exchange *x, uint64_t until, struct dhcp_answer *out)
{
	uint8_t bytes[DHCP_MESSAGE_MAX];
	struct error ignored;

	while (fd_wait(x->fd, POLLIN, until, &ignored) == 0) {
		ssize_t n = recv(x->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

		if (n > 0 &&
		    dhcp_read(bytes, (size_t)n, x->transaction, x->mac, out, &ignored) == 0)
			return 1;
	}
	return 0;
}

/* Sends a message of the type `kind` again and again, until an answer to this message has come or
 * the deadline has passed. */
static int dhcp_step(struct exchange *x, enum dhcp_kind kind, const struct dhcp_answer *offer,
		     struct dhcp_answer *out, struct error *err)
{
	enum dhcp_kind wanted = kind == DHCP_DISCOVER ? DHCP_OFFER : DHCP_ACK;

	while (clock_mono_ns() < x->deadline) {
		uint64_t until = limit_deadline(LIMIT_GUEST_DHCP_TRY_MS);

		if (until > x->deadline)
			until = x->deadline;
		dhcp_say(x, kind, offer);
		while (dhcp_hear(x, until, out)) {
			if (out->kind == wanted)
				return 0;
			if (out->kind == DHCP_NAK && kind == DHCP_REQUEST)
				return error_set(
					err, ERR_DENIED,
					"the DHCP server of the network offered an address to the guest and then refused it: check that server");
		}
	}
	return error_set(
		err, ERR_TIMEOUT,
		"no DHCP server of the network has answered, so the guest's card has no address: check that the network has such a server");
}

int dhcp_ask(const char *interface, struct network *out, struct error *err)
{
	autoclose int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct exchange x = {.fd = fd};
	struct dhcp_answer offer, answer;

	if (fd < 0)
		return error_errno(err, errno, "DHCP");
	if (open_exchange(&x, interface, err) < 0 ||
	    dhcp_step(&x, DHCP_DISCOVER, NULL, &offer, err) < 0 ||
	    dhcp_step(&x, DHCP_REQUEST, &offer, &answer, err) < 0)
		return -1;
	*out = answer.network;
	return 0;
}
