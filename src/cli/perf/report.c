/* SPDX-License-Identifier: MIT */
/* The figures of a measure: medians with how far they spread, as a table and as JSON. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "cli/perf/perf.h"

/* --- samples --------------------------------------------------------------------------------- */

static int add_sample(struct perf_samples *samples, double value, struct error *err)
{
	double *grown = realloc(samples->values, (samples->count + 1) * sizeof(*grown));

	if (!grown)
		return error_errno(err, ENOMEM, "samples");
	samples->values = grown;
	samples->values[samples->count++] = value;
	return 0;
}

static int by_size(const void *a, const void *b)
{
	double one = *(const double *)a, other = *(const double *)b;

	return (one > other) - (one < other);
}

struct perf_spread perf_spread_of(const struct perf_samples *samples)
{
	size_t n = samples->count;
	autofree double *sorted = malloc(n * sizeof(*sorted));

	if (!sorted) /* nothing else is at hand: the first one */
		return (struct perf_spread){samples->values[0], samples->values[0],
					    samples->values[0]};
	memcpy(sorted, samples->values, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), by_size);
	return (struct perf_spread){(sorted[(n - 1) / 2] + sorted[n / 2]) / 2, sorted[0],
				    sorted[n - 1]};
}

/* --- rows ------------------------------------------------------------------------------------ */

static struct perf_row *row_called(struct perf_report *report, const char *name)
{
	for (size_t i = 0; i < report->row_count; i++)
		if (strcmp(report->rows[i].name, name) == 0)
			return &report->rows[i];
	return NULL;
}

int perf_add(struct perf_report *report, const char *name, const char *what, enum perf_kind kind,
	     double value, double shared, struct error *err)
{
	struct perf_row *row = row_called(report, name);

	if (!row && report->row_count == ARRAY_SIZE(report->rows))
		return error_set(err, ERR_INTERNAL, "more rows than there is room for: %s", name);
	if (!row) {
		row = &report->rows[report->row_count++];
		row->what = what;
		row->kind = kind;
		snprintf(row->name, sizeof(row->name), "%s", name);
	}
	if (add_sample(&row->samples, value, err) < 0)
		return -1;
	return shared < 0 ? 0 : add_sample(&row->shared, shared, err);
}

void perf_report_free(struct perf_report *report)
{
	for (size_t i = 0; i < report->row_count; i++) {
		free(report->rows[i].samples.values);
		free(report->rows[i].shared.values);
	}
	json_decref(report->machine);
	*report = (struct perf_report){0};
}

/* --- the table ------------------------------------------------------------------------------- */

/* Of all stages together. */
static double sum_of_stages(const struct perf_report *report)
{
	double sum = 0;

	for (size_t i = 0; i < report->row_count; i++)
		if (report->rows[i].kind == PERF_STAGE)
			sum += perf_spread_of(&report->rows[i].samples).median;
	return sum;
}

#define FIGURE 16

static void write_figure(double value, char out[FIGURE])
{
	snprintf(out, FIGURE, "%9.2f", value);
}

static int add_time_row(struct cli_table *table, const struct perf_row *row, double sum,
			struct error *err)
{
	struct perf_spread spread = perf_spread_of(&row->samples);
	char median[FIGURE], least[FIGURE], most[FIGURE], share[FIGURE] = "";
	const char *const cells[] = {row->name, median, least, most, share, row->what};

	write_figure(spread.median, median);
	write_figure(spread.least, least);
	write_figure(spread.most, most);
	if (row->kind == PERF_STAGE && sum > 0)
		snprintf(share, sizeof(share), "%4.1f %%", 100 * spread.median / sum);
	return cli_table_row(table, cells, err);
}

