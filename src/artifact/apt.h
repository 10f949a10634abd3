/* SPDX-License-Identifier: MIT */
/*
 * Finds and downloads packages of Debian with apt. apt checks the signatures of the packages, and
 * does not install them. None of the functions needs root.
 */
#ifndef ARTIFACT_APT_H
#define ARTIFACT_APT_H

#include "artifact/deb.h"

/* The apt of this host, for packages of one architecture. If the architecture is not the host's,
 * apt runs with a separate configuration and separate lists, because otherwise the second
 * architecture would have to be added to the host's own apt. */
struct apt {
	enum architecture architecture;
	char *config; /* path of a configuration for apt; NULL: apt uses the system's
		       * configuration */
};
/* Opens apt for an architecture. `dir` is an empty directory for apt's lists, which must exist as
 * long as *out is used. If the architecture is not this host's, the lists are downloaded. The call
 * fails if one of the lists cannot be downloaded.
 * 
 * If apt_open(), apt_find(), apt_find_dependency() or apt_fetch() fails because of apt, of apt's
 * archives or of apt's lists, the error has REASON_NO_PACKAGE. */
int apt_open(enum architecture architecture, const char *dir, struct apt *out, struct error *err);
void apt_close(struct apt *apt); /* accepts a zeroed one */
#define auto_apt __attribute__((cleanup(apt_close)))

/* Finds a package in apt's lists, with the version that apt would install. Does not use the
 * network. ERR_NOT_FOUND: the lists do not have the package. */
int apt_find(const struct apt *apt, const char *package, struct deb *out, struct error *err);
/* Finds the first package on which a meta package depends. */
int apt_find_dependency(const struct apt *apt, const char *package, struct deb *out,
			struct error *err);
/* Downloads the package into the directory `dir`, and sets deb->file to the path of the downloaded
 * file. */
int apt_fetch(const struct apt *apt, struct deb *deb, const char *dir, struct error *err);

#endif
