/* SPDX-License-Identifier: MIT */
#ifndef ARTIFACT_KCONFIG_H
#define ARTIFACT_KCONFIG_H

#include "base/buf.h"
#include "base/error.h"

/* Appends the fragment, and after it what newer kernels call its settings. Kconfig passes over a
 * name that it does not know. */
int kconfig_add_new_names(const char *fragment, struct buf *out, struct error *err);

/*
 * Whether a .config has every setting of a fragment, by the name that the kernel of the .config has
 * for it: "CONFIG_X=..." literally, "# CONFIG_X is not set" also by absence. ERR_INVALID names the
 * settings that Kconfig did not honour. Pure.
 */
int kconfig_verify(const char *fragment, const char *config, struct error *err);

#endif
