/* SPDX-License-Identifier: MIT */
#ifndef ARTIFACT_KCONFIG_H
#define ARTIFACT_KCONFIG_H

#include "base/buf.h"
#include "base/error.h"

/* Appends the fragment to `out`. Then appends each setting that has a different name in newer
 * kernels a second time, under that name. Kconfig ignores names that it does not know. */
int kconfig_add_new_names(const char *fragment, struct buf *out, struct error *err);

/*
 * Checks that a .config has every setting of a fragment. For a renamed setting, the name that is
 * valid in the .config's kernel version is checked. A line "CONFIG_X=..." must be in the .config
 * literally. For "# CONFIG_X is not set" it is enough that the .config does not set CONFIG_X.
 * ERR_INVALID: the message names the settings that Kconfig did not keep. The function is pure.
 */
int kconfig_verify(const char *fragment, const char *config, struct error *err);

#endif
