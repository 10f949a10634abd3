/* SPDX-License-Identifier: MIT */
#include "netgate/tell.h"

#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define NS_PER_SECOND (1000 * NS_PER_MS)

static const char *const verdicts[] = {
	[TELL_PASSED] = "", [TELL_REFUSED] = " refused", [TELL_WOULD_REFUSE] = " would refuse"};

static int print_end(char *out, size_t size, uint32_t address, uint16_t port, bool with_port)
{
	const unsigned a = address >> 24, b = address >> 16 & 255, c = address >> 8 & 255,
		       d = address & 255;

	return with_port ? snprintf(out, size, "%u.%u.%u.%u:%u", a, b, c, d, port)
			 : snprintf(out, size, "%u.%u.%u.%u", a, b, c, d);
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
		/* The supervisor reads slowly, so the line is tried again in the next second. */
		t->told = t->per_second;
	}
	return NS_PER_SECOND - (now - t->second);
}

static void tell_text(struct teller *t, const char *line, int len, uint64_t now)
{
	if (t->fd < 0)
		return;
	tell_unlisted(t, now);
	begin_second(t, now);
	if (t->unlisted || t->told >= t->per_second || !send_to_supervisor(t, line, (size_t)len)) {
		t->unlisted++;
		return;
	}
	t->told++;
}

void tell_opening(struct teller *t, const char *protocol, const struct flow_key *key,
		  const char *name, enum telling telling, uint64_t now)
{
	bool ports = key->protocol != IPPROTO_ICMP;
	char line[TELL_LINE], from[24], to[24];

	print_end(from, sizeof(from), t->guest, key->guest_port, ports);
	print_end(to, sizeof(to), key->address, key->port, ports);
	tell_text(t, line,
		  snprintf(line, sizeof(line), "%s %s -> %s%s%s%s", protocol, from, to,
			   name ? " " : "", name ? name : "", verdicts[telling]),
		  now);
}

void tell_connection(struct teller *t, const struct flow_key *key, const char *name,
		     enum telling telling, uint64_t now)
{
	const char *what = key->protocol == IPPROTO_TCP	  ? "tcp"
			   : key->protocol == IPPROTO_UDP ? "udp"
							  : "icmp";

	tell_opening(t, what, key, name, telling, now);
}

void tell_question(struct teller *t, const struct dns_question *q, enum telling telling,
		   uint64_t now)
{
	static const struct {
		unsigned type;
		const char *name;
	} known[] = {{DNS_A, "A"}, {DNS_AAAA, "AAAA"}, {12, "PTR"},  {15, "MX"},
		     {16, "TXT"},  {33, "SRV"},	       {65, "HTTPS"}};
	char line[TELL_LINE], type[16];

	snprintf(type, sizeof(type), "TYPE%u", q->type);
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (known[i].type == q->type)
			snprintf(type, sizeof(type), "%s", known[i].name);
	tell_text(t, line,
		  snprintf(line, sizeof(line), "dns %s %s%s", q->name.len ? q->name.text : "?",
			   type, verdicts[telling]),
		  now);
}
