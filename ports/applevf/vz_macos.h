/* SPDX-License-Identifier: MIT */
/* Functions for macOS guests. These functions need no event loop, since they wait for their
 * results. */
#ifndef BACKEND_APPLEVF_VZ_MACOS_H
#define BACKEND_APPLEVF_VZ_MACOS_H

#include "backend/backend.h"

/* Apple declares the classes of macOS guests only for its own processors. So the Intel half of a
 * universal program cannot run macOS guests. The stand-in of the tests has these classes on every
 * host. */
#if defined(__arm64__) || !defined(__APPLE__)
#define VZ_MACOS_GUESTS 1
#endif

/* Returns 0 if macOS guests can run on this host, or -1 with ERR_UNSUPPORTED if they cannot. */
int vz_macos_check(struct error *err);
int vz_macos_install(const struct macos_install *job, macos_told_fn *told, void *data,
		     struct error *err);
int vz_macos_identify(const char *directory, struct error *err);
int vz_macos_latest(char url[MACOS_URL_SIZE], struct error *err);

#endif
