/* SPDX-License-Identifier: MIT */
/*
 * Decides which characters can be shown to a person unchanged. The ranges come from properties of
 * the Unicode Character Database: Default_Ignorable_Code_Point and Bidi_Control (is_unseen),
 * Extended_Pictographic (is_emoji), and General_Category Zs (is_foreign_blank). If all characters
 * of a Unicode block belong to such a property, the range is the whole block. The ranges of
 * takes_joiners are the blocks of those scripts that may have joiners by RFC 5892, appendix A
 * (because of their Joining_Type or a virama).
 */
#include "base/cleanup.h"
#include "base/utf8.h"

#define ZERO_WIDTH_NON_JOINER 0x200c
#define ZERO_WIDTH_JOINER 0x200d
#define EMOJI_SELECTOR 0xfe0f
#define KEYCAP 0x20e3
#define REPLACEMENT 0xfffd

struct range {
	uint32_t first, last;
};

/* Returns true if one of the ranges, which must be sorted, contains the code. */
static bool is_of_ranges(uint32_t code, const struct range *ranges, size_t count)
{
	for (size_t i = 0; i < count && code >= ranges[i].first; i++)
		if (code <= ranges[i].last)
			return true;
	return false;
}

/* Returns true if a character is a control character, of one byte or of two: terminals obey both
 * kinds. */
static bool is_control(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0);
}

/* Returns true if a character is invisible, changes the direction of writing, or is a line end that
 * only some programs recognise. */
static bool is_unseen(uint32_t code)
{
	static const struct range ranges[] = {
		{0xad, 0xad},	    /* soft hyphen */
		{0x34f, 0x34f},	    /* combining grapheme joiner */
		{0x61c, 0x61c},	    /* Arabic letter mark */
		{0x115f, 0x1160},   /* Hangul fillers */
		{0x17b4, 0x17b5},   /* Khmer inherent vowels */
		{0x180b, 0x180f},   /* Mongolian variation selectors, vowel separator */
		{0x200b, 0x200b},   /* zero width space */
		{0x200e, 0x200f},   /* left-to-right and right-to-left marks */
		{0x2028, 0x202e},   /* line and paragraph separators, embeddings, overrides */
		{0x2060, 0x206f},   /* word joiner, invisible operators, isolates */
		{0x2800, 0x2800},   /* braille pattern of no dots */
		{0x3164, 0x3164},   /* Hangul filler */
		{0xfe00, 0xfe0e},   /* variation selectors 1 to 15 */
		{0xfeff, 0xfeff},   /* zero width no-break space */
		{0xffa0, 0xffa0},   /* halfwidth Hangul filler */
		{0xfff0, 0xfffb},   /* unassigned ignorable characters, interlinear annotations */
		{0x13430, 0x1343f}, /* Egyptian hieroglyph format controls */
		{0x16fe4, 0x16fe4}, /* Khitan small script filler */
		{0x1bca0, 0x1bca3}, /* shorthand format controls */
		{0x1d159, 0x1d159}, /* musical null notehead */
		{0x1d173, 0x1d17a}, /* musical format controls */
		{0xe0000, 0xe0fff}, /* tags, variation selectors 17 to 256 */
	};

	return is_of_ranges(code, ranges, ARRAY_SIZE(ranges));
}

static bool is_emoji(uint32_t code)
{
	static const struct range ranges[] = {
		{0xa9, 0xa9},	    {0xae, 0xae},     {0x203c, 0x203c}, {0x2049, 0x2049},
		{0x2122, 0x2122},   {0x2139, 0x2139}, {0x2190, 0x21ff}, {0x2300, 0x23ff},
		{0x24c2, 0x24c2},   {0x25a0, 0x27bf}, {0x2900, 0x297f}, {0x2b00, 0x2bff},
		{0x3030, 0x3030},   {0x303d, 0x303d}, {0x3297, 0x3297}, {0x3299, 0x3299},
		{0x1f000, 0x1faff},
	};

	return is_of_ranges(code, ranges, ARRAY_SIZE(ranges));
}

static bool takes_joiners(uint32_t code)
{
	static const struct range ranges[] = {
		{0x600, 0x8ff},	    /* Arabic, Syriac, Thaana, NKo, Samaritan, Mandaic */
		{0x900, 0xdff},	    /* Devanagari to Sinhala */
		{0x1000, 0x109f},   /* Myanmar */
		{0x1780, 0x18af},   /* Khmer, Mongolian */
		{0x1a20, 0x1aaf},   /* Tai Tham */
		{0x1b00, 0x1c4f},   /* Balinese, Sundanese, Batak, Lepcha */
		{0x1cd0, 0x1cff},   /* Vedic extensions */
		{0xa800, 0xaaff},   /* Syloti Nagri to Meetei Mayek extensions */
		{0xabc0, 0xabff},   /* Meetei Mayek */
		{0xfb50, 0xfdff},   /* Arabic presentation forms A */
		{0xfe70, 0xfefc},   /* Arabic presentation forms B */
		{0x10a00, 0x10fff}, /* Kharoshthi, Manichaean, Rohingya, Sogdian */
		{0x11000, 0x11fff}, /* Brahmi and the scripts that derive from it */
		{0x1e900, 0x1e95f}, /* Adlam */
	};

	return is_of_ranges(code, ranges, ARRAY_SIZE(ranges));
}

