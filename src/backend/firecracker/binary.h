/* SPDX-License-Identifier: MIT */
/* Firecracker's executable: where it is, and whether it can be used. */
#ifndef BACKEND_FIRECRACKER_BINARY_H
#define BACKEND_FIRECRACKER_BINARY_H

#include <jansson.h>
#include <stdbool.h>

#include "backend/parts/programs.h"
#include "base/error.h"

/* The version that Firecracker says it has. Zeroed: it says nothing that is known. */
struct fc_version {
	char text[64]; /* "1.14.0" */
	int major, minor, patch;
	/*
	 * It is not Firecracker but the stand-in that tests use, which emulates. The stand-in needs
	 * no KVM, and more files in its cell: an array of paths. Its second line says so; the real
	 * one has no second line: "microagent stand-in: PATH:PATH".
	 */
	json_t *stand_in;
};

/* Finds Firecracker: MICROAGENT_FIRECRACKER, else firecracker in PATH, else in libexec beside our
 * bin. The result is malloc'd. */
char *fc_find(struct error *err);
extern program_finder *const fc_binaries[]; /* NULL at the end */
/* Checks the executable. ERR_UNAVAILABLE: it is for another architecture, is too old, has a known
 * defect or does not say its version. What a good one said is remembered (host_facts.h), since
 * asking takes a fifth of the time of a start. */
int fc_check(const char *path, struct fc_version *out, struct error *err);
void fc_check_forget(void);
void fc_version_free(struct fc_version *version);
/* Parses the text that Firecracker prints as its version; fc_check() uses this. */
int fc_version_parse(const char *text, struct fc_version *out, struct error *err);

#endif
