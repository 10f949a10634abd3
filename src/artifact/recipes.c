/* SPDX-License-Identifier: MIT */
/*
 * Includes the recipes' files in the program, with the assembler's .incbin. The file names are
 * relative to the root of the sources, where make runs. In the Makefile, the object of this file
 * depends on these files.
 */
#include "artifact/recipes.h"

#define EMBED(symbol, file)                                  \
	__asm__(".section .rodata\n"                         \
		".balign 16\n"                               \
		".global " #symbol "\n"                      \
		".type " #symbol ", %object\n" #symbol ":\n" \
		".incbin \"" file "\"\n"                     \
		".byte 0\n"                                  \
		".size " #symbol ", . - " #symbol "\n"       \
		".previous\n")

EMBED(recipe_tuned_config, "images/kernel/tuned.config");
EMBED(recipe_tuned_arm64_config, "images/kernel/tuned-arm64.config");
EMBED(recipe_debian_packages, "images/debian/packages");
