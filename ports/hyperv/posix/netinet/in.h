/* SPDX-License-Identifier: MIT */
/* Kinds of addresses: by POSIX's name of the header, which mingw-w64 does not have. */
#ifndef HYPERV_POSIX_NETINET_IN_H
#define HYPERV_POSIX_NETINET_IN_H

#include <winsock2.h>

#include <ws2tcpip.h>

#endif
