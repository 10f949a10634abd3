/* SPDX-License-Identifier: MIT */
/* Which of Apple's releases a client is compiled for: the stand-in has the classes of release 13
 * that a Linux machine is made of, and some of later ones. @available() always says yes here. */
#pragma once

#define __MAC_OS_X_VERSION_MAX_ALLOWED 130000

#define API_AVAILABLE(...)
