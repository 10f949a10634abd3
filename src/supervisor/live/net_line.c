/* SPDX-License-Identifier: MIT */
#include "supervisor/live/net_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

enum verdict { PASSED, REFUSED, WOULD_REFUSE };

static const struct {
	const char *behind; /* the text at the end of a line with this verdict */
	enum verdict verdict;
} verdicts[] = {{" would refuse", WOULD_REFUSE}, {" refused", REFUSED}};

/* Finds the verdict at the end of a line. Sets *len to the length of the line before the
 * verdict. */
static enum verdict verdict_behind(const char *line, size_t *len)
{
	*len = strlen(line);
	for (size_t i = 0; i < sizeof(verdicts) / sizeof(verdicts[0]); i++) {
		size_t own = strlen(verdicts[i].behind);

		if (*len > own && strcmp(line + *len - own, verdicts[i].behind) == 0) {
			*len -= own;
			return verdicts[i].verdict;
		}
	}
	return PASSED;
}

static const char *event_for(enum verdict verdict, const char *passed, const char *refused)
{
	if (verdict == WOULD_REFUSE)
		return "net.would-refuse";
	return verdict == REFUSED ? refused : passed;
}

/* Reads a line such as "dns pypi.org A". Returns false for a line of another form. */
static bool read_dns(const char *text, enum verdict verdict, struct net_event *out)
{
	char name[256], type[16], more;

	if (sscanf(text, "dns %255s %15s %c", name, type, &more) != 2)
		return false;
	*out = (struct net_event){
		.name = event_for(verdict, "net.resolve", "net.name-refused"),
		.data = json_pack("{s:s, s:s}", "name", name, "type", type),
	};
	return true;
}

/* Reads a line such as "tcp 10.0.2.15:40000 -> 192.0.2.1:443", optionally followed by a name.
 * Returns false for a line of another form. */
static bool read_flow(const char *text, enum verdict verdict, struct net_event *out)
{
	char protocol[8], from[32], to[32], name[256], more;
	int got = sscanf(text, "%7s %31s -> %31s %255s %c", protocol, from, to, name, &more);

	if (got != 3 && got != 4)
		return false;
	*out = (struct net_event){
		.name = event_for(verdict, "net.connect", "net.refused"),
		.data = json_pack("{s:s, s:s, s:s, s:s*}", "protocol", protocol, "from", from, "to",
				  to, "name", got == 4 ? name : NULL),
	};
	return true;
}

struct net_event net_line_read(const char *line)
{
	struct net_event out = {0};
	char text[512];
	size_t len;
	enum verdict verdict = verdict_behind(line, &len);

	snprintf(text, sizeof(text), "%.*s", (int)len, line);
	/* out.data is NULL if the line has bytes that are not UTF-8. */
	if ((read_dns(text, verdict, &out) || read_flow(text, verdict, &out)) && out.data) {
		out.warning = verdict != PASSED;
		return out;
	}
	return (struct net_event){
		.name = "net.unlisted",
		.warning = true,
		.data = json_pack("{s:o, s:I}", "line", json_string_lossy(line, strlen(line)),
				  "connections", (json_int_t)strtoll(line, NULL, 10)),
	};
}
