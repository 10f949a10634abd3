/* SPDX-License-Identifier: MIT */
#ifndef ARTIFACT_KCONFIG_H
#define ARTIFACT_KCONFIG_H

#include "base/buf.h"
#include "base/error.h"

/* Appends the fragment to `out`. Then appends each setting that has another name in a newer kernel
 * once more, under the new name. Kconfig ignores names that it does not know. */
int kconfig_add_new_names(const char *fragment, struct buf *out, struct error *err);

/*
 * Checks that a .config has every setting of a fragment. A setting that was renamed must have the
 * name of the kernel version that the .config is for. A line "CONFIG_X=..." must be in the .config
 * literally. For "# CONFIG_X is not set" it is enough that the .config does not set CONFIG_X.
 * ERR_INVALID names the settings that Kconfig did not keep. The function is pure.
 */
int kconfig_verify(const char *fragment, const char *config, struct error *err);

#endif
