/* SPDX-License-Identifier: MIT */
/* Finds Firecracker's executable, and checks whether it can be used. */
#ifndef BACKEND_FIRECRACKER_BINARY_H
#define BACKEND_FIRECRACKER_BINARY_H

#include <jansson.h>
#include <stdbool.h>

#include "backend/parts/programs.h"
#include "base/error.h"

/* The version that Firecracker prints. All members are 0 if Firecracker prints no version, or a
 * version of an unknown form. */
struct fc_version {
	char text[64]; /* the version as text, for example "1.14.0" */
	int major, minor, patch;
	/*
	 * An array of the paths of further files that a stand-in for Firecracker needs in its cell;
	 * NULL for the real Firecracker. Tests use the stand-in, which emulates and needs no KVM.
	 * The stand-in prints the paths in a second line: "microagent stand-in: PATH:PATH".
	 */
	json_t *stand_in;
};

/* Returns the path of Firecracker, which the caller frees. Firecracker is $MICROAGENT_FIRECRACKER,
 * or else the program firecracker in PATH, or else libexec/microagent/firecracker beside
 * microagent's directory bin. */
char *fc_find(struct error *err);
extern program_finder *const fc_binaries[]; /* an array that NULL ends */
/* Checks the executable. Fails with ERR_UNAVAILABLE if it is for another architecture, is too old,
 * has a known defect or does not print its version. The answer of a usable Firecracker is
 * remembered (host_facts.h), since asking for the version takes a fifth of the time of a start. */
int fc_check(const char *path, struct fc_version *out, struct error *err);
void fc_check_forget(void);
void fc_version_free(struct fc_version *version);
/* Parses the text that Firecracker prints as its version. fc_check() calls this function. */
int fc_version_parse(const char *text, struct fc_version *out, struct error *err);

#endif
