/* SPDX-License-Identifier: MIT */
#include "netgate/tell.h"

#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>

#include "base/clock.h"

#define NS_PER_SECOND (1000 * NS_PER_MS)

static int print_end(char *out, size_t size, uint32_t address, uint16_t port, bool with_port)
{
	const unsigned a = address >> 24, b = address >> 16 & 255, c = address >> 8 & 255,
		       d = address & 255;

	return with_port ? snprintf(out, size, "%u.%u.%u.%u:%u", a, b, c, d, port)
			 : snprintf(out, size, "%u.%u.%u.%u", a, b, c, d);
}

size_t tell_line(char out[TELL_LINE], uint32_t guest, const struct flow_key *key, bool refused)
{
	bool ports = key->protocol != IPPROTO_ICMP;
	const char *name = key->protocol == IPPROTO_TCP ? "tcp" : ports ? "udp" : "icmp";
	char from[24], to[24];

	print_end(from, sizeof(from), guest, key->guest_port, ports);
	print_end(to, sizeof(to), key->address, key->port, ports);
	return (size_t)snprintf(out, TELL_LINE, "%s %s -> %s%s", name, from, to,
				refused ? " refused" : "");
}

static bool send_to_supervisor(const struct teller *t, const char *line, size_t len)
{
	return send(t->fd, line, len, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)len;
}

static void begin_second(struct teller *t, uint64_t now)
{
	if (now - t->second < NS_PER_SECOND)
		return;
	t->second = now;
	t->told = 0;
}

uint64_t tell_unlisted(struct teller *t, uint64_t now)
{
	char line[TELL_LINE];

	if (t->fd < 0 || !t->unlisted)
		return UINT64_MAX;
	begin_second(t, now);
	if (t->told < t->per_second) {
		size_t len = (size_t)snprintf(line, sizeof(line),
					      "%llu connections more were not listed",
					      (unsigned long long)t->unlisted);

		if (send_to_supervisor(t, line, len)) {
			t->unlisted = 0;
			t->told++;
			return UINT64_MAX;
		}
		t->told = t->per_second; /* the reader is behind: again in a second */
	}
	return NS_PER_SECOND - (now - t->second);
}

void tell_connection(struct teller *t, const struct flow_key *key, bool refused, uint64_t now)
{
	char line[TELL_LINE] = "";
	size_t len;

	if (t->fd < 0)
		return;
	tell_unlisted(t, now);
	begin_second(t, now);
	len = tell_line(line, t->guest, key, refused);
	if (t->unlisted || t->told >= t->per_second || !send_to_supervisor(t, line, len)) {
		t->unlisted++;
		return;
	}
	t->told++;
}
