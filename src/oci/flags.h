/* SPDX-License-Identifier: MIT */
/*
 * Parses options as the command line of runc does (urfave/cli): with one dash or two, as "--x V"
 * and "--x=V", and as "--x=true" for an option without a value. The first word that is no option
 * ends the global options. If a command takes any words (OCI_WORDS_ANY), its first word also ends
 * its options; other commands may have options after words. "--" ends all options.
 */
#ifndef OCI_FLAGS_H
#define OCI_FLAGS_H

#include <stddef.h>

#include "base/error.h"
#include "oci/oci.h"

enum flag_kind {
	FLAG_GIVEN,	/* bool */
	FLAG_TEXT,	/* const char * */
	FLAG_TEXTS,	/* struct flag_texts; each use of the option adds a text */
	FLAG_NUMBER,	/* int64_t, at least 0 */
	FLAG_PRESERVED, /* a number of descriptors, which must be 0 */
	FLAG_IGNORED,	/* an option that is ignored and takes no value */
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

/* Parses the global options, and moves *words behind them. ERR_INVALID: an option is wrong. */
int flags_parse(const struct flag *flags, size_t count, char ***words, struct error *err);
/* Parses the options of oci->command, and removes them from words. Checks that the command takes
 * the number of words that are left. */
int flags_parse_command(const struct oci *oci, const struct flag *flags, size_t count, char **words,
			struct error *err);

#endif
