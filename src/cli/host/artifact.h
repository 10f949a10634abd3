/* SPDX-License-Identifier: MIT */
/*
 * `kernel` and `image` list by themselves; what hashes, fetches or builds is microagent-artifact,
 * which this program links no library of.
 */
#ifndef CLI_ARTIFACT_H
#define CLI_ARTIFACT_H

#include "cli/cli.h"
#include "store/cache.h"

#define ARTIFACT_WORDS 16

/* Becomes `microagent-artifact WORDS...` (NULL-terminated, at most ARTIFACT_WORDS), with --json
 * when that was given: its answer and exit code are ours. Returns only on failure. */
int artifact_become(struct cli *cli, const char *const *words, struct error *err);

/* One file to be compared with its recorded digest. */
struct artifact_check {
	const char *entry; /* "tuned-6.1.192-2" */
	const char *what;  /* "kernel", "initrd", "rootfs" */
	const char *path;
	const char *expected; /* "" when nothing is recorded: then the file must only be readable */
};
/* Hashes and prints the verdict under the key ("kernels"). Exit code 0 when all agree, else 1. */
int artifact_verify(struct cli *cli, const char *key, const struct artifact_check *checks,
		    size_t count, struct error *err);

#endif
