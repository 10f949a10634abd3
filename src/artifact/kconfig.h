/* SPDX-License-Identifier: MIT */
#ifndef ARTIFACT_KCONFIG_H
#define ARTIFACT_KCONFIG_H

#include "base/buf.h"
#include "base/error.h"

/* Appends the fragment to `out`. Then appends each setting that has another name in newer kernels
 * again, with its new name. So the result is valid for older and newer kernels, because Kconfig
 * ignores names that it does not know. */
int kconfig_add_new_names(const char *fragment, struct buf *out, struct error *err);

/*
 * Checks that a .config has every setting of a fragment. For a renamed setting, the name in the
 * .config's version of Linux is checked. A line "CONFIG_X=..." must be in the .config literally.
 * For "# CONFIG_X is not set" it is enough that the .config does not set CONFIG_X. ERR_INVALID: the
 * message names the settings that Kconfig did not keep. The function reads no files.
 */
int kconfig_verify(const char *fragment, const char *config, struct error *err);

#endif
