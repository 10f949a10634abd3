/* SPDX-License-Identifier: MIT */
/* Which of Apple's releases a client is compiled for. The stand-in has the classes of release 14
 * that a Linux machine is made of, but no saving and restoring. @available() always says yes. */
#pragma once

#define __MAC_OS_X_VERSION_MAX_ALLOWED 140000

#define API_AVAILABLE(...)
