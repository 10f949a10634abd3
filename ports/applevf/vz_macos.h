/* SPDX-License-Identifier: MIT */
/* macOS guests of the framework, seen from C: what is done without a loop. The functions wait. */
#ifndef BACKEND_APPLEVF_VZ_MACOS_H
#define BACKEND_APPLEVF_VZ_MACOS_H

#include "backend/backend.h"

/* Apple declares the classes of macOS guests for its own processors alone, so that half of a
 * universal program has none; the stand-in has them wherever it is. */
#if defined(__arm64__) || !defined(__APPLE__)
#define VZ_MACOS_GUESTS 1
#endif

/* ERR_UNSUPPORTED where there are none. */
int vz_macos_check(struct error *err);
int vz_macos_install(const struct macos_install *job, macos_told_fn *told, void *data,
		     struct error *err);
int vz_macos_identify(const char *directory, struct error *err);
int vz_macos_latest(char url[MACOS_URL_SIZE], struct error *err);

#endif
