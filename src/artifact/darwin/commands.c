/* SPDX-License-Identifier: MIT */
/* Kernels and images are made on Linux: what a start asks for is here. */
#include "artifact/commands.h"

const struct artifact_command artifact_commands[] = {
	{"sha256", "[FILE...]", "print SHA-256 digests", artifact_sha256, {"fd"}},
	{"init-sha256",
	 "[FILE]",
	 "print the digest of the microagent-init in an initrd",
	 artifact_init_sha256,
	 {"fd"}},
	{.name = NULL},
};
