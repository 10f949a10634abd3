/* SPDX-License-Identifier: MIT */
/* The command line, and the descriptors and paths that it names. */
#ifndef VSOCKD_OPTIONS_H
#define VSOCKD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/platform/linux/isolate.h"
#include "vsockd/core.h"

struct options {
	bool help, version, capabilities; /* only this information is to be printed */
	bool unconfined;		  /* go on without namespaces if there are none */
	const char *vhost_socket;	  /* NULL: vhost_fd is used */
	int vhost_fd;			  /* -1: none */
	int port_fd;			  /* -1: none */
	int link_fd;			  /* -1: none */
	const char *vsock_socket;
	int vsock_fd;
	int lease_fd;
	int busy_fd;
	uint64_t guest_cid;
	struct isolate_identity identity;
	struct host_port *ports; /* nports entries, whose paths are empty */
	char **targets;		 /* absolute paths, one for each of ports */
	unsigned nports;
};

int options_parse(struct options *options, int argc, char **argv, struct error *err);
void options_free(struct options *options);
void options_help(void); /* on stdout */

#endif
