/* SPDX-License-Identifier: MIT */
/*
 * Archives out of fuzz input, so that what is tried is our code and not libarchive's checksums. The
 * input is entries, each ended by 0x1e; an entry is fields, each ended by 0x1f:
 *
 *   type, name, link, mode (octal), size (decimal; none: that of the data), data
 *
 * type is tar's, or 'p': a pax header of one record, whose key and value are name and data; 'N':
 * what follows is another archive; 'R': data as they are, in place of an entry.
 */
#ifndef TAR_INPUT_H
#define TAR_INPUT_H

#include "../unit/tar_entries.h"

#define FIELDS 6

struct tar_input {
	const uint8_t *at, *end;
};

/* Returns a malloc'd, NUL-terminated copy. The fields are cut out of it. */
static inline char *tar_next(struct tar_input *in, char *field[FIELDS], size_t len[FIELDS])
{
	const uint8_t *stop;
	size_t n, i = 0;
	char *text, *at;

	if (in->at == in->end)
		return NULL;
	stop = memchr(in->at, 0x1e, (size_t)(in->end - in->at));
	n = (size_t)((stop ? stop : in->end) - in->at);
	text = at = calloc(1, n + 1);
	if (!text)
		abort();
	memcpy(text, in->at, n);
	in->at += n + (stop != NULL);
	for (; i < FIELDS; i++) {
		char *cut = i + 1 < FIELDS ? memchr(at, 0x1f, n - (size_t)(at - text)) : NULL;

		field[i] = at;
		len[i] = cut ? (size_t)(cut - at) : n - (size_t)(at - text);
		at += len[i];
		if (cut)
			*at++ = '\0';
	}
	return text;
}

/* Builds one archive. Returns false if the input was at its end. */
static inline bool tar_build(struct tar_input *in, struct buf *out)
{
	char *field[FIELDS], *text;
	size_t len[FIELDS];
	bool any = false;

	while ((text = tar_next(in, field, len)) != NULL) {
		char type = field[0][0];

		any = true;
		if (type == 'p')
			tar_pax(out, field[1], field[5], len[5]);
		else if (type == 'R')
			tar_append(out, field[5], len[5]);
		else if (type != 'N')
			tar_put(out,
				&(struct tar_entry){.type = type,
						    .name = field[1],
						    .link = field[2],
						    .mode = (unsigned)strtoul(field[3], NULL, 8),
						    .data = field[5],
						    .len = len[5],
						    .size = *field[4] ? strtoull(field[4], NULL, 10)
								      : len[5]});
		free(text);
		if (type == 'N')
			break;
	}
	tar_end(out);
	return any;
}

#endif
