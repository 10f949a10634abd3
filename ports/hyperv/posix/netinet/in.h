/* SPDX-License-Identifier: MIT */
/* Declares the types of addresses. POSIX has a header of this name, but mingw-w64 does not. */
#ifndef HYPERV_POSIX_NETINET_IN_H
#define HYPERV_POSIX_NETINET_IN_H

#include <winsock2.h>

#include <ws2tcpip.h>

#endif
