/* SPDX-License-Identifier: MIT */
/* The option --macos, with which the program makes the files of a macOS guest and exits. */
#ifndef SUPERVISOR_MACOS_JOB_H
#define SUPERVISOR_MACOS_JOB_H

#include "backend/backend.h"

/* Reads the job from stdin, does the job, and prints its result. Returns the exit code. */
int macos_job_main(const struct backend *backend);

#endif