static int add_memory_row(struct cli_table *table, const struct perf_row *row, struct error *err)
{
	struct perf_spread spread = perf_spread_of(&row->samples);
	char alone[FIGURE], least[FIGURE], most[FIGURE], shared[FIGURE];
	const char *const cells[] = {row->name, alone, least, most, shared, row->what};

	write_figure(spread.median, alone);
	write_figure(spread.least, least);
	write_figure(spread.most, most);
	write_figure(perf_spread_of(&row->shared).median, shared);
	return cli_table_row(table, cells, err);
}

static int print_figures(const struct perf_report *report, struct error *err)
{
	static const char *const of_time[] = {"STAGE",	   "MEDIAN ms", " LEAST ms",
					      "  MOST ms", " SHARE",	"WHAT IT IS"};
	static const char *const of_memory[] = {"PROCESS",   "  PRIVATE", "    LEAST",
						"     MOST", "   SHARED", "WHAT IT IS"};
	auto_table struct cli_table table = {0};
	double sum = sum_of_stages(report);

	if (cli_table_init(&table, ARRAY_SIZE(of_time), report->memory ? of_memory : of_time, err) <
	    0)
		return -1;
	for (size_t i = 0; i < report->row_count; i++)
		if (report->memory ? add_memory_row(&table, &report->rows[i], err) < 0
				   : add_time_row(&table, &report->rows[i], sum, err) < 0)
			return -1;
	cli_table_print(&table, stdout);
	return 0;
}

static int print_table(const struct perf_report *report, const char *picture, struct error *err)
{
	printf("%" PRId64 " x %s of %s on %s", report->count, report->of, report->base,
	       json_text(report->machine, "accelerator", "?"));
	fputs(" (", stdout);
	cli_print_safe(stdout, json_text(report->machine, "acceleratorReason", ""));
	fputs(report->memory ? "); MiB\n\n" : ")\n\n", stdout);
	if (print_figures(report, err) < 0)
		return -1;
	if (picture) {
		fputs("\npicture: ", stdout);
		cli_print_safe(stdout, picture);
		putchar('\n');
	}
	return CLI_EXIT_OK;
}

/* --- JSON ------------------------------------------------------------------------------------ */

static json_t *figures(const struct perf_samples *samples)
{
	struct perf_spread spread = perf_spread_of(samples);
	json_t *list = json_array();

	for (size_t i = 0; i < samples->count; i++)
		json_array_append_new(list, json_real(samples->values[i]));
	return json_pack("{s:f, s:f, s:f, s:o}", "median", spread.median, "least", spread.least,
			 "most", spread.most, "samples", list);
}

static json_t *row_json(const struct perf_report *report, const struct perf_row *row)
{
	if (report->memory)
		return json_pack("{s:s, s:s, s:o, s:o}", "name", row->name, "what", row->what,
				 "private", figures(&row->samples), "shared",
				 figures(&row->shared));
	return json_pack("{s:s, s:s, s:b, s:o}", "name", row->name, "what", row->what, "sum",
			 row->kind == PERF_WHOLE, "time", figures(&row->samples));
}

static int print_report_json(const struct perf_report *report, const char *picture,
			     struct error *err)
{
	json_auto_t *out = NULL;
	json_t *rows = json_array();

	for (size_t i = 0; i < report->row_count; i++)
		if (json_array_append_new(rows, row_json(report, &report->rows[i])) < 0) {
			json_decref(rows);
			return error_errno(err, ENOMEM, "rows");
		}
	out = json_pack("{s:s, s:s, s:s, s:s, s:I, s:s, s:o, s:s*}", "measure", report->measure,
			"base", report->base, "accelerator",
			json_text(report->machine, "accelerator", ""), "acceleratorReason",
			json_text(report->machine, "acceleratorReason", ""), "count",
			(json_int_t)report->count, "unit", report->memory ? "MiB" : "ms", "rows",
			rows, "picture", picture);
	return out ? cli_print_json(out, err) : error_errno(err, ENOMEM, "figures");
}

int perf_print(const struct cli *cli, const struct perf_report *report, const char *picture,
	       struct error *err)
{
	return cli->json ? print_report_json(report, picture, err)
			 : print_table(report, picture, err);
}