static bool is_joiner(uint32_t code)
{
	return code == ZERO_WIDTH_NON_JOINER || code == ZERO_WIDTH_JOINER;
}

/* Returns true if a character is an invisible sign of a script with joiners, and changes the
 * letters beside it: an invisible stacker or number joiner (Indic_Syllabic_Category), or the Syriac
 * abbreviation mark. */
static bool is_stacker(uint32_t code)
{
	static const struct range signs[] = {
		{0x70f, 0x70f},	    {0x1039, 0x1039},	{0x17d2, 0x17d2},   {0x1a60, 0x1a60},
		{0xaaf6, 0xaaf6},   {0x10a3f, 0x10a3f}, {0x1107f, 0x1107f}, {0x11133, 0x11133},
		{0x113d0, 0x113d0}, {0x1193e, 0x1193e}, {0x11a47, 0x11a47}, {0x11a99, 0x11a99},
		{0x11d45, 0x11d45}, {0x11d97, 0x11d97}, {0x11f42, 0x11f42},
	};

	return is_of_ranges(code, signs, ARRAY_SIZE(signs));
}

/* Returns true if a character is invisible without its neighbours. This includes joiners, the emoji
 * selector and signs that change the letters beside them. */
static bool is_unseen_alone(uint32_t code)
{
	return is_joiner(code) || code == EMOJI_SELECTOR || is_stacker(code) || is_unseen(code);
}

/* Returns true if a joiner is text. A joiner is text between two emoji, and beside a letter of a
 * script with joiners, unless it is beside another invisible character. Several joiners, or a
 * joiner and another invisible character, could form a hidden text. */
static bool does_join(const struct utf8_reader *at, uint32_t behind)
{
	if (at->code == ZERO_WIDTH_JOINER && is_emoji(behind) &&
	    (is_emoji(at->before) || (at->before == EMOJI_SELECTOR && is_emoji(at->before_that))))
		return true;
	return (takes_joiners(at->before) || takes_joiners(behind)) &&
	       !is_unseen_alone(at->before) && !is_unseen_alone(behind);
}

/* Returns true if the emoji selector is text. The selector is text after an emoji, and between a
 * digit, '#' or '*' and the keycap sign. */
static bool does_select(uint32_t before, uint32_t behind)
{
	return is_emoji(before) || (behind == KEYCAP && ((before >= '0' && before <= '9') ||
							 before == '#' || before == '*'));
}

/* Returns true if a character is a blank (General_Category Zs) other than the ASCII blank. */
static bool is_foreign_blank(uint32_t code)
{
	static const struct range ranges[] = {
		{0xa0, 0xa0},	  {0x1680, 0x1680}, {0x2000, 0x200a},
		{0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000},
	};

	return is_of_ranges(code, ranges, ARRAY_SIZE(ranges));
}

static bool is_blank(uint32_t code)
{
	return code == ' ' || code == '\t' || is_foreign_blank(code);
}

/* Returns true if a blank other than the ASCII blank is text. Such a blank is text between words,
 * and beside blanks of the same kind. Blanks of different kinds side by side, and a blank at the
 * end of a line, could form a hidden text. */
static bool does_space(const struct utf8_reader *at, uint32_t behind)
{
	return (!is_blank(at->before) || at->before == at->code) &&
	       (!is_blank(behind) || behind == at->code) && behind != 0 && behind != '\n' &&
	       behind != '\r';
}

static uint32_t code_of(const uint8_t *c, size_t len)
{
	uint32_t code = len == 1 ? c[0] : c[0] & (0x7fu >> len);

	for (size_t i = 1; i < len; i++)
		code = code << 6 | (c[i] & 0x3fu);
	return code;
}

/* Returns the code of the character at `text`; 0 at the end of the text (`left` is 0), and
 * REPLACEMENT for bytes that are not UTF-8. */
static uint32_t code_at(const uint8_t *text, size_t left)
{
	size_t bad, len = left > 0 ? utf8_sequence(text, left, &bad) : 0;

	return left == 0 ? 0 : len > 0 ? code_of(text, len) : REPLACEMENT;
}

bool utf8_needs_next(const struct utf8_reader *reader)
{
	return is_joiner(reader->code) || reader->code == EMOJI_SELECTOR ||
	       is_foreign_blank(reader->code);
}

size_t utf8_read(struct utf8_reader *reader, const char *text, size_t left, bool *is_text)
{
	const uint8_t *c = (const uint8_t *)text;
	size_t bad = 1, len = utf8_sequence(c, left, &bad), taken = len > 0 ? len : bad;
	uint32_t behind = code_at(c + taken, left - taken);

	reader->before_that = reader->before;
	reader->before = reader->code;
	reader->code = len > 0 ? code_of(c, len) : REPLACEMENT;
	if (len == 0)
		*is_text = false;
	else if (is_joiner(reader->code))
		*is_text = does_join(reader, behind);
	else if (reader->code == EMOJI_SELECTOR)
		*is_text = does_select(reader->before, behind);
	else if (is_foreign_blank(reader->code))
		*is_text = does_space(reader, behind);
	else
		*is_text = !is_control(reader->code) && !is_unseen(reader->code);
	return taken;
}
