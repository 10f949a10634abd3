/* SPDX-License-Identifier: MIT */
/* Named sizes of machines, for the option --profile. */
#ifndef CLI_PROFILE_H
#define CLI_PROFILE_H

#include <stdint.h>

struct profile {
	const char *name; /* the name of the profile; NULL ends the table */
	int64_t memory_mib, cpus, disk_mib;
};
extern const struct profile profiles[];

/* Finds a profile by its name. Returns NULL if the name is unknown. */
const struct profile *profile_find(const char *name);

#endif
