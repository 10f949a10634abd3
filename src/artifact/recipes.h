/* SPDX-License-Identifier: MIT */
/* The files of the directory images/ that are built into this program, so that the program works
 * without its sources. */
#ifndef ARTIFACT_RECIPES_H
#define ARTIFACT_RECIPES_H

/* images/kernel/tuned.config */
extern const char recipe_tuned_config[];
/* images/kernel/tuned-arm64.config */
extern const char recipe_tuned_arm64_config[];
/* Contents of images/debian/packages: one name on each line. A line that begins with '#' is a
 * comment. */
extern const char recipe_debian_packages[];

#endif
