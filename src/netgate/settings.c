/* SPDX-License-Identifier: MIT */
#include "netgate/settings.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

typedef int setting_fn(struct settings *s, const char *value, struct error *err);

/* Decimal digits alone. */
static int parse_number(const char *text, uint64_t max, uint64_t *out, struct error *err)
{
	char *end;
	unsigned long long v;

	errno = 0;
	v = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || v > max)
		return error_set(err, ERR_INVALID, "'%s' is not a number from 0 to %llu", text,
				 (unsigned long long)max);
	*out = v;
	return 0;
}

static int parse_fd(const char *text, int *out, struct error *err)
{
	uint64_t v;

	if (parse_number(text, INT_MAX, &v, err) < 0)
		return -1;
	*out = (int)v;
	return 0;
}

static int parse_address(const char *text, uint32_t *out, struct error *err)
{
	struct in_addr in;

	if (inet_pton(AF_INET, text, &in) != 1)
		return error_set(err, ERR_INVALID, "'%s' is not an IPv4 address", text);
	*out = ntohl(in.s_addr);
	return 0;
}

static int set_vm_fd(struct settings *s, const char *value, struct error *err)
{
	return parse_fd(value, &s->vm_fd, err);
}

static int set_passt_fd(struct settings *s, const char *value, struct error *err)
{
	return parse_fd(value, &s->passt_fd, err);
}

static int set_supervisor_fd(struct settings *s, const char *value, struct error *err)
{
	return parse_fd(value, &s->supervisor_fd, err);
}

static int set_lease_fd(struct settings *s, const char *value, struct error *err)
{
	return parse_fd(value, &s->lease_fd, err);
}

static int set_guest(struct settings *s, const char *value, struct error *err)
{
	return parse_address(value, &s->screen->guest, err);
}

static int set_dns(struct settings *s, const char *value, struct error *err)
{
	return parse_address(value, &s->screen->dns, err);
}

/* "52:54:00:12:34:56" */
static bool parse_mac(const char *text, uint8_t out[6])
{
	if (strlen(text) != 17)
		return false;
	for (int i = 0; i < 6; i++, text += 3) {
		if (!isxdigit((unsigned char)text[0]) || !isxdigit((unsigned char)text[1]) ||
		    text[2] != (i < 5 ? ':' : '\0'))
			return false;
		out[i] = (uint8_t)strtoul(text, NULL, 16);
	}
	return true;
}

static int set_mac(struct settings *s, const char *value, struct error *err)
{
	uint8_t mac[6];

	if (!parse_mac(value, mac))
		return error_set(err, ERR_INVALID, "'%s' is not an Ethernet address", value);
	memcpy(s->screen->guest_mac, mac, sizeof(mac));
	return 0;
}

static int add_allow(struct settings *s, const char *value, struct error *err)
{
	struct prefixes *p = &s->screen->prefixes;
	const char *slash = strchr(value, '/');
	autofree char *address = strndup(value, slash ? (size_t)(slash - value) : strlen(value));
	uint64_t bits = 32;
	uint32_t parsed = 0;

	if (!address)
		return error_errno(err, ENOMEM, "memory");
	if (parse_address(address, &parsed, err) < 0 ||
	    (slash && parse_number(slash + 1, 32, &bits, err) < 0))
		return -1;
	if (p->nallow == PREFIXES_ALLOW_MAX)
		return error_set(err, ERR_INVALID, "more than %d prefixes", PREFIXES_ALLOW_MAX);
	p->allow[p->nallow++] = (struct prefix){parsed, (uint32_t)bits};
	return 0;
}

static int set_uid(struct settings *s, const char *value, struct error *err)
{
	uint64_t v;

	if (parse_number(value, UINT32_MAX - 1, &v, err) < 0)
		return -1;
	s->identity.uid = (uid_t)v;
	s->identity.set_uid = true;
	return 0;
}

