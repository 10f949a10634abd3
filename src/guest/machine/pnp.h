/* SPDX-License-Identifier: MIT */
/*
 * Reads the answer that the kernel got when it configured the card by itself ("ip=dhcp" on its
 * command line). /proc/net/pnp has it, as the kernel's Documentation/admin-guide/nfs/nfsroot.rst
 * describes:
 *
 * #PROTO: DHCP            or "#MANUAL" if the kernel has asked no server domain <domain-name>
 * nameserver <ip-of-server> bootserver <ip-of-server>
 *
 * The words come from a DHCP server and are hostile: a domain that is no name of DNS is left out.
 */
#ifndef GUEST_PNP_H
#define GUEST_PNP_H

#include <stdbool.h>

#include "guest/machine/network.h"

#define PNP_PATH "/proc/net/pnp"
#define PNP_BYTES 4096

/* Fills in dns and domain. Returns false, and changes nothing, if the kernel has asked no
 * server. */
bool pnp_read(const char *text, struct network *out);

#endif
