/* SPDX-License-Identifier: MIT */
/*
 * Debian packages as files: found and fetched by apt, which checks their signatures, and unpacked
 * without being installed. Nothing here needs root.
 */
#ifndef ARTIFACT_APT_H
#define ARTIFACT_APT_H

#include "base/error.h"

struct deb {
	char *package; /* "linux-image-6.1.0-56-cloud-amd64" */
	char *version; /* "6.1.192-2" */
	char *file;    /* NULL until it is fetched */
};
void deb_free(struct deb *deb); /* accepts a zeroed one */
#define auto_deb __attribute__((cleanup(deb_free)))

/* The package, with the version apt would install. No network. ERR_NOT_FOUND when apt's lists do
 * not have it. */
int apt_find(const char *package, struct deb *out, struct error *err);
/* The first package that a meta package depends on. */
int apt_find_dependency(const char *package, struct deb *out, struct error *err);
/* Downloads it into dir and sets deb->file. */
int apt_fetch(struct deb *deb, const char *dir, struct error *err);

/* A file that the user has. */
int deb_open(const char *file, struct deb *out, struct error *err);
int deb_unpack(const struct deb *deb, const char *dir, struct error *err);

#endif
