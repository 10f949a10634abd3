/* SPDX-License-Identifier: MIT */
/* Frames that no driver of the network card would send. */
#include <sys/socket.h>

#include <linux/if_packet.h>

#include <arpa/inet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>

#include "attack.h"

static const unsigned short ethertypes[] = {0x0800, 0x0806, 0x86dd, 0x8100, 0x88a8, 0x0000, 0x05dc};
static const unsigned char protocols[] = {1, 2, 6, 17, 41, 47, 50, 58, 89, 132, 255};

/* Sends IPv4 with one error after the other: length, header length, fragments, sources. */
static size_t nearly_ipv4(unsigned char *frame)
{
	size_t len = 34 + noise() % 60;

	noise_fill(frame + 14, len - 14);
	frame[14] = noise() % 4 ? 0x45 : (unsigned char)noise();
	frame[16] = 0;
	frame[17] = noise() % 4 ? (unsigned char)(len - 14) : (unsigned char)noise();
	frame[23] = protocols[noise() % sizeof(protocols)];
	if (noise() % 2)
		memcpy(frame + 30, "\x7f\0\0\1", 4); /* the host's own loopback */
	return len;
}

void frames(const char *seed, unsigned long count)
{
	struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_halen = 6};
	struct ifreq request = {.ifr_name = "eth0"};
	int fd = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));
	unsigned char frame[1600];
	unsigned long sent = 0;

	noise_seed(seed);
	if (fd < 0 || ioctl(fd, SIOCGIFINDEX, &request) < 0)
		give_up("eth0");
	to.sll_ifindex = request.ifr_ifindex;
	for (unsigned long i = 0; i < count; i++) {
		unsigned short type = htons(ethertypes[noise() % 7]);
		size_t len = 14 + noise() % 1500;

		noise_fill(frame, len);
		if (noise() % 2)
			memset(frame, noise() % 2 ? 0xff : 0, 6);
		if (noise() % 2) {
			type = htons(0x0800);
			len = nearly_ipv4(frame);
		}
		memcpy(frame + 12, &type, 2);
		sent += sendto(fd, frame, len, 0, (struct sockaddr *)&to, sizeof(to)) ==
			(ssize_t)len;
	}
	said("frames", sent);
}
