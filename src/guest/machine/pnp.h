/* SPDX-License-Identifier: MIT */
/*
 * What the kernel was told when it configured the card by itself ("ip=dhcp" on its command line),
 * in /proc/net/pnp, as the kernel's Documentation/admin-guide/nfs/nfsroot.rst has it:
 *
 *	#PROTO: DHCP		or "#MANUAL" where it has asked nobody
 *	domain <domain-name>
 *	nameserver <ip-of-server>
 *	bootserver <ip-of-server>
 *
 * The words are a DHCP server's, and hostile: a domain that is no name of DNS is left out.
 */
#ifndef GUEST_PNP_H
#define GUEST_PNP_H

#include <stdbool.h>

#include "guest/machine/network.h"

#define PNP_PATH "/proc/net/pnp"
#define PNP_BYTES 4096

/* Fills in dns and domain. False, and nothing is touched, where the kernel has asked nobody. */
bool pnp_read(const char *text, struct network *out);

#endif
