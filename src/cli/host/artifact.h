/* SPDX-License-Identifier: MIT */
/*
 * Runs microagent-artifact, which hashes, fetches and builds files. The program microagent itself
 * only lists kernels and images. So microagent need not be linked with the libraries of
 * microagent-artifact.
 */
#ifndef CLI_ARTIFACT_H
#define CLI_ARTIFACT_H

#include "cli/cli.h"
#include "store/cache.h"

#define ARTIFACT_WORDS 16

/* Replaces this process by `microagent-artifact WORDS...`, so that the user sees the answer and the
 * exit code of that program. Adds --json if the user gave it. `words` is NULL-terminated and has at
 * most ARTIFACT_WORDS entries. Returns only after a failure, with -1. */
int artifact_become(struct cli *cli, const char *const *words, struct error *err);

/* A file whose digest is compared with the digest in the record of the file. */
struct artifact_check {
	const char *entry; /* the entry of the cache that has the file, such as "tuned-6.1.192-2" */
	const char *what;  /* the kind of the file: "kernel", "initrd" or "rootfs" */
	const char *path;
	/* the digest in the record; "": the record has no digest, and the file must only be
	 * readable */
	const char *expected;
};
/* Hashes the files, and prints for each one whether its digest agrees with the record. With --json
 * the results are in an array called `key` ("kernels"). Returns the exit code: 0 if all digests
 * agree, otherwise 1. */
int artifact_verify(struct cli *cli, const char *key, const struct artifact_check *checks,
		    size_t count, struct error *err);

#endif
