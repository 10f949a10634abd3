/* SPDX-License-Identifier: MIT */
/*
 * What the guest says about the upper layer of a reviewed directory. Root in the guest can write
 * the upper layer by hand, so each entry is only a claim.
 *
 * The claims are stored beside the copy of the upper layer, as records that end with a NUL byte:
 *   TYPE MODE MTIME PATH   TYPE is a type of base/tree (f d l h s, and w o r); MODE is octal; MTIME is
 *                          in nanoseconds since 1970
 *   TEXT                   one more record, after a record with the type l, h, r or s
 */
#ifndef STORE_REVIEW_CLAIMS_H
#define STORE_REVIEW_CLAIMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"
#include "store/review/list.h"

/* A file of the upper layer, or a claim about a file. */
struct review_claim {
	const char *path; /* relative to the reviewed directory; belongs to the claims */
	/* 'f': regular file, 'd': directory, 'l': symbolic link, 'h': one more name of a regular
	 * file, 's': a file that was not sent, 'w': the path is removed */
	char type;
	mode_t mode; /* at most 07777 */
	int64_t mtime;
	const char *text; /* the target ('l'), the first name ('h') or a reason ('s'); else "" */
	/* Only for a directory. */
	bool opaque;	      /* nothing of the lower directory is visible */
	const char *redirect; /* the path of the lower directory, as overlayfs stores it; NULL: the
			       * path of this directory */
	size_t parent; /* the position of its directory among the claims; REVIEW_ROOT: the reviewed
			* directory */
	/* Why the claim cannot be true, a static text; NULL: it can be true. Nothing may be done
	 * because of a claim that cannot be true. */
	const char *broken;
};

struct review_claims {
	struct review_claim *entries; /* sorted by path, as strcmp() compares; a path comes twice
				       * only if at most one of its claims is not broken */
	size_t count;
	struct buf text;
};

/* Appends a record to the claims. `text` is NULL if the type has none. The mode is cut to 07777. */
int review_claims_add(struct buf *out, char type, mode_t mode, int64_t mtime_ns, const char *path,
		      const char *text, struct error *err);

/* Reads the claims from the file `fd`, from its beginning. ERR_IO if they are damaged. The root of
 * the upper layer is left out. The caller releases *out by review_claims_free(). */
int review_claims_read(int fd, struct review_claims *out, struct error *err);
void review_claims_free(struct review_claims *claims); /* accepts a zeroed one */
#define auto_review_claims __attribute__((cleanup(review_claims_free)))

/* Returns the position of the claim about the path that is not broken; REVIEW_NONE if there is
 * none. */
size_t review_claims_find(const struct review_claims *claims, const char *path);
/* Returns whether there is any claim about a path below the directory `path`. */
bool review_claims_are_below(const struct review_claims *claims, const char *path);

#endif
