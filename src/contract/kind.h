/* SPDX-License-Identifier: MIT */
/*
 * The kind of a workspace, which its id shows: a session, or a workspace that people made
 * themselves and call a workspace. Sessions have commands of their own, and the commands for
 * workspaces cannot replace them, so messages about sessions use other words.
 */
#ifndef CONTRACT_KIND_H
#define CONTRACT_KIND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* The suffix of the names of sessions and bases in their ids; commands take the names without
 * it. */
#define BUNDLE_SUFFIX ".bundle"

/* Returns the length of id without BUNDLE_SUFFIX. */
size_t kind_name_length(const char *id);
bool kind_is_session(const char *id);

/* Stores the name of a workspace for messages: workspace "NAME", or session NAME. */
#define KIND_NAME_ROOM 192
void kind_name(const char *id, char out[KIND_NAME_ROOM]);

/* Stores the name of a workspace for the supervisors' answers: session NAME, or workspace ID. */
void kind_bare_name(const char *id, char out[KIND_NAME_ROOM]);
/* Sets an error that begins with the bare name of a workspace. fmt: the rest of the sentence.
 * Returns -1. */
int kind_error(const char *id, enum error_code code, struct error *err, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* Puts the bare name in front of the message, unless the message begins with it. Returns -1. */
int kind_prefix(const char *id, struct error *err);

/* Why nothing, or not this, can be done in a workspace. */
enum kind_words {
	KIND_QUARANTINED,
	KIND_KEPT,	  /* the workspace is in quarantine, and only an explicit request ends it */
	KIND_NOT_RUNNING, /* detail: the state of the workspace */
	KIND_ENDED,	  /* the machine has ended, and nobody has recorded that yet */
	KIND_PAUSED,	  /* detail: why, as in its event */
	KIND_BUSY,	  /* detail: the state of the workspace, which will change soon */
	KIND_AT_QUOTA,	  /* detail: the state of the session, which will change when its disk gets
			   * room */
	KIND_LOST,	  /* detail: how the loss was noticed */
	KIND_NO_OUTPUT,	  /* detail: the output that was asked for */
	KIND_WORDS_COUNT
};
/* Sets the error in the words for the kind of the workspace, with the reason. Returns -1. */
int kind_say(enum kind_words what, const char *id, const char *detail, enum error_code code,
	     struct error *err);

#endif
