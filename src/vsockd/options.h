/* SPDX-License-Identifier: MIT */
/* The options of the command line, with the descriptors and paths that they name. */
#ifndef VSOCKD_OPTIONS_H
#define VSOCKD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/platform/linux/isolate.h"
#include "vsockd/core.h"

struct options {
	/* If one of these three is true, the program only prints the help, the version or its
	 * capabilities, and ends. */
	bool help, version, capabilities;
	bool unconfined; /* if namespaces cannot be made, the program works without them */
	/* Exactly one of the next four options is given. The others are NULL or -1. */
	const char *vhost_socket;
	int vhost_fd;
	int port_fd;
	int link_fd;
	/* Exactly one of the next two options is given. The other one is NULL or -1. */
	const char *vsock_socket;
	int vsock_fd;
	int lease_fd;
	int busy_fd;
	uint64_t guest_cid;
	struct isolate_identity identity;
	struct host_port *ports; /* the nports ports that the guest may dial; the member `path` of
				  * each is empty */
	char **targets;		 /* targets[i] is the absolute path of the socket of ports[i] */
	unsigned nports;
};

int options_parse(struct options *options, int argc, char **argv, struct error *err);
void options_free(struct options *options);
void options_help(void); /* prints the help to stdout */

#endif
