/* SPDX-License-Identifier: MIT */
/*
 * Options as runc's command line has them (urfave/cli): one dash or two, "--x V" and "--x=V",
 * "--x=true" of what takes no value. The first other word ends the global ones, and those of a
 * command that takes any words; those of other commands may be behind words too. "--" ends all.
 */
#ifndef OCI_FLAGS_H
#define OCI_FLAGS_H

#include <stddef.h>

#include "base/error.h"
#include "oci/oci.h"

enum flag_kind {
	FLAG_GIVEN,	/* bool */
	FLAG_TEXT,	/* const char * */
	FLAG_TEXTS,	/* struct flag_texts, each time one more */
	FLAG_NUMBER,	/* int64_t, of 0 and more */
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

/* The global ones: moves *words behind them. ERR_INVALID. */
int flags_parse(const struct flag *flags, size_t count, char ***words, struct error *err);
/* Those of oci->command, which are taken out of words: as many are left as that is to have. */
int flags_parse_command(const struct oci *oci, const struct flag *flags, size_t count, char **words,
			struct error *err);

#endif
