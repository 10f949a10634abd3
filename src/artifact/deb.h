/* SPDX-License-Identifier: MIT */
/*
 * A Debian package as a file: deb(5), an ar archive with two tar archives. A package may be
 * hostile, so a reader (reader.h) reads it. No program of the package is run. Only those of its
 * regular files are unpacked whose names the caller asks for; no link of the package is ever made
 * on the host.
 */
#ifndef ARTIFACT_DEB_H
#define ARTIFACT_DEB_H

#include <stdbool.h>
#include <stdint.h>

#include "artifact/digest.h"
#include "base/architecture.h"
#include "base/error.h"

struct deb {
	char *package;		  /* "linux-image-6.1.0-56-cloud-amd64" */
	char *version;		  /* "6.1.192-2" */
	char *file;		  /* NULL until it is fetched */
	uint64_t bytes;		  /* size of the file; 0: not known */
	char sha256[DIGEST_TEXT]; /* digest of the file, from apt's lists or from reading it */
	enum architecture architecture; /* ARCHITECTURE_COUNT: the package is for all architectures,
					 * or for one that we do not know */
	bool vouched;			/* apt has fetched the file and verified it */
};
void deb_free(struct deb *deb); /* accepts a zeroed one */
#define auto_deb __attribute__((cleanup(deb_free)))

/* Reads the metadata and the digest of a package file that the user named. ERR_INVALID if the file
 * is no package. */
int deb_open(const char *file, struct deb *out, struct error *err);
/*
 * Unpacks the regular files whose names begin with an entry of `names`, a NULL-terminated list,
 * into the directory. Names are relative to the package's root or to its /usr, because some
 * releases of Debian have files in /usr that other releases have in the root: "boot/vmlinuz-",
 * "lib/modules/". ERR_INVALID for a file that is in the package twice, and for a name that leads
 * out of the directory.
 *
 * The function first copies the package to a file in the directory that has no name, compares the
 * digest of the copy with deb->sha256, and unpacks the copy. So the unpacked files are those of
 * this digest, even if another process writes to the package file during the call. ERR_CONFLICT if
 * the digests differ.
 */
int deb_unpack(const struct deb *deb, int dir, const char *const *names, struct error *err);

/* Unpacks an open package like deb_unpack(), but in the calling process and without a copy. The
 * reader and tests call it. */
int deb_unpack_here(int fd, int dir, const char *const *names, struct error *err);

/* Returns the rest of the first line that begins with `key`. The caller frees it. Returns NULL with
 * ERR_NOT_FOUND if no line begins with `key`. */
char *deb_field(const char *text, const char *key, struct error *err);
/* Returns true if a name is safe as an argument of a program and as a part of a file's name. */
bool deb_is_plain_name(const char *name);

#endif
