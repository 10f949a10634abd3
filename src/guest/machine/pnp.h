/* SPDX-License-Identifier: MIT */
/*
 * Reads the answer of a DHCP server to the kernel. The kernel asks for it if "ip=dhcp" is on its
 * command line, and configures the card by itself. The answer is in the file /proc/net/pnp, which
 * Documentation/admin-guide/nfs/nfsroot.rst of the kernel describes:
 *
 *   #PROTO: DHCP                 or "#MANUAL" if the kernel has asked no server
 *   domain <domain-name>
 *   nameserver <ip-of-server>
 *   bootserver <ip-of-server>
 *
 * The words come from a DHCP server and are hostile. So a domain that is not a valid name of DNS is
 * left out.
 */
#ifndef GUEST_PNP_H
#define GUEST_PNP_H

#include <stdbool.h>

#include "guest/machine/network.h"

#define PNP_PATH "/proc/net/pnp"
#define PNP_BYTES 4096

/* Sets the members dns and domain of *out. If the kernel has asked no server, returns false and
 * changes nothing. */
bool pnp_read(const char *text, struct network *out);

#endif
