/* SPDX-License-Identifier: MIT */
/*
 * Finds what a guest changed in a reviewed directory: compares the list of the image's files with the
 * guest's claims about the upper layer and with the copy of the upper layer. The result is what
 * apply.h would do on the host. Nothing of the guest is believed: a claim that cannot be true, and a
 * file that must not come to the host, become changes that are left out.
 */
#ifndef STORE_REVIEW_COMPARE_H
#define STORE_REVIEW_COMPARE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/sha256.h"
#include "store/review/claims.h"
#include "store/review/list.h"

enum review_kind {
	REVIEW_ADDED,
	REVIEW_CHANGED, /* another contents or another target, and perhaps another mode */
	REVIEW_REMOVED,
	REVIEW_RENAMED, /* the file has gone from `from`; its mode may have changed */
	REVIEW_MODE,	/* only another mode */
	REVIEW_TYPE,	/* a file became a link or a directory, for example */
};

/* How the host's file is now. */
enum review_host {
	REVIEW_HOST_UNKNOWN, /* the host's directory was not looked at, or the change is left out */
	REVIEW_HOST_SAME,    /* as in the image, so that the change can be applied */
	REVIEW_HOST_DONE,    /* as the change wants it */
	REVIEW_HOST_CONFLICT,
};

/* Where the contents of the new file are. */
enum review_source {
	REVIEW_NOWHERE, /* there is no new file, or the file is a directory */
	REVIEW_UPPER,	/* in the copy of the upper layer, under the path of the change */
	REVIEW_LOWER,	/* in the image, under the path `from` */
};

/* What a file is like. */
struct review_look {
	char type; /* 'f', 'd' or 'l'; 0: there is no file */
	mode_t mode;
	uint64_t size;
	uint8_t digest[SHA256_BYTES]; /* of the contents or of the target; all zero for 'd' */
};

struct review_change {
	const char *path; /* belongs to the changes */
	/* The path in the image of a renamed file, or of the contents (REVIEW_LOWER); otherwise
	 * NULL. Belongs to the changes. */
	const char *from;
	enum review_kind kind;
	enum review_source source;
	/* What is in the image under `path`, or under `from` if the file was renamed; and what the
	 * guest has under `path`. Both have the mode without set-ID bits. */
	struct review_look old, new;
	mode_t asked; /* the mode that the guest gave the file; `new` has what of it is applied */
	const char *target; /* of a new link; NULL if it is not known, or if there is none */
	size_t entry;	    /* the position of `old` in the list; REVIEW_NONE: none */
	/* A clause with the program that runs or obeys the file (store/share/autorun.h); NULL: it is
	 * no autorun file. */
	const char *by;
	bool in_git; /* the path, or `from`, is a directory .git or below one */
	/* Why apply leaves this change out; NULL: it does not. A static text. */
	const char *left_out;
	enum review_host host;
	const char *conflict; /* a clause about the host's file, for REVIEW_HOST_CONFLICT; a static
			       * text */
};

struct review_changes {
	/* Sorted by path, as strcmp() compares. A change that is left out may have the same path as
	 * another one, and comes behind it. */
	struct review_change *changes;
	size_t count;
	/* Identifies all changes, but not the state of the host. Two results with the same digest
	 * bring the same files to the host. */
	char digest[SHA256_TEXT];
	struct review_memory *memory; /* has the texts */
};

struct review_inputs {
	const struct review_list *list;
	const struct review_claims *claims;
	int tree; /* a descriptor of the copy of the upper layer */
	int host; /* a descriptor of the reviewed directory; -1: the host's files are not looked
		   * at */
	/* Permission bits that a file gets only if it has them already, as those of umask(2). */
	mode_t umask;
};

/* Compares. The list and the claims must exist as long as the result. The caller releases *out by
 * review_changes_free(). */
int review_compare(const struct review_inputs *inputs, struct review_changes *out,
		   struct error *err);
void review_changes_free(struct review_changes *changes); /* accepts a zeroed one */
#define auto_review_changes __attribute__((cleanup(review_changes_free)))

/* Returns the position of the change of this path that is not left out; REVIEW_NONE: none. */
size_t review_changes_find(const struct review_changes *changes, const char *path);

/*
 * Returns {"changes":[...],"digest":TEXT}, a new reference. A change has "path", "kind" (added,
 * changed, removed, renamed, mode, type), "type" (file, directory, link), and what it has of "from",
 * "oldType", "mode", "oldMode", "size", "oldSize", "digest", "oldDigest", "target", "by", "leftOut",
 * "host" (same, done, conflict) and "conflict". A path with bytes that are not UTF-8 has U+FFFD in
 * their place, and is whole in "pathBase64" ("fromBase64", "targetBase64").
 */
json_t *review_changes_json(const struct review_changes *changes, struct error *err);
/* Returns the name of a kind as in JSON; a static text. */
const char *review_kind_name(enum review_kind kind);
/* Puts a path into an object as review_changes_json() does: as `key`, and if it is not UTF-8 also as
 * `key` followed by "Base64". */
int review_put_path(json_t *object, const char *key, const char *path, struct error *err);

#endif
