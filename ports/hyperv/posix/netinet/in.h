/* SPDX-License-Identifier: MIT */
/* Declares the types of addresses, in a header with the name that POSIX gives it. mingw-w64 lacks
 * that header. */
#ifndef HYPERV_POSIX_NETINET_IN_H
#define HYPERV_POSIX_NETINET_IN_H

#include <winsock2.h>

#include <ws2tcpip.h>

#endif
