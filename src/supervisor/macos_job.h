/* SPDX-License-Identifier: MIT */
/* The option --macos: makes the files of a macOS guest, in the foreground. */
#ifndef SUPERVISOR_MACOS_JOB_H
#define SUPERVISOR_MACOS_JOB_H

#include "backend/backend.h"

/* Reads the job, does it, and prints its result. Returns the exit code. */
int macos_job_main(const struct backend *backend);

#endif
