/* SPDX-License-Identifier: MIT */
#include "netgate/settings.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/command_line.h"
#include "base/mac.h"
#include "netgate/bucket.h"

static int parse_address(const char *text, uint32_t *out, struct error *err)
{
	struct in_addr in;

	if (inet_pton(AF_INET, text, &in) != 1)
		return error_set(err, ERR_INVALID,
				 "'%s' is not an IPv4 address: give one like 10.0.0.2", text);
	*out = ntohl(in.s_addr);
	return 0;
}

static int set_guest(void *field, const char *value, struct error *err)
{
	struct settings *s = field;

	return parse_address(value, &s->screen->guest, err);
}

static int set_dns(void *field, const char *value, struct error *err)
{
	struct settings *s = field;

	return parse_address(value, &s->screen->dns, err);
}

static int set_resolver(void *field, const char *value, struct error *err)
{
	struct settings *s = field;

	return parse_address(value, &s->screen->resolver, err);
}

static int set_mac(void *field, const char *value, struct error *err)
{
	struct settings *s = field;
	uint8_t mac[MAC_BYTES];

	if (!mac_parse(value, mac))
		return error_set(err, ERR_INVALID,
				 "'%s' is not an Ethernet address: give one like 52:54:00:12:34:56",
				 value);
	memcpy(s->screen->guest_mac, mac, sizeof(mac));
	return 0;
}

static int set_by_name(void *field, const char *value, struct error *err)
{
	struct settings *s = field;

	(void)value, (void)err;
	s->screen->by_name = true;
	return 0;
}

static int add_egress_name(void *field, const char *value, struct error *err)
{
	struct settings *s = field;
	struct egress_rule rule;

	if (egress_rule_parse(value, &rule, err) < 0)
		return -1;
	if (names_add(&s->egress->names, &rule) < 0)
		return error_set(
			err, ERR_INVALID,
			"--egress is given more than %d names, which is the limit: give fewer names",
			EGRESS_NAMES_MAX);
	return set_by_name(s, NULL, err);
}

static int add_egress_prefix(void *field, const char *value, struct error *err)
{
	struct settings *s = field;
	struct prefix prefix;

	if (prefix_parse(value, &prefix) < 0)
		return error_set(err, ERR_INVALID,
				 "'%s' is not an IPv4 prefix: give one like 10.0.0.0/8", value);
	if (!prefixes_add_egress(&s->screen->prefixes, prefix))
		return error_set(
			err, ERR_INVALID,
			"--egress is given more than %d prefixes, which is the limit: give fewer prefixes",
			EGRESS_PREFIXES_MAX);
	return set_by_name(s, NULL, err);
}

static int set_egress_by_address(void *field, const char *value, struct error *err)
{
	struct settings *s = field;

	(void)value, (void)err;
	s->egress->by_address = true;
	return 0;
}

static int set_egress_dry(void *field, const char *value, struct error *err)
{
	struct settings *s = field;

	(void)value, (void)err;
	s->egress->dry = true;
	return 0;
}

static int add_allow(void *field, const char *value, struct error *err)
{
	struct settings *s = field;
	struct prefixes *p = &s->screen->prefixes;
	const char *slash = strchr(value, '/');
	autofree char *address = strndup(value, slash ? (size_t)(slash - value) : strlen(value));
	uint64_t bits = 32;
	uint32_t parsed = 0;

	if (!address)
		return error_errno(err, ENOMEM, "memory");
	if (parse_address(address, &parsed, err) < 0 ||
	    (slash && command_line_number(slash + 1, 0, 32, &bits, err) < 0))
		return -1;
	if (p->nallow == PREFIXES_ALLOW_MAX)
		return error_set(
			err, ERR_INVALID,
			"--allow is given more than %d prefixes, which is the limit: give fewer prefixes",
			PREFIXES_ALLOW_MAX);
	p->allow[p->nallow++] = (struct prefix){parsed, (uint32_t)bits};
	return 0;
}

static int set_rate(void *field, const char *value, struct error *err)
{
	return command_line_number(value, 1, BUCKET_RATE_MAX, field, err);
}

#define AT(field) offsetof(struct settings, field)

