/* SPDX-License-Identifier: MIT */
/*
 * The kind of a workspace, which its id shows: either a session, or a workspace that a person has
 * made. People use other commands for a session than for a workspace. So messages and reasons about
 * a session differ from those about any other workspace.
 */
#ifndef CONTRACT_KIND_H
#define CONTRACT_KIND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* The suffix of the ids of sessions and bases. Their names, which commands accept, are the ids
 * without this suffix. */
#define BUNDLE_SUFFIX ".bundle"

/* Returns the length of `id` without BUNDLE_SUFFIX. */
size_t kind_name_length(const char *id);
bool kind_is_session(const char *id);

/* Stores the name of a workspace for messages of the library: `workspace "NAME"`, or `session
 * NAME`. */
#define KIND_NAME_ROOM 192
void kind_name(const char *id, char out[KIND_NAME_ROOM]);

/* Stores the name of a workspace for messages of the supervisors: `workspace ID`, or `session
 * NAME`. */
void kind_bare_name(const char *id, char out[KIND_NAME_ROOM]);
/* Sets an error whose message is the text of kind_bare_name(), a blank, and the text of `fmt`.
 * Returns -1. */
int kind_error(const char *id, enum error_code code, struct error *err, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* Puts the text of kind_bare_name() in front of the message, unless the message begins with this
 * text. Returns -1. */
int kind_prefix(const char *id, struct error *err);

/* The reasons why a command cannot be carried out in a workspace. `detail` is the parameter of
 * kind_say(). */
enum kind_words {
	KIND_QUARANTINED,
	KIND_KEPT,	  /* the workspace is in quarantine, which only an explicit request can
			   * end */
	KIND_NOT_RUNNING, /* the workspace is not running; detail: its state */
	KIND_ENDED,	  /* the machine has ended, but its end is not recorded yet */
	KIND_PAUSED,	  /* the machine is paused; detail: the detail of its event, which says
			   * why */
	KIND_BUSY,	  /* the workspace is starting or stopping; detail: its state */
	KIND_AT_QUOTA,	  /* the disk of the session has reached its quota; detail: the state of the
			   * session */
	KIND_LOST,	  /* the machine was lost; detail: how the loss was noticed */
	KIND_NO_OUTPUT,	  /* the workspace does not declare an output; detail: the name of the
			   * output */
	KIND_WORDS_COUNT
};
/* Sets the error and its reason, with the text for the kind of the workspace. Returns -1. */
int kind_say(enum kind_words what, const char *id, const char *detail, enum error_code code,
	     struct error *err);

#endif
