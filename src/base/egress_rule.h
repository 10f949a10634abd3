/* SPDX-License-Identifier: MIT */
/*
 * A rule that says which hosts a guest may reach by name:
 *
 *   pypi.org               exactly that host, at ports 443 and 80
 *   *.pythonhosted.org     all hosts below pythonhosted.org at any depth, but not pythonhosted.org
 *   example.org:8443,443   exactly that host, at ports 8443 and 443
 *
 * International names are written as A-labels ("xn--..."). Upper case is converted to lower case.
 * No rule for a name can open port 53: a DNS server at this port could answer for every other name.
 */
#ifndef BASE_EGRESS_RULE_H
#define BASE_EGRESS_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define EGRESS_NAMES_MAX 256
#define EGRESS_PREFIXES_MAX 64
#define EGRESS_PORTS_MAX 8
#define EGRESS_NAME_MAX 253

struct egress_rule {
	char name[EGRESS_NAME_MAX + 1]; /* the name in lower case, including "*." if the rule begins
					 * with it */
	uint8_t name_len;
	uint8_t nports;
	uint16_t ports[EGRESS_PORTS_MAX]; /* the ports in ascending order, each once */
};

/* Reads a rule. Fails with ERR_INVALID, and the message says what is wrong with the text. */
int egress_rule_parse(const char *text, struct egress_rule *out, struct error *err);
/* Returns whether the rule covers a name. The name must be in lower case and without a dot at its
 * end. */
bool egress_rule_covers(const struct egress_rule *rule, const char *name, size_t len);
bool egress_rule_opens(const struct egress_rule *rule, uint16_t port);
/* Returns true if two rules have the same name and ports, even if they were written differently. */
bool egress_rule_same(const struct egress_rule *a, const struct egress_rule *b);

/* Returns the byte converted to lower case if the name of a rule can contain it; otherwise 0. */
char egress_rule_letter(unsigned char byte);

#endif
