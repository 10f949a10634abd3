/* SPDX-License-Identifier: MIT */
/* Declares the functions for addresses as text, under the name that POSIX has for the header;
 * mingw-w64 does not have this header. */
#ifndef HYPERV_POSIX_ARPA_INET_H
#define HYPERV_POSIX_ARPA_INET_H

#include <winsock2.h>

#include <ws2tcpip.h>

#ifndef IN_LOOPBACKNET
#define IN_LOOPBACKNET 127
#endif

#endif