static int set_gid(struct settings *s, const char *value, struct error *err)
{
	uint64_t v;

	if (parse_number(value, UINT32_MAX - 1, &v, err) < 0)
		return -1;
	s->identity.gid = (gid_t)v;
	s->identity.set_gid = true;
	return 0;
}

/* For people who look at `ps`. */
static int set_label(struct settings *s, const char *value, struct error *err)
{
	(void)s, (void)value, (void)err;
	return 0;
}

static int set_help(struct settings *s, const char *value, struct error *err)
{
	(void)value, (void)err;
	s->action = SETTINGS_HELP;
	return 0;
}

static int set_version(struct settings *s, const char *value, struct error *err)
{
	(void)value, (void)err;
	s->action = SETTINGS_VERSION;
	return 0;
}

static const struct row {
	const char *name;
	const char *value; /* NULL: takes none */
	setting_fn *fn;
	const char *text;
} rows[] = {
	{"vm-fd", "N", set_vm_fd, "inherited stream socket of the VM"},
	{"passt-fd", "N", set_passt_fd,
	 "inherited stream socket of passt; without it frames lead nowhere"},
	{"supervisor-fd", "N", set_supervisor_fd,
	 "inherited SOCK_SEQPACKET socket: the host's addresses in, lines on connections out"},
	{"guest-address", "A", set_guest, "the one IPv4 address that the guest may send from"},
	{"guest-mac", "M", set_mac, "the one Ethernet address that the guest may send from"},
	{"dns-address", "A", set_dns, "where UDP port 53 is open, whatever else is shut"},
	{"allow", "PREFIX", add_allow, "open a prefix that is shut otherwise; repeatable"},
	{"uid", "N", set_uid, "become this user, if root"},
	{"gid", "N", set_gid, "become this group, if root"},
	{"lease-fd", "N", set_lease_fd, "keep this inherited descriptor open"},
	{"label", "TEXT", set_label, "ignored; to be seen in ps"},
	{"help", NULL, set_help, "print this"},
	{"version", NULL, set_version, "print the version"},
};

void settings_help(void)
{
	puts("Usage: microagent-netgate --vm-fd N --passt-fd N --supervisor-fd N --guest-address "
	     "A\n"
	     "                          --guest-mac M [OPTION...]\n"
	     "The filter between a virtual machine and passt.\n");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int n = printf("  --%s%s%s", rows[i].name, rows[i].value ? " " : "",
			       rows[i].value ? rows[i].value : "");

		printf("%*s%s\n", n < 25 ? 25 - n : 1, "", rows[i].text);
	}
}

static int check_complete(const struct settings *s, struct error *err)
{
	static const uint8_t none[6];

	if (s->action != SETTINGS_SERVE)
		return 0;
	if (s->vm_fd < 0 || s->supervisor_fd < 0 || !s->screen->guest ||
	    memcmp(s->screen->guest_mac, none, sizeof(none)) == 0)
		return error_set(err, ERR_INVALID,
				 "--vm-fd, --supervisor-fd, --guest-address and --guest-mac are "
				 "needed; see --help");
	return 0;
}

int settings_parse(struct settings *s, int argc, char **argv, struct error *err)
{
	struct option longs[ARRAY_SIZE(rows) + 1] = {0};
	int i;

	for (size_t k = 0; k < ARRAY_SIZE(rows); k++)
		longs[k] =
			(struct option){.name = rows[k].name,
					.has_arg = rows[k].value ? required_argument : no_argument,
					.val = (int)k};
	opterr = 0;
	optind = 1;
	while ((i = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (i == '?')
			return error_set(err, ERR_INVALID,
					 "'%s' is not an option, or lacks its value; see --help",
					 argv[optind - 1]);
		if (rows[i].fn(s, optarg, err) < 0)
			return error_prefix(err, "--%s", rows[i].name);
	}
	if (optind < argc)
		return error_set(err, ERR_INVALID, "'%s' is not an option; see --help",
				 argv[optind]);
	return check_complete(s, err);
}
