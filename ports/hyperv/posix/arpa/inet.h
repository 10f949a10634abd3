/* SPDX-License-Identifier: MIT */
/* Declares the functions for addresses as text. POSIX has a header of this name, but mingw-w64 does
 * not. */
#ifndef HYPERV_POSIX_ARPA_INET_H
#define HYPERV_POSIX_ARPA_INET_H

#include <winsock2.h>

#include <ws2tcpip.h>

#ifndef IN_LOOPBACKNET
#define IN_LOOPBACKNET 127
#endif

#endif
