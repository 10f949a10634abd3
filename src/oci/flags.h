/* SPDX-License-Identifier: MIT */
/*
 * Parses options in the forms that runc's command line accepts (urfave/cli). An option has one dash
 * or two. Its value comes after it as "--x V" or "--x=V". An option without a value may be written
 * "--x=true". The first word that is not an option ends the global options. The options of a
 * command end in the same way if the command takes any words (OCI_WORDS_ANY). Other commands may
 * have options after words. "--" ends all options.
 */
#ifndef OCI_FLAGS_H
#define OCI_FLAGS_H

#include <stddef.h>

#include "base/error.h"
#include "oci/oci.h"

enum flag_kind {
	FLAG_GIVEN, /* an option without a value; `at` is a bool */
	FLAG_TEXT,  /* an option with a text; `at` is a const char * */
	/* an option that may be repeated; `at` is a struct flag_texts, to which each use adds a
	 * text */
	FLAG_TEXTS,
	FLAG_NUMBER,	/* an option with a number of at least 0; `at` is an int64_t */
	FLAG_PRESERVED, /* an option with a number of descriptors to pass on; only 0 is accepted */
	FLAG_IGNORED,	/* an option without a value, which has no effect */
	FLAG_IGNORED_TEXT
};

#define FLAG_TEXTS_MAX 128
struct flag_texts {
	const char *text[FLAG_TEXTS_MAX + 1];
	size_t count;
};

struct flag {
	const char *name;  /* the long name, without dashes */
	const char *brief; /* the short name, one letter; NULL: none */
	enum flag_kind kind;
	void *at;
};

/* Parses the global options, and moves *words to the first word after them. ERR_INVALID: an option
 * is unknown or has a wrong value. */
int flags_parse(const struct flag *flags, size_t count, char ***words, struct error *err);
/* Parses the options of oci->command, and removes them from `words`. Then checks that the command
 * takes as many words as are left. */
int flags_parse_command(const struct oci *oci, const struct flag *flags, size_t count, char **words,
			struct error *err);

#endif
