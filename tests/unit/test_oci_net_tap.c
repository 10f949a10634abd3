/* SPDX-License-Identifier: MIT */
/* Tests frames between the far end of a container's link and the machine that has its tap, past the
 * kernel of the namespace. */
#include "test_oci_net.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "oci/net/netns.h"
#include "oci/net/tap.h"

enum { PORT = 80, PATIENCE_MS = 10000, MARKER = 0x88b5, FRAME = 2048 };

static const uint8_t near_mac[6] = {0x0a, 0x58, 0x0a, 0x01, 0x00, 0x02};
static const uint8_t far_mac[6] = {0x0a, 0x58, 0x0a, 0x01, 0x00, 0x01};

/* --- the two ends ---------------------------------------------------------------------------- */

/* If a child finds that this host lacks something, that is no failure. */
static struct netns_taps make_taps(bool vnet_hdr)
{
	struct error err = {0};
	struct netns_taps taps = {0};
	autofree struct netns *netns = netns_read(&err);

	REQUIRE(netns && netns->nlinks == 1);
	if (access("/dev/net/tun", R_OK | W_OK) < 0)
		skip_child("/dev/net/tun");
	if (netns_taps_make(netns, vnet_hdr, &taps, &err) < 0) {
		fprintf(stderr, "%s: %s\n", err.errnum == ENOENT ? "skipped" : "failed", err.msg);
		_exit(err.errnum == ENOENT ? SKIPPED : WRONG);
	}
	REQUIRE(taps.ntaps == 1 && strcmp(taps.taps[0].name, "ma0") == 0);
	return taps;
}

/* Only frames of that type. */
static int open_far(const struct line *line, uint16_t type)
{
	struct sockaddr_ll link = {.sll_family = AF_PACKET, .sll_protocol = htons(type)};
	int on = 1;

	enter(line->far);
	link.sll_ifindex = (int)if_nametoindex("far");
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	REQUIRE(setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on)) == 0);
	REQUIRE(fd >= 0 && bind(fd, (struct sockaddr *)&link, sizeof(link)) == 0);
	enter(line->near);
	return fd;
}

static size_t read_frame(int fd, uint8_t frame[FRAME])
{
	struct pollfd readable = {.fd = fd, .events = POLLIN};

	REQUIRE(poll(&readable, 1, PATIENCE_MS) == 1);
	ssize_t n = read(fd, frame, FRAME);
	REQUIRE(n > 0);
	return (size_t)n;
}

static void write_frame(int fd, const uint8_t *frame, size_t len)
{
	REQUIRE(write(fd, frame, len) == (ssize_t)len);
}

static size_t begin_frame(uint8_t *frame, const uint8_t *to, const uint8_t *from, uint16_t type)
{
	memcpy(frame, to, ETH_ALEN);
	memcpy(frame + ETH_ALEN, from, ETH_ALEN);
	frame[12] = (uint8_t)(type >> 8);
	frame[13] = (uint8_t)type;
	return ETH_HLEN;
}

/* An answer of ARP, or a neighbour's advertisement. */
static bool is_answer(const uint8_t *frame, size_t len)
{
	uint16_t type = (uint16_t)(frame[12] << 8 | frame[13]);

	return (type == ETH_P_ARP && frame[21] == 2) ||
	       (type == ETH_P_IPV6 && len > 54 && frame[54] == 136);
}

/* len bytes from one end are read at the other. A kernel's report of its multicast groups, which it
 * sends at any time, may come before. An answer of a kernel may not. */
static void pass_frame(int from, int to, const uint8_t *frame, size_t len)
{
	uint8_t got[FRAME];
	bool same;

	write_frame(from, frame, len);
	do {
		size_t n = read_frame(to, got);

		same = n == len && memcmp(got, frame, len) == 0;
		REQUIRE(same || !is_answer(got, n));
	} while (!same);
}

static void pass_markers(int far, int tap)
{
	static const size_t lengths[] = {ETH_HLEN + 1, 60, 1000, ETH_HLEN + 1400};
	uint8_t frame[FRAME];

	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		memset(frame, (int)i + 1, sizeof(frame));
		begin_frame(frame, near_mac, far_mac, MARKER);
		pass_frame(far, tap, frame, lengths[i]);
		begin_frame(frame, far_mac, near_mac, MARKER);
		pass_frame(tap, far, frame, lengths[i]);
	}
}

/* --- what is asked --------------------------------------------------------------------------- */

