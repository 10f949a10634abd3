/* SPDX-License-Identifier: MIT */
#include "guest/machine/pnp.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#define ASKED "#PROTO: "
#define DOMAIN_LETTERS                                                   \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789" \
	"-._"

/* If the line begins with `word`, copies the text after `word` to `out`, and returns the length of
 * this text in bytes. `word` ends with a space. Returns 0 if the line does not begin with `word`,
 * or if the text does not fit into `size` bytes. */
static size_t pnp_value(const char *line, size_t len, const char *word, char *out, size_t size)
{
	size_t front = strlen(word);

	if (len <= front || len - front >= size || strncmp(line, word, front) != 0)
		return 0;
	memcpy(out, line + front, len - front);
	out[len - front] = '\0';
	return len - front;
}

bool pnp_read(const char *text, struct network *out)
{
	struct network n = *out;
	char value[NETWORK_DOMAIN];

	if (strncmp(text, ASKED, strlen(ASKED)) != 0)
		return false;
	n.ndns = 0;
	n.domain[0] = '\0';
	while (*text) {
		size_t len = strcspn(text, "\n");
		size_t got = pnp_value(text, len, "domain ", value, sizeof(value));

		if (got > 0 && strspn(value, DOMAIN_LETTERS) == got)
			memcpy(n.domain, value, got + 1);
		got = pnp_value(text, len, "nameserver ", value, sizeof(value));
		if (got > 0 && n.ndns < NETWORK_DNS_MAX &&
		    inet_pton(AF_INET, value, &n.dns[n.ndns]) == 1)
			n.ndns++;
		text += len + (text[len] == '\n');
	}
	*out = n;
	return true;
}
