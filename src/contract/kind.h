/* SPDX-License-Identifier: MIT */
/*
 * What kind of thing a workspace is, which its id tells: a session, or what people made themselves
 * and call a workspace. Sessions have commands of their own, which those of workspaces do not
 * replace, so people are told about them in other words.
 */
#ifndef CONTRACT_KIND_H
#define CONTRACT_KIND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Behind the names of sessions and bases, in their ids; commands take them without it. */
#define BUNDLE_SUFFIX ".bundle"

/* Bytes of id without a BUNDLE_SUFFIX. */
size_t kind_name_length(const char *id);
bool kind_is_session(const char *id);

/* What messages call it: workspace "NAME", or session NAME. */
#define KIND_NAME_ROOM 192
void kind_name(const char *id, char out[KIND_NAME_ROOM]);

/* What the supervisors' answers call it: session NAME, or workspace ID. */
void kind_bare_name(const char *id, char out[KIND_NAME_ROOM]);
/* Sets an error about it, which begins with its bare name. fmt: the rest of the sentence. Returns
 * -1. */
int kind_error(const char *id, enum error_code code, struct error *err, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* Puts that name in front of the message, unless the message begins with it. Returns -1. */
int kind_prefix(const char *id, struct error *err);

/* Why nothing can be done in it, or this cannot. */
enum kind_words {
	KIND_QUARANTINED,
	KIND_KEPT,	  /* in quarantine: it is not ended by what nobody asked for */
	KIND_NOT_RUNNING, /* detail: its state */
	KIND_ENDED,	  /* its machine, and nobody has recorded that yet */
	KIND_PAUSED,	  /* detail: why, as its event has it */
	KIND_BUSY,	  /* detail: its state, which will pass */
	KIND_AT_QUOTA,	  /* the same */
	KIND_LOST,	  /* detail: how that showed */
	KIND_NO_OUTPUT,	  /* detail: the one asked for */
	KIND_WORDS_COUNT
};
/* Sets the error in the words for its kind, with the reason. Returns -1. */
int kind_say(enum kind_words what, const char *id, const char *detail, enum error_code code,
	     struct error *err);

#endif