/* Who has 10.1.0.2? */
static size_t arp_request(uint8_t *frame)
{
	static const uint8_t everybody[6] = {255, 255, 255, 255, 255, 255};
	static const uint8_t head[] = {0, 1, 8, 0, 6, 4, 0, 1};
	size_t len = begin_frame(frame, everybody, far_mac, ETH_P_ARP);

	memset(frame + len, 0, 46);
	memcpy(frame + len, head, sizeof(head));
	memcpy(frame + len + 8, far_mac, 6);
	memcpy(frame + len + 14, "\x0a\x01\x00\x01", 4);
	memcpy(frame + len + 24, "\x0a\x01\x00\x02", 4);
	return len + 28;
}

static uint16_t checksum(const uint8_t *bytes, size_t len, uint32_t sum)
{
	for (size_t i = 0; i < len; i++)
		sum += i % 2 ? bytes[i] : (uint32_t)bytes[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

/* Who has 2001:db8:1::2? From 2001:db8:1::1. */
static size_t solicitation(uint8_t *frame)
{
	static const uint8_t group[6] = {0x33, 0x33, 0xff, 0, 0, 2};
	static const uint8_t ip[40] = {0x60, 0, 0, 0, 0, 32, 58, 255, 0x20, 0x01, 0x0d, 0xb8, 0, 1,
				       0,    0, 0, 0, 0, 0,  0,	 0,   0,    1,	  0xff, 2,    0, 0,
				       0,    0, 0, 0, 0, 0,  0,	 1,   0xff, 0,	  0,	2};
	uint8_t *icmp = frame + ETH_HLEN + sizeof(ip);

	begin_frame(frame, group, far_mac, ETH_P_IPV6);
	memcpy(frame + ETH_HLEN, ip, sizeof(ip));
	memset(icmp, 0, 32);
	icmp[0] = 135;
	memcpy(icmp + 8, ip + 8, 16);
	icmp[23] = 2;
	icmp[24] = icmp[25] = 1;
	memcpy(icmp + 26, far_mac, 6);
	uint16_t sum = (uint16_t)~checksum(icmp, 32, checksum(ip + 8, 32, 58 + 32));
	icmp[2] = (uint8_t)(sum >> 8);
	icmp[3] = (uint8_t)sum;
	return ETH_HLEN + sizeof(ip) + 32;
}

/* The kernel answers for an address of IPv6 when it has reported it, and not when the address was
 * set. */
static void give_addresses(void)
{
	int heard = hear_kernel(RTMGRP_IPV6_IFADDR);

	run("ip address add 10.1.0.2/24 dev eth0");
	run("ip address add 2001:db8:1::2/64 dev eth0 nodad");
	await_told(heard, has_address, if_nametoindex("eth0"));
}

/* The tap has the question, and the far end gets nothing before the machine's answer. */
static void machine_is_asked(int far, int tap, const uint8_t *question, size_t len)
{
	uint8_t answer[FRAME] = {0};

	pass_frame(far, tap, question, len);
	memcpy(answer, question, len);
	begin_frame(answer, far_mac, near_mac, (uint16_t)(question[12] << 8 | question[13]));
	answer[len - 1] = 0x77; /* no answer of a kernel's */
	pass_frame(tap, far, answer, len);
}

static void addresses_are_asked_for(struct line line)
{
	int arp = open_far(&line, ETH_P_ARP), ipv6 = open_far(&line, ETH_P_IPV6);
	int far = open_far(&line, MARKER);
	uint8_t question[FRAME], got[FRAME];
	struct error err = {0};

	give_addresses();
	/* Before this the kernel of the namespace answers both. */
	size_t len = arp_request(question);
	write_frame(arp, question, len);
	REQUIRE(read_frame(arp, got) == len && got[21] == 2 && memcmp(got + 22, near_mac, 6) == 0);
	len = solicitation(question);
	write_frame(ipv6, question, len);
	do {
		len = read_frame(ipv6, got);
	} while (len < 55 || got[54] != 136);

	struct netns_taps taps = make_taps(false);
	machine_is_asked(arp, taps.taps[0].fd, question, arp_request(question));
	machine_is_asked(ipv6, taps.taps[0].fd, question, solicitation(question));
	pass_markers(far, taps.taps[0].fd);
	run("ip -o address show dev eth0 | grep -q 'inet 10.1.0.2/24'");
	run("ip -o link show dev ma0 | grep -q 'mtu 1400 '");
	run("test -z \"$(ip address show dev ma0 | grep inet6)\"");

	REQUIRE_OK(netns_taps_remove(&taps, &err));
	REQUIRE(taps.ntaps == 0 && if_nametoindex("ma0") == 0);
	len = arp_request(question);
	write_frame(arp, question, len);
	REQUIRE(read_frame(arp, got) == len && memcmp(got + 22, near_mac, 6) == 0);
}

/* --- TCP ------------------------------------------------------------------------------------- */

static int listen_near(void)
{
	const struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(PORT)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	REQUIRE(fd >= 0 && bind(fd, (const struct sockaddr *)&any, sizeof(any)) == 0);
	REQUIRE(listen(fd, 4) == 0);
	return fd;
}

static int begin_connection(const struct line *line)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(PORT)};

	enter(line->far);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	enter(line->near);
	REQUIRE(inet_pton(AF_INET, "10.1.0.2", &to.sin_addr) == 1);
	REQUIRE(fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 &&
		errno == EINPROGRESS);
	return fd;
}

