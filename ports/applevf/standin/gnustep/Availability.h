/* SPDX-License-Identifier: MIT */
/* The releases of Apple's that a client is compiled for. The stand-in has the classes of release 14
 * that a Linux machine needs, but no saving and restoring. @available() always says yes. */
#pragma once

#define __MAC_OS_X_VERSION_MAX_ALLOWED 140000

#define API_AVAILABLE(...)
