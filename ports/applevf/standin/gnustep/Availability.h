/* SPDX-License-Identifier: MIT */
/* The release of Apple's system for which a client is compiled. The stand-in has the classes of
 * release 14 that a Linux machine needs, but cannot save and restore. @available() is always
 * true. */
#pragma once

#define __MAC_OS_X_VERSION_MAX_ALLOWED 140000

#define API_AVAILABLE(...)