/* Returns the errno of its end. */
static int end_connection(int fd)
{
	struct pollfd writable = {.fd = fd, .events = POLLOUT};
	socklen_t len = sizeof(int);
	int errnum = -1;

	REQUIRE(poll(&writable, 1, PATIENCE_MS) == 1);
	REQUIRE(getsockopt(fd, SOL_SOCKET, SO_ERROR, &errnum, &len) == 0);
	close(fd);
	return errnum;
}

static void swap(uint8_t *a, uint8_t *b, size_t len)
{
	uint8_t kept[16];

	memcpy(kept, a, len);
	memcpy(a, b, len);
	memcpy(b, kept, len);
}

static uint16_t tcp_sum(const uint8_t *ip, size_t len)
{
	return checksum(ip + 20, len, checksum(ip + 12, 8, (uint32_t)(6 + len)));
}

/* Makes the answer of a machine without a listener to a connection's first segment. */
static size_t refuse_segment(uint8_t *frame)
{
	uint8_t *ip = frame + ETH_HLEN, *tcp = ip + 20;
	uint32_t sequence;

	memcpy(&sequence, tcp + 4, 4);
	sequence = htonl(ntohl(sequence) + 1);
	begin_frame(frame, far_mac, near_mac, ETH_P_IP);
	swap(ip + 12, ip + 16, 4);
	swap(tcp, tcp + 2, 2);
	memset(tcp + 4, 0, 16);
	memcpy(tcp + 8, &sequence, 4);
	tcp[12] = 5 << 4;
	tcp[13] = 0x14; /* RST, ACK */
	ip[2] = 0;
	ip[3] = 40;
	memset(ip + 10, 0, 2);
	uint16_t sum = (uint16_t)~checksum(ip, 20, 0), sum_tcp = (uint16_t)~tcp_sum(ip, 20);
	ip[10] = (uint8_t)(sum >> 8);
	ip[11] = (uint8_t)sum;
	tcp[16] = (uint8_t)(sum_tcp >> 8);
	tcp[17] = (uint8_t)sum_tcp;
	return ETH_HLEN + 40;
}

static void connections_are_the_machines(struct line line)
{
	uint8_t frame[FRAME];
	struct error err = {0};

	enter(line.far);
	run("ip neighbour add 10.1.0.2 lladdr " NEAR_MAC " nud permanent dev far");
	enter(line.near);
	give_addresses();
	int listener = listen_near();
	REQUIRE(end_connection(begin_connection(&line)) == 0);
	int accepted = accept(listener, NULL, NULL);
	REQUIRE(accepted >= 0);
	struct linger reset = {.l_onoff = 1};
	REQUIRE(setsockopt(accepted, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)) == 0);
	close(accepted);

	struct netns_taps taps = make_taps(false);
	int fd = begin_connection(&line);
	size_t len = read_frame(taps.taps[0].fd, frame);
	/* The frame is whole and has its checksum, though none was made for a link in memory. */
	REQUIRE(len >= ETH_HLEN + 40 && frame[ETH_HLEN + 9] == 6 && frame[ETH_HLEN + 33] == 2 &&
		tcp_sum(frame + ETH_HLEN, len - ETH_HLEN - 20) == 0xffff);
	write_frame(taps.taps[0].fd, frame, refuse_segment(frame));
	REQUIRE(end_connection(fd) == ECONNREFUSED);
	REQUIRE(accept(listener, NULL, NULL) < 0 && errno == EAGAIN);

	REQUIRE_OK(netns_taps_remove(&taps, &err));
	REQUIRE(end_connection(begin_connection(&line)) == 0);
	REQUIRE(accept(listener, NULL, NULL) >= 0);
}

/* --- further --------------------------------------------------------------------------------- */

