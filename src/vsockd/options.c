/* SPDX-License-Identifier: MIT */
#include "vsockd/options.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/command_line.h"
#include "base/limits.h"
#include "base/packet.h"
#include "base/path.h"

/* Sets the guest's CID. The numbers 0 to 2 and the highest number of 32 bits are reserved, and are
 * refused. */
static int set_guest_cid(void *field, const char *value, struct error *err)
{
	return command_line_number(value, PACKET_HOST_CID + 1, UINT32_MAX - 1, field, err);
}

/* Adds a port, given as P or P=PATH. A missing path is filled in by fill_targets(), when
 * --vsock-socket is known. */
static int add_host_port(void *field, const char *value, struct error *err)
{
	struct options *o = field;
	const char *equals = strchr(value, '=');
	autofree char *digits = strndup(value, equals ? (size_t)(equals - value) : strlen(value));
	uint64_t port;

	if (!digits)
		return error_errno(err, ENOMEM, "memory");
	if (command_line_number(digits, 0, CORE_PORT_FIRST - 1, &port, err) < 0)
		return -1;
	if (o->nports == limit_get(LIMIT_VSOCK_HOST_PORTS))
		return error_set(
			err, ERR_INVALID,
			"--host-port is given more than %u times, which is the limit: give fewer ports",
			o->nports);
	for (unsigned i = 0; i < o->nports; i++)
		if (o->ports[i].port == port)
			return error_set(err, ERR_INVALID,
					 "port %s is given twice by --host-port: leave one out",
					 digits);
	if (equals && !equals[1])
		return error_set(err, ERR_INVALID,
				 "port %s of --host-port has an empty path: write it as PORT=PATH",
				 digits);
	if (equals && !(o->targets[o->nports] = path_absolute(equals + 1, err)))
		return -1;
	o->ports[o->nports++].port = (uint32_t)port;
	return 0;
}

#define AT(field) offsetof(struct options, field)

static const struct option_row rows[] = {
	{"vhost-socket", "PATH", option_text, AT(vhost_socket),
	 "listen here for the front-end (QEMU)"},
	{"vhost-fd", "N", option_fd, AT(vhost_fd), "or: an inherited socket connected to it"},
	{"port-fd", "N", option_fd, AT(port_fd),
	 "or: an inherited socket that QEMU joins to the virtio-serial port `microagent`, without a device"},
	{"link-fd", "N", option_fd, AT(link_fd),
	 "or: an inherited socket that listens; the guest's one connection to it is used like such a port"},
	{"vsock-socket", "PATH", option_text, AT(vsock_socket), "listen here for host clients"},
	{"vsock-fd", "N", option_fd, AT(vsock_fd), "or: an inherited socket that listens already"},
	{"guest-cid", "N", set_guest_cid, AT(guest_cid), "the guest's context id (3)"},
	{"host-port", "P[=PATH]", add_host_port, 0,
	 "let the guest reach host port P, a socket at PATH (<vsock-socket>_<P>); repeatable"},
	{"uid", "N", option_uid, AT(identity), "become this user, if root"},
	{"gid", "N", option_gid, AT(identity), "become this group, if root"},
	{"lease-fd", "N", option_fd, AT(lease_fd), "keep this inherited descriptor open"},
	{"busy-fd", "N", option_fd, AT(busy_fd),
	 "an inherited eventfd: it is counted up when the host's first stream begins and when its last one ends"},
	{"unconfined", NULL, option_given, AT(unconfined),
	 "go on where no namespaces can be made, under the list of system calls alone"},
	{"caller", "VERSION", option_caller, 0,
	 "fail if this program is not of the same version as the caller"},
	{"label", "TEXT", option_ignore, 0, "ignored; it is shown in ps"},
	{"print-capabilities", NULL, option_given, AT(capabilities),
	 "print what this program can do, as JSON"},
	{"help", NULL, option_given, AT(help), "print this"},
	{"version", NULL, option_given, AT(version), "print the version"},
};

void options_help(void)
{
	puts("Usage: microagent-vsockd --vhost-socket PATH --vsock-socket PATH [OPTION...]\n"
	     "A vsock device for one virtual machine, as a vhost-user back-end.\n");
	command_line_help(rows, ARRAY_SIZE(rows));
}

static int fill_targets(struct options *o, struct error *err)
{
	for (unsigned i = 0; i < o->nports; i++) {
		autofree char *path = NULL;

		if (o->targets[i])
			continue;
		if (!o->vsock_socket)
			return error_set(
				err, ERR_INVALID,
				"--host-port %u needs the path of a socket when --vsock-fd is given: write %u=PATH",
				o->ports[i].port, o->ports[i].port);
		if (asprintf(&path, "%s_%u", o->vsock_socket, o->ports[i].port) < 0)
			return error_errno(err, ENOMEM, "memory");
		o->targets[i] = path_absolute(path, err);
		if (!o->targets[i])
			return -1;
	}
	return 0;
}

static int check_options(struct options *o, struct error *err)
{
	if (o->help || o->version || o->capabilities)
		return 0;
	if (!!o->vhost_socket + (o->vhost_fd >= 0) + (o->port_fd >= 0) + (o->link_fd >= 0) != 1)
		return error_set(
			err, ERR_INVALID,
			"microagent-vsockd needs exactly one of --vhost-socket, --vhost-fd, --port-fd and --link-fd: give one");
	if (!o->vsock_socket == (o->vsock_fd < 0))
		return error_set(
			err, ERR_INVALID,
			"microagent-vsockd needs exactly one of --vsock-socket and --vsock-fd: give one");
	return fill_targets(o, err);
}

int options_parse(struct options *options, int argc, char **argv, struct error *err)
{
	struct options o = {.vhost_fd = -1,
			    .port_fd = -1,
			    .link_fd = -1,
			    .vsock_fd = -1,
			    .lease_fd = -1,
			    .busy_fd = -1,
			    .guest_cid = 3};

	o.ports = calloc((size_t)argc + 1, sizeof(*o.ports));
	o.targets = calloc((size_t)argc + 1, sizeof(*o.targets));
	if (!o.ports || !o.targets) {
		options_free(&o);
		return error_errno(err, ENOMEM, "memory");
	}
	if (command_line_parse(rows, ARRAY_SIZE(rows), argc, argv, &o, NULL, err) < 0 ||
	    check_options(&o, err) < 0) {
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
	*options = (struct options){.vhost_fd = -1,
				    .port_fd = -1,
				    .link_fd = -1,
				    .vsock_fd = -1,
				    .lease_fd = -1,
				    .busy_fd = -1};
}
