/* SPDX-License-Identifier: MIT */
#include "vsockd/options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/path.h"
#include "vsockd/packet.h"

typedef int option_fn(struct options *o, const char *value, struct error *err);

/* Decimal digits alone, within bounds. */
static int parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *out,
			struct error *err)
{
	char *end;
	unsigned long long v;

	errno = 0;
	v = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || v < min || v > max)
		return error_set(err, ERR_INVALID, "'%s' is not a number from %llu to %llu", text,
				 (unsigned long long)min, (unsigned long long)max);
	*out = v;
	return 0;
}

static int parse_fd(const char *text, int *out, struct error *err)
{
	uint64_t v;

	if (parse_number(text, 0, INT_MAX, &v, err) < 0)
		return -1;
	*out = (int)v;
	return 0;
}

static int set_vhost_socket(struct options *o, const char *value, struct error *err)
{
	(void)err;
	o->vhost_socket = value;
	return 0;
}

static int set_vhost_fd(struct options *o, const char *value, struct error *err)
{
	return parse_fd(value, &o->vhost_fd, err);
}

static int set_vsock_socket(struct options *o, const char *value, struct error *err)
{
	(void)err;
	o->vsock_socket = value;
	return 0;
}

static int set_vsock_fd(struct options *o, const char *value, struct error *err)
{
	return parse_fd(value, &o->vsock_fd, err);
}

static int set_lease_fd(struct options *o, const char *value, struct error *err)
{
	return parse_fd(value, &o->lease_fd, err);
}

/* 0 to 2 are reserved, and a CID has 32 bits. */
static int set_guest_cid(struct options *o, const char *value, struct error *err)
{
	return parse_number(value, PACKET_HOST_CID + 1, UINT32_MAX - 1, &o->guest_cid, err);
}

static int set_uid(struct options *o, const char *value, struct error *err)
{
	uint64_t v;

	if (parse_number(value, 0, UINT32_MAX - 1, &v, err) < 0)
		return -1;
	o->uid = (uid_t)v;
	o->set_uid = true;
	return 0;
}

static int set_gid(struct options *o, const char *value, struct error *err)
{
	uint64_t v;

	if (parse_number(value, 0, UINT32_MAX - 1, &v, err) < 0)
		return -1;
	o->gid = (gid_t)v;
	o->set_gid = true;
	return 0;
}

/* For people who look at `ps`. */
static int set_label(struct options *o, const char *value, struct error *err)
{
	(void)o, (void)value, (void)err;
	return 0;
}

/* P or P=PATH; a missing path is filled in at the end, when --vsock-socket is known. */
static int add_host_port(struct options *o, const char *value, struct error *err)
{
	const char *equals = strchr(value, '=');
	autofree char *digits = strndup(value, equals ? (size_t)(equals - value) : strlen(value));
	uint64_t port;

	if (!digits)
		return error_errno(err, ENOMEM, "memory");
	if (parse_number(digits, 0, CORE_PORT_FIRST - 1, &port, err) < 0)
		return -1;
	if (o->nports == limit_get(LIMIT_VSOCK_HOST_PORTS))
		return error_set(err, ERR_INVALID, "more than %u ports", o->nports);
	for (unsigned i = 0; i < o->nports; i++)
		if (o->ports[i].port == port)
			return error_set(err, ERR_INVALID, "port %s is listed twice", digits);
	if (equals && !equals[1])
		return error_set(err, ERR_INVALID, "port %s has an empty path", digits);
	if (equals && !(o->targets[o->nports] = path_absolute(equals + 1, err)))
		return -1;
	o->ports[o->nports++].port = (uint32_t)port;
	return 0;
}

static int set_help(struct options *o, const char *value, struct error *err)
{
	(void)value, (void)err;
	o->action = ACTION_HELP;
	return 0;
}

static int set_version(struct options *o, const char *value, struct error *err)
{
	(void)value, (void)err;
	o->action = ACTION_VERSION;
	return 0;
}

static int set_capabilities(struct options *o, const char *value, struct error *err)
{
	(void)value, (void)err;
	o->action = ACTION_CAPABILITIES;
	return 0;
}

