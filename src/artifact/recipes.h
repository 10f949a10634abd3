/* SPDX-License-Identifier: MIT */
/* The files of images/ that are built into this program, so that it works without the sources. */
#ifndef ARTIFACT_RECIPES_H
#define ARTIFACT_RECIPES_H

/* images/kernel/tuned.config */
extern const char recipe_tuned_config[];
/* images/kernel/tuned-arm64.config */
extern const char recipe_tuned_arm64_config[];
/* images/debian/packages: a name a line, '#' begins a comment. */
extern const char recipe_debian_packages[];

#endif