static void a_header_stands_before_each_frame(struct line line)
{
	static const size_t front = sizeof(struct virtio_net_hdr);
	uint8_t frame[FRAME] = {0}, got[FRAME];
	int far = open_far(&line, MARKER);

	give_addresses();
	struct netns_taps taps = make_taps(true);
	begin_frame(frame + front, near_mac, far_mac, MARKER);
	write_frame(far, frame + front, 100);
	REQUIRE(read_frame(taps.taps[0].fd, got) == front + 100);
	REQUIRE(memcmp(got, frame, front + 100) == 0);
	begin_frame(frame + front, far_mac, near_mac, MARKER);
	write_frame(taps.taps[0].fd, frame, front + 100);
	REQUIRE(read_frame(far, got) == 100 && memcmp(got, frame + front, 100) == 0);
}

static void anothers_qdisc_is_let_alone(struct line line)
{
	struct netns_taps taps = {0};
	struct error err = {0};

	(void)line;
	give_addresses();
	taps = make_taps(false);
	REQUIRE_OK(netns_taps_remove(&taps, &err));
	run("tc qdisc add dev eth0 clsact");
	autofree struct netns *netns = netns_read(&err);
	REQUIRE(netns && netns_taps_make(netns, false, &taps, &err) < 0);
	REQUIRE(err.code == ERR_CONFLICT && strstr(err.msg, "eth0: the link's ingress qdisc: "));
	REQUIRE(if_nametoindex("ma0") == 0 && taps.ntaps == 0);
	run("tc qdisc show dev eth0 | grep -q clsact");
}

/* The second of two links fails, and the first is as before. */
static void all_or_none(struct line line)
{
	struct netns_taps taps = {0};
	struct error err = {0};

	(void)line;
	give_addresses();
	taps = make_taps(false);
	REQUIRE_OK(netns_taps_remove(&taps, &err));
	run("ip link add net1 type veth peer name other && ip address add 10.2.0.2/24 dev net1");
	run("ip link set net1 up && tc qdisc add dev net1 ingress");
	autofree struct netns *netns = netns_read(&err);
	REQUIRE(netns && netns->nlinks == 2);
	REQUIRE(netns_taps_make(netns, false, &taps, &err) < 0);
	REQUIRE(strstr(err.msg, "network: net1: the link's ingress qdisc: "));
	REQUIRE(if_nametoindex("ma0") == 0 && if_nametoindex("ma1") == 0);
	run("test -z \"$(tc qdisc show dev eth0 ingress)\"");
}

/* A kill removes the tap and leaves the filter. Nothing answers until the filter is removed, by the
 * link's name alone. */
static void after_a_kill(struct line line)
{
	int arp = open_far(&line, ETH_P_ARP);
	uint8_t question[FRAME], got[FRAME];
	struct error err = {0};

	give_addresses();
	struct netns_taps taps = make_taps(false);
	close(taps.taps[0].fd);
	taps.taps[0].fd = -1;
	REQUIRE(if_nametoindex("ma0") == 0);
	run("tc filter show dev eth0 ingress | grep -q mirred");
	size_t len = arp_request(question);
	write_frame(arp, question, len);
	/* The next process that has the link recognises the filter as ours, and removes nothing
	 * else. */
	taps = make_taps(false);
	run("test $(tc filter show dev eth0 ingress | grep -c mirred) = 1");
	machine_is_asked(arp, taps.taps[0].fd, question, len);
	close(taps.taps[0].fd);
	taps.taps[0].fd = -1;
	REQUIRE_OK(netns_taps_remove(&taps, &err));
	question[31] = 9; /* from 10.1.0.9, so that this is no answer to the first */
	write_frame(arp, question, len);
	REQUIRE(read_frame(arp, got) == len && got[21] == 2 && got[41] == 9);
}

static void a_link_that_is_gone(struct line line)
{
	struct error err = {0};

	(void)line;
	give_addresses();
	struct netns_taps taps = make_taps(false);
	run("ip link del eth0");
	REQUIRE_OK(netns_taps_remove(&taps, &err));
	REQUIRE(if_nametoindex("ma0") == 0);
}

IN_NAMESPACES(addresses_are_asked_for)
IN_NAMESPACES(connections_are_the_machines)
IN_NAMESPACES(a_header_stands_before_each_frame)
IN_NAMESPACES(anothers_qdisc_is_let_alone)
IN_NAMESPACES(all_or_none)
IN_NAMESPACES(after_a_kill)
IN_NAMESPACES(a_link_that_is_gone)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_are_asked_for_test),
		cmocka_unit_test(connections_are_the_machines_test),
		cmocka_unit_test(a_header_stands_before_each_frame_test),
		cmocka_unit_test(anothers_qdisc_is_let_alone_test),
		cmocka_unit_test(all_or_none_test),
		cmocka_unit_test(after_a_kill_test),
		cmocka_unit_test(a_link_that_is_gone_test),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