static const struct option_row {
	const char *name;
	const char *value; /* NULL: takes none */
	option_fn *fn;
	const char *text;
} rows[] = {
	{"vhost-socket", "PATH", set_vhost_socket, "listen here for the front-end (QEMU)"},
	{"vhost-fd", "N", set_vhost_fd, "or: an inherited socket connected to it"},
	{"vsock-socket", "PATH", set_vsock_socket, "listen here for host clients"},
	{"vsock-fd", "N", set_vsock_fd, "or: an inherited socket that listens already"},
	{"guest-cid", "N", set_guest_cid, "the guest's context id (3)"},
	{"host-port", "P[=PATH]", add_host_port,
	 "let the guest reach host port P, a socket at PATH (<vsock-socket>_<P>); repeatable"},
	{"uid", "N", set_uid, "become this user, if root"},
	{"gid", "N", set_gid, "become this group, if root"},
	{"lease-fd", "N", set_lease_fd, "keep this inherited descriptor open"},
	{"label", "TEXT", set_label, "ignored; to be seen in ps"},
	{"print-capabilities", NULL, set_capabilities, "print what this program can do, as JSON"},
	{"help", NULL, set_help, "print this"},
	{"version", NULL, set_version, "print the version"},
};

void options_help(void)
{
	puts("Usage: microagent-vsockd --vhost-socket PATH --vsock-socket PATH [OPTION...]\n"
	     "A vsock device for one virtual machine, as a vhost-user back-end.\n");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int n = printf("  --%s%s%s", rows[i].name, rows[i].value ? " " : "",
			       rows[i].value ? rows[i].value : "");

		printf("%*s%s\n", n < 25 ? 25 - n : 1, "", rows[i].text);
	}
}

static int fill_targets(struct options *o, struct error *err)
{
	for (unsigned i = 0; i < o->nports; i++) {
		autofree char *path = NULL;

		if (o->targets[i])
			continue;
		if (!o->vsock_socket)
			return error_set(err, ERR_INVALID,
					 "--host-port %u needs a path (%u=PATH) with --vsock-fd",
					 o->ports[i].port, o->ports[i].port);
		if (asprintf(&path, "%s_%u", o->vsock_socket, o->ports[i].port) < 0)
			return error_errno(err, ENOMEM, "memory");
		o->targets[i] = path_absolute(path, err);
		if (!o->targets[i])
			return -1;
	}
	return 0;
}

static int check_complete(struct options *o, struct error *err)
{
	if (o->action != ACTION_SERVE)
		return 0;
	if (!o->vhost_socket == (o->vhost_fd < 0))
		return error_set(err, ERR_INVALID, "give one of --vhost-socket and --vhost-fd");
	if (!o->vsock_socket == (o->vsock_fd < 0))
		return error_set(err, ERR_INVALID, "give one of --vsock-socket and --vsock-fd");
	return fill_targets(o, err);
}

static int take_options(struct options *o, int argc, char **argv, struct error *err)
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
		if (rows[i].fn(o, optarg, err) < 0)
			return error_prefix(err, "--%s", rows[i].name);
	}
	if (optind < argc)
		return error_set(err, ERR_INVALID, "'%s' is not an option; see --help",
				 argv[optind]);
	return check_complete(o, err);
}

int options_parse(struct options *options, int argc, char **argv, struct error *err)
{
	struct options o = {.vhost_fd = -1, .vsock_fd = -1, .lease_fd = -1, .guest_cid = 3};

	o.ports = calloc((size_t)argc + 1, sizeof(*o.ports));
	o.targets = calloc((size_t)argc + 1, sizeof(*o.targets));
	if (!o.ports || !o.targets) {
		options_free(&o);
		return error_errno(err, ENOMEM, "memory");
	}
	if (take_options(&o, argc, argv, err) < 0) {
		options_free(&o);
		return -1;
	}
	*options = o;
	return 0;
}

void options_free(struct options *options)
{
	for (unsigned i = 0; options->targets && i <= options->nports; i++)
		free(options->targets[i]);
	free(options->targets);
	free(options->ports);
	*options = (struct options){.vhost_fd = -1, .vsock_fd = -1, .lease_fd = -1};
}
