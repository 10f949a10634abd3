/* SPDX-License-Identifier: MIT */
/* The commands of microagent-artifact on a Mac. These are only the commands that are needed to
 * start a machine, because kernels and images are made on Linux. */
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
