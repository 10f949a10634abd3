/* SPDX-License-Identifier: MIT */
/* Declares the kinds of addresses, under the name that POSIX has for the header; mingw-w64 does not
 * have this header. */
#ifndef HYPERV_POSIX_NETINET_IN_H
#define HYPERV_POSIX_NETINET_IN_H

#include <winsock2.h>

#include <ws2tcpip.h>

#endif
