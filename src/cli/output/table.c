/* SPDX-License-Identifier: MIT */
/* Prints tables with aligned columns. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

#define GAP 2

int cli_table_row(struct cli_table *table, const char *const *cells, struct error *err)
{
	if (table->count + table->columns > table->room) {
		size_t room = 2 * (table->room + table->columns);
		char **grown = realloc(table->cells, room * sizeof(*grown));

		if (!grown)
			return error_errno(err, errno, "table");
		table->cells = grown;
		table->room = room;
	}
	for (size_t i = 0; i < table->columns; i++) {
		char *copy = strdup(cells[i] ? cells[i] : "-");

		if (!copy) {
			while (i-- > 0)
				free(table->cells[table->count + i]);
			return error_errno(err, errno, "table");
		}
		table->cells[table->count + i] = copy;
	}
	table->count += table->columns;
	return 0;
}

int cli_table_init(struct cli_table *table, size_t columns, const char *const *heads,
		   struct error *err)
{
	*table = (struct cli_table){.columns = columns};
	return cli_table_row(table, heads, err);
}

/* Returns the width of `text` in characters. Does not count the continuation bytes of UTF-8, which
 * need no room on the screen. */
static size_t width(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

static size_t column_width(const struct cli_table *table, size_t column)
{
	size_t widest = 0;

	for (size_t i = column; i < table->count; i += table->columns) {
		size_t w = width(table->cells[i]);

		widest = w > widest ? w : widest;
	}
	return widest;
}

static void print_row(const struct cli_table *table, size_t first, const size_t *widths, FILE *out)
{
	for (size_t i = 0; i < table->columns; i++) {
		const char *cell = table->cells[first + i];

		cli_print_safe(out, cell);
		if (i + 1 == table->columns)
			break;
		for (size_t pad = width(cell); pad < widths[i] + GAP; pad++)
			putc(' ', out);
	}
	putc('\n', out);
}

static void print_rows(const struct cli_table *table, const size_t *widths, FILE *out)
{
	bool bold = cli_colour(out);

	for (size_t first = 0; first < table->count; first += table->columns) {
		if (bold && first == 0)
			fputs("\033[1m", out);
		print_row(table, first, widths, out);
		if (bold && first == 0)
			fputs("\033[0m", out);
	}
}

void cli_table_print(const struct cli_table *table, FILE *out)
{
	size_t *widths = calloc(table->columns + 1, sizeof(*widths));

	if (!widths)
		return;
	for (size_t i = 0; i < table->columns; i++)
		widths[i] = column_width(table, i);
	print_rows(table, widths, out);
	free(widths);
}

void cli_table_free(struct cli_table *table)
{
	for (size_t i = 0; i < table->count; i++)
		free(table->cells[i]);
	free(table->cells);
	*table = (struct cli_table){0};
}
