/* SPDX-License-Identifier: MIT */
/* The addresses of mode nat, the same in every guest. */
#ifndef CONTRACT_NAT_H
#define CONTRACT_NAT_H

#define NAT_GUEST "10.0.2.15"
#define NAT_GATEWAY "10.0.2.2"
/* The address of the DNS server in the guest. DNS queries to this address go to the host's
 * resolver. */
#define NAT_DNS "10.0.2.3"
#define NAT_SUBNET "10.0.2.0/24"
#define NAT_PREFIX_LENGTH 24
/* The MTU is large because only large frames make TCP fast: the virtual network card cannot leave
 * the cutting of large segments (TSO) to a later step. */
#define NAT_MTU 65520

#endif
