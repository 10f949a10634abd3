/* SPDX-License-Identifier: MIT */
#include "base/egress_rule.h"

#include <string.h>

#include "base/cleanup.h"

enum { LABEL_MAX = 63, PORT_DNS = 53 };

static const uint16_t usual_ports[] = {80, 443};

char egress_rule_letter(unsigned char byte)
{
	if (byte >= 'A' && byte <= 'Z')
		return (char)(byte - 'A' + 'a');
	return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || byte == '-' ||
			       byte == '_'
		       ? (char)byte
		       : 0;
}

/* --- the name -------------------------------------------------------------------------------- */

/* Returns the length of the label that begins at `at`, and converts the label to lower case in
 * place. Returns 0 if no label begins there. */
static size_t fold_label(char *at)
{
	size_t len = 0;

	for (; at[len] && at[len] != '.'; len++) {
		at[len] = egress_rule_letter((unsigned char)at[len]);
		if (!at[len])
			return 0;
	}
	return len > LABEL_MAX || (len && (at[0] == '-' || at[len - 1] == '-')) ? 0 : len;
}

/* Reads labels that are separated by dots, and converts them to lower case in place. Sets *last to
 * the beginning of the last label. Returns false if the name has a character that is neither
 * allowed in a label nor a dot. */
static bool fold_labels(char *name, const char **last)
{
	for (char *at = name;;) {
		size_t len = fold_label(at);

		if (!len)
			return false;
		*last = at;
		at += len;
		if (!*at)
			return true;
		at++;
	}
}

static int take_name(const char *text, size_t len, struct egress_rule *rule, struct error *err)
{
	const char *last = NULL;
	bool wild;

	if (strncmp(text + len, "://", 3) == 0)
		return error_set(err, ERR_INVALID,
				 "'%s' is a URL, not a host name: give only the host name", text);
	if (memchr(text, '/', len))
		return error_set(err, ERR_INVALID,
				 "'%s' is not a host name: it has a slash; give only the host name",
				 text);
	if (len > EGRESS_NAME_MAX)
		return error_set(
			err, ERR_INVALID,
			"'%s' is longer than %d bytes, the most that a host name can have: give a shorter one",
			text, EGRESS_NAME_MAX);
	/* A dot at the end of a name means the root of the DNS and does not change the name. */
	if (len > 1 && text[len - 1] == '.' && text[len - 2] != '*')
		len--;
	wild = len > 1 && text[0] == '*' && text[1] == '.';
	if (len == 1 && text[0] == '*')
		return error_set(
			err, ERR_INVALID,
			"'*' stands for every name, which no rule may open: write *.example.org for the names below example.org");
	memcpy(rule->name, text, len);
	rule->name[len] = '\0';
	rule->name_len = (uint8_t)len;
	if (!fold_labels(rule->name + (wild ? 2 : 0), &last))
		return error_set(
			err, ERR_INVALID,
			"'%s' is not a host name: give labels of letters, digits, - and _ with dots between them. A name may begin with \"*.\", as in *.example.org",
			text);
	if (strspn(last, "0123456789") == strlen(last))
		return error_set(err, ERR_INVALID,
				 "'%s' is an address, not a host name: give a host name", text);
	return 0;
}

/* --- ports ----------------------------------------------------------------------------------- */

static void add_rule_port(struct egress_rule *rule, uint16_t port)
{
	uint8_t at = rule->nports;

	while (at && rule->ports[at - 1] > port)
		at--;
	if (at && rule->ports[at - 1] == port)
		return;
	memmove(rule->ports + at + 1, rule->ports + at,
		(size_t)(rule->nports - at) * sizeof(*rule->ports));
	rule->ports[at] = port;
	rule->nports++;
}

/* Reads a port number, which ends at a comma or at the end of the text. Returns 0 if there is no
 * valid port. */
static uint32_t read_rule_port(const char **at)
{
	uint32_t port = 0;

	if (**at == '0')
		return 0;
	for (; **at >= '0' && **at <= '9' && port <= UINT16_MAX; (*at)++)
		port = port * 10 + (uint32_t)(**at - '0');
	return port <= UINT16_MAX && (!**at || **at == ',') ? port : 0;
}

static int take_ports(const char *text, const char *at, struct egress_rule *rule, struct error *err)
{
	for (;; at++) {
		uint32_t port = read_rule_port(&at);

		if (!port)
			return error_set(
				err, ERR_INVALID,
				"'%s': after the name there must be ports from 1 to 65535, with commas between them",
				text);
		if (port == PORT_DNS)
			return error_set(
				err, ERR_INVALID,
				"'%s': port 53 cannot be opened by name, only by address: leave port 53 out",
				text);
		if (rule->nports == EGRESS_PORTS_MAX)
			return error_set(
				err, ERR_INVALID,
				"'%s' has more than %d ports, the most for one name: give fewer",
				text, EGRESS_PORTS_MAX);
		add_rule_port(rule, (uint16_t)port);
		if (!*at)
			return 0;
	}
}

int egress_rule_parse(const char *text, struct egress_rule *out, struct error *err)
{
	struct egress_rule rule = {0};
	size_t len = strcspn(text, ":");

	if (take_name(text, len, &rule, err) < 0)
		return -1;
	if (text[len] && take_ports(text, text + len + 1, &rule, err) < 0)
		return -1;
	for (size_t i = 0; !text[len] && i < ARRAY_SIZE(usual_ports); i++)
		add_rule_port(&rule, usual_ports[i]);
	*out = rule;
	return 0;
}

/* --- what a rule covers ----------------------------------------------------------------------- */

bool egress_rule_covers(const struct egress_rule *rule, const char *name, size_t len)
{
	/* the end that each covered name must have: ".x.org" for the rule "*.x.org" */
	const char *end = rule->name + 1;
	size_t end_len = rule->name_len - 1u;

	if (rule->name[0] != '*')
		return len == rule->name_len && memcmp(name, rule->name, len) == 0;
	return len > end_len && memcmp(name + len - end_len, end, end_len) == 0;
}

bool egress_rule_opens(const struct egress_rule *rule, uint16_t port)
{
	for (uint8_t i = 0; i < rule->nports; i++)
		if (rule->ports[i] == port)
			return true;
	return false;
}

bool egress_rule_same(const struct egress_rule *a, const struct egress_rule *b)
{
	return a->name_len == b->name_len && memcmp(a->name, b->name, a->name_len) == 0 &&
	       a->nports == b->nports &&
	       memcmp(a->ports, b->ports, a->nports * sizeof(*a->ports)) == 0;
}
