/* SPDX-License-Identifier: MIT */
/* Firecracker's executable: where it is, and whether it is one that will do. */
#ifndef BACKEND_FIRECRACKER_BINARY_H
#define BACKEND_FIRECRACKER_BINARY_H

#include <jansson.h>
#include <stdbool.h>

#include "backend/parts/programs.h"
#include "base/error.h"

/* What it says of itself. Zeroed: it says nothing that is known. */
struct fc_version {
	char text[64]; /* "1.14.0" */
	int major, minor, patch;
	/*
	 * It is no Firecracker but tests' stand-in for one, which emulates: it needs no KVM, and
	 * more files in its cell, an array of paths. Its second line says so, and the real one has
	 * none: "microagent stand-in: PATH:PATH".
	 */
	json_t *stand_in;
};

/* MICROAGENT_FIRECRACKER, else firecracker in PATH, else in libexec beside our bin. malloc'd. */
char *fc_find(struct error *err);
extern program_finder *const fc_binaries[]; /* NULL at the end */
/* ERR_UNAVAILABLE for one of another architecture, that is too old, has a defect that is known or
 * does not say its version.
 * What a good one said is remembered (host_facts.h): to ask takes as long as a fifth of a start. */
int fc_check(const char *path, struct fc_version *out, struct error *err);
void fc_check_forget(void);
void fc_version_free(struct fc_version *version);
/* As fc_check() read it. */
int fc_version_parse(const char *text, struct fc_version *out, struct error *err);

#endif
