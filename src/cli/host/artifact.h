/* SPDX-License-Identifier: MIT */
/*
 * Runs microagent-artifact, which hashes, fetches and builds. This program itself only lists
 * kernels and images, so that it is not linked with the libraries of microagent-artifact.
 */
#ifndef CLI_ARTIFACT_H
#define CLI_ARTIFACT_H

#include "cli/cli.h"
#include "store/cache.h"

#define ARTIFACT_WORDS 16

/* Replaces this process by `microagent-artifact WORDS...`, with --json if that was given. `words`
 * is NULL-terminated and has at most ARTIFACT_WORDS entries. So the user sees the answer and the
 * exit code of microagent-artifact. Returns only on failure. */
int artifact_become(struct cli *cli, const char *const *words, struct error *err);

/* A file whose digest is compared with the recorded one. */
struct artifact_check {
	const char *entry; /* "tuned-6.1.192-2" */
	const char *what;  /* "kernel", "initrd", "rootfs" */
	const char *path;
	const char *expected; /* the recorded digest; "" if none is recorded: then the file must
			       * only be readable */
};
/* Hashes the files and prints whether each one is as it was recorded; with --json in an array
 * called key ("kernels"). Returns the exit code: 0 if all digests agree, else 1. */
int artifact_verify(struct cli *cli, const char *key, const struct artifact_check *checks,
		    size_t count, struct error *err);

#endif
