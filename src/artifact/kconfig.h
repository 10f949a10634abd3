/* SPDX-License-Identifier: MIT */
#ifndef ARTIFACT_KCONFIG_H
#define ARTIFACT_KCONFIG_H

#include "base/error.h"

/*
 * Whether a .config has every setting of a fragment: "CONFIG_X=..." literally, "# CONFIG_X is not
 * set" also by absence. ERR_INVALID names the settings that Kconfig did not honour. Pure.
 */
int kconfig_verify(const char *fragment, const char *config, struct error *err);

#endif
