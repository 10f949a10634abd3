/* SPDX-License-Identifier: MIT */
#ifndef ARTIFACT_KCONFIG_H
#define ARTIFACT_KCONFIG_H

#include "base/buf.h"
#include "base/error.h"

/* Appends the fragment to out, and then its settings under the names that newer kernels have for
 * them. Kconfig ignores a name that it does not know. */
int kconfig_add_new_names(const char *fragment, struct buf *out, struct error *err);

/*
 * Checks that a .config has every setting of a fragment, under the name that the kernel of the
 * .config has for it. "CONFIG_X=..." must be there literally; "# CONFIG_X is not set" may also be
 * absent. ERR_INVALID names the settings that Kconfig did not keep. The function is pure.
 */
int kconfig_verify(const char *fragment, const char *config, struct error *err);

#endif
