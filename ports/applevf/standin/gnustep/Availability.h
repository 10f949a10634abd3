/* SPDX-License-Identifier: MIT */
/* The release of macOS for which a client is compiled. The stand-in has the classes of macOS 14
 * that a Linux machine needs, but it cannot save and restore machines. @available() is always
 * true. */
#pragma once

#define __MAC_OS_X_VERSION_MAX_ALLOWED 140000

#define API_AVAILABLE(...)
