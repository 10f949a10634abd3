/* SPDX-License-Identifier: MIT */
/* Addresses as text: by POSIX's name of the header, which mingw-w64 does not have. */
#ifndef HYPERV_POSIX_ARPA_INET_H
#define HYPERV_POSIX_ARPA_INET_H

#include <winsock2.h>

#include <ws2tcpip.h>

#ifndef IN_LOOPBACKNET
#define IN_LOOPBACKNET 127
#endif

#endif
