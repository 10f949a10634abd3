/* SPDX-License-Identifier: MIT */
/* The addresses in a guest whose network mode is nat. They are the same in every guest. */
#ifndef CONTRACT_NAT_H
#define CONTRACT_NAT_H

#define NAT_GUEST "10.0.2.15"
#define NAT_GATEWAY "10.0.2.2"
/* The address of the DNS server in the guest. DNS queries to this address go to the host's
 * resolver. */
#define NAT_DNS "10.0.2.3"
#define NAT_SUBNET "10.0.2.0/24"
#define NAT_PREFIX_LENGTH 24
/* The MTU is large because TCP is fast only with large frames: the virtual network card does not
 * support TSO, with which a guest could send larger segments than a frame. */
#define NAT_MTU 65520

#endif