static const struct option_row rows[] = {
	{"vm-fd", "N", option_fd, AT(vm_fd),
	 "inherited stream socket of the VM, or a packet socket of its tap"},
	{"passt-fd", "N", option_fd, AT(passt_fd),
	 "inherited stream socket of passt; without it frames lead nowhere"},
	{"bridge-fd", "N", option_fd, AT(bridge_fd),
	 "inherited tap on a bridge: frames go both ways, and nothing is filtered"},
	{"supervisor-fd", "N", option_fd, AT(supervisor_fd),
	 "inherited SOCK_SEQPACKET socket: the host's addresses come in, lines about connections go out"},
	{"guest-address", "A", set_guest, 0, "the one IPv4 address that the guest may send from"},
	{"guest-mac", "M", set_mac, 0, "the one Ethernet address that the guest may send from"},
	{"dns-address", "A", set_dns, 0, "the address whose UDP port 53 is always open"},
	{"dns-resolver", "A", set_resolver, 0,
	 "the host's resolver, to which TCP port 53 of the DNS address leads; without it that port is blocked"},
	{"allow", "PREFIX", add_allow, 0, "open a prefix that is otherwise blocked; repeatable"},
	{"egress", NULL, set_by_name, 0, "block every public address that no name opens"},
	{"egress-name", "NAME[:PORT,...]", add_egress_name, 0,
	 "a name that opens its addresses; repeatable"},
	{"egress-prefix", "PREFIX", add_egress_prefix, 0,
	 "a public prefix that stays open beside names; repeatable"},
	{"egress-no-sni", NULL, set_egress_by_address, 0,
	 "judge connections by their address only, and not by the host that they name"},
	{"egress-dry-run", NULL, set_egress_dry, 0,
	 "refuse nothing by names, and report what would be refused"},
	{"bytes-per-second", "N", set_rate, AT(bytes_per_second),
	 "most bytes a second, each way; default: no limit"},
	{"uid", "N", option_uid, AT(identity), "become this user, if root"},
	{"gid", "N", option_gid, AT(identity), "become this group, if root"},
	{"lease-fd", "N", option_fd, AT(lease_fd), "keep this inherited descriptor open"},
	{"unconfined", NULL, option_given, AT(unconfined),
	 "go on where no namespaces can be made, under the list of system calls alone"},
	{"caller", "VERSION", option_caller, 0,
	 "fail if this program is not of the same version as the caller"},
	{"label", "TEXT", option_ignore, 0, "ignored; it is shown in ps"},
	{"help", NULL, option_given, AT(help), "print this"},
	{"version", NULL, option_given, AT(version), "print the version"},
};

void settings_help(void)
{
	puts("Usage: microagent-netgate --vm-fd N --passt-fd N --supervisor-fd N --guest-address A\n"
	     "                          --guest-mac M [OPTION...]\n"
	     "       microagent-netgate --vm-fd N --bridge-fd N [OPTION...]\n"
	     "The filter between a virtual machine and passt.\n");
	command_line_help(rows, ARRAY_SIZE(rows));
}

int settings_parse(struct settings *s, int argc, char **argv, struct error *err)
{
	static const uint8_t none[6];

	if (command_line_parse(rows, ARRAY_SIZE(rows), argc, argv, s, NULL, err) < 0)
		return -1;
	if (s->help || s->version)
		return 0;
	if (s->bridge_fd >= 0 && s->vm_fd < 0)
		return error_set(
			err, ERR_INVALID,
			"--bridge-fd needs --vm-fd, the socket of the machine, with which it exchanges frames: give both; see --help");
	/* With a bridge frames are not filtered, so options for the filter are refused. */
	if (s->bridge_fd >= 0 &&
	    (s->passt_fd >= 0 || s->supervisor_fd >= 0 || s->bytes_per_second || s->screen->guest ||
	     s->screen->prefixes.nallow || s->screen->by_name))
		return error_set(
			err, ERR_INVALID,
			"--bridge-fd does not work with --passt-fd, --supervisor-fd, --guest-address, --allow, --egress or --bytes-per-second, because a bridge has no filter: leave these out");
	if (s->bridge_fd >= 0)
		return 0;
	if (s->vm_fd < 0 || s->supervisor_fd < 0 || !s->screen->guest ||
	    memcmp(s->screen->guest_mac, none, sizeof(none)) == 0)
		return error_set(
			err, ERR_INVALID,
			"--vm-fd, --supervisor-fd, --guest-address and --guest-mac are needed: give them all; see --help");
	return 0;
}
