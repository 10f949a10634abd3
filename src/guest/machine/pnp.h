/* SPDX-License-Identifier: MIT */
/*
 * Reads the values that a DHCP server has given to the kernel. If "ip=dhcp" is on the kernel's
 * command line, the kernel asks a DHCP server and configures the card. The values are in the file
 * /proc/net/pnp, which Documentation/admin-guide/nfs/nfsroot.rst of the kernel describes:
 *
 *   #PROTO: DHCP                 or "#MANUAL" if the kernel has asked no server
 *   domain <domain-name>
 *   nameserver <ip-of-server>
 *   bootserver <ip-of-server>
 *
 * The values come from a DHCP server, which may be hostile. So a domain that is not a valid name of
 * DNS is ignored.
 */
#ifndef GUEST_PNP_H
#define GUEST_PNP_H

#include <stdbool.h>

#include "guest/machine/network.h"

#define PNP_PATH "/proc/net/pnp"
#define PNP_BYTES 4096

/* Sets the members dns, ndns and domain of *out. `text` is the contents of /proc/net/pnp. Returns
 * false, and leaves *out unchanged, if the kernel has asked no server. */
bool pnp_read(const char *text, struct network *out);

#endif
