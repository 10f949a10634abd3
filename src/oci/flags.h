/* SPDX-License-Identifier: MIT */
/*
 * Parses options like runc's command line (urfave/cli): one dash or two, "--x V" and "--x=V", and
 * "--x=true" for an option without value. The first other word ends the global options. It also
 * ends the options of a command that takes any words; options of other commands may also follow
 * words. "--" ends all options.
 */
#ifndef OCI_FLAGS_H
#define OCI_FLAGS_H

#include <stddef.h>

#include "base/error.h"
#include "oci/oci.h"

enum flag_kind {
	FLAG_GIVEN,	/* bool */
	FLAG_TEXT,	/* const char * */
	FLAG_TEXTS,	/* struct flag_texts; each use adds one */
	FLAG_NUMBER,	/* int64_t, at least 0 */
	FLAG_PRESERVED, /* a number of descriptors, which must be 0 */
	FLAG_IGNORED,	/* takes no value */
	FLAG_IGNORED_TEXT
};

#define FLAG_TEXTS_MAX 128
struct flag_texts {
	const char *text[FLAG_TEXTS_MAX + 1];
	size_t count;
};

struct flag {
	const char *name;  /* without dashes */
	const char *brief; /* one letter, or NULL */
	enum flag_kind kind;
	void *at;
};

/* Parses the global options and moves *words past them. Fails with ERR_INVALID. */
int flags_parse(const struct flag *flags, size_t count, char ***words, struct error *err);
/* Parses the options of oci->command and removes them from words. Checks that as many words are
 * left as the command takes. */
int flags_parse_command(const struct oci *oci, const struct flag *flags, size_t count, char **words,
			struct error *err);

#endif
