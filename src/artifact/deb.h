/* SPDX-License-Identifier: MIT */
/*
 * Reads and unpacks a Debian package, which is an ar archive with two tar archives (deb(5)). A
 * package may be hostile, so a reader (reader.h) reads it. No program of the package is run. Only
 * those regular files are unpacked whose names the caller gives. No link in the package is made on
 * the host.
 */
#ifndef ARTIFACT_DEB_H
#define ARTIFACT_DEB_H

#include <stdbool.h>
#include <stdint.h>

#include "artifact/digest.h"
#include "base/architecture.h"
#include "base/error.h"

struct deb {
	char *package;		  /* name of the package, such as
				   * "linux-image-6.1.0-56-cloud-amd64" */
	char *version;		  /* "6.1.192-2" */
	char *file;		  /* path of the package's file; NULL: not downloaded yet */
	uint64_t bytes;		  /* size of the file; 0: not known */
	char sha256[DIGEST_TEXT]; /* SHA-256 of the file, from apt's lists or computed from the
				   * file */
	enum architecture architecture; /* architecture of the package; ARCHITECTURE_COUNT: it is
					 * for all architectures, or for one that this program does
					 * not know */
	bool vouched;			/* apt has downloaded and verified the file */
};
void deb_free(struct deb *deb); /* accepts a zeroed one */
#define auto_deb __attribute__((cleanup(deb_free)))

/* Reads the metadata and the digest of a package file that the user named. ERR_INVALID: the file is
 * not a package. */
int deb_open(const char *file, struct deb *out, struct error *err);
/*
 * Unpacks the regular files whose names begin with an entry of `names` into the directory. `names`
 * ends with NULL. The entries of `names`, such as "boot/vmlinuz-", are relative to the root or to
 * /usr of the package, because in some releases of Debian these files are in /usr, and in others in
 * the root. ERR_INVALID: a file is in the package twice, or a name leads out of the directory.
 *
 * The function first copies the package to a file without a name in the directory, and compares the
 * copy's digest with deb->sha256. ERR_CONFLICT: the digests differ. Then the function unpacks the
 * copy. So the unpacked files belong to this digest, even if another process writes to the
 * package's file meanwhile.
 */
int deb_unpack(const struct deb *deb, int dir, const char *const *names, struct error *err);

/* Unpacks an open package as deb_unpack() does, but in the calling process and without a copy. The
 * reader and tests call this function. */
int deb_unpack_here(int fd, int dir, const char *const *names, struct error *err);

/* Returns the text after `key` in the first line that begins with `key`. The caller frees the text.
 * Returns NULL with ERR_NOT_FOUND if no line begins with `key`. */
char *deb_field(const char *text, const char *key, struct error *err);
/* Returns true if a name is safe as an argument of a program and as a component of a file name. */
bool deb_is_plain_name(const char *name);

#endif
