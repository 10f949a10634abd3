/* SPDX-License-Identifier: MIT */
/* Declares the functions for addresses as text, in a header with the name that POSIX gives it.
 * mingw-w64 lacks that header. */
#ifndef HYPERV_POSIX_ARPA_INET_H
#define HYPERV_POSIX_ARPA_INET_H

#include <winsock2.h>

#include <ws2tcpip.h>

#ifndef IN_LOOPBACKNET
#define IN_LOOPBACKNET 127
#endif

#endif
