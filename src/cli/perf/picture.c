/* SPDX-License-Identifier: MIT */
/* The figures as one picture: stages one after the other on an axis of time, each with its spread
 * as a thin line; processes below each other, private memory dark and shared light. */
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "cli/perf/perf.h"

enum {
	WIDTH = 980,
	LEFT = 150, /* where the axis begins */
	AXIS = 620, /* and how long it is */
	TOP = 74,   /* of the first row */
	ROW = 26,
	BAR = 14,
	PICTURE_MAX = 256 * 1024
};

#define INK "#1c2733"
#define FAINT "#6b7a89"
#define STAGE_COLOUR "#2f6f9f"
#define WHOLE_COLOUR "#1c2733"
#define SHARED_COLOUR "#b9d3e6"
#define SPREAD_COLOUR "#d9822b"

struct picture {
	struct buf *out;
	const struct perf_report *report;
	double most; /* what the axis ends at */
	const char *unit;
};

static double at(const struct picture *picture, double value)
{
	return LEFT + AXIS * value / picture->most;
}

/* The least of 1, 2 and 5 times a power of ten that gives at most eight steps. */
static double step_of(double most)
{
	static const double factors[] = {2, 2.5, 2};
	double step = 0.001;

	for (size_t i = 0; most / step > 8; i++)
		step *= factors[i % ARRAY_SIZE(factors)];
	return step;
}

static int draw_axis(const struct picture *picture, struct error *err)
{
	double bottom = TOP + ROW * (double)picture->report->row_count;
	double step = step_of(picture->most);

	for (int i = 0; i * step <= picture->most * 1.0001; i++) {
		double value = i * step;

		if (buf_printf(picture->out, err,
			       "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%.1f\" "
			       "stroke=\"#e3e8ee\"/>\n<text x=\"%.1f\" y=\"%.1f\" "
			       "text-anchor=\"middle\" fill=\"" FAINT "\">%g</text>\n",
			       at(picture, value), TOP - 6, at(picture, value), bottom,
			       at(picture, value), bottom + 16, value) < 0)
			return -1;
	}
	return buf_printf(picture->out, err,
			  "<text x=\"%d\" y=\"%.1f\" fill=\"" FAINT "\">%s</text>\n",
			  LEFT + AXIS + 24, bottom + 16, picture->unit);
}

static int draw_bar(const struct picture *picture, double y, double from, double to,
		    const char *colour, struct error *err)
{
	double x = at(picture, from), width = at(picture, to) - x;

	return buf_printf(picture->out, err,
			  "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" rx=\"2\" "
			  "fill=\"%s\"/>\n",
			  x, y, width < 1 ? 1 : width, BAR, colour);
}

static int draw_spread(const struct picture *picture, double y, double from,
		       const struct perf_spread *spread, struct error *err)
{
	double middle = y + BAR / 2.0;

	return buf_printf(picture->out, err,
			  "<path d=\"M%.1f %.1fH%.1fm0 -4v8M%.1f %.1fv8\" stroke=\"" SPREAD_COLOUR
			  "\" fill=\"none\" stroke-width=\"1.5\"/>\n",
			  at(picture, from + spread->least), middle,
			  at(picture, from + spread->most), at(picture, from + spread->least),
			  middle - 4);
}

static int draw_words(const struct picture *picture, double y, const struct perf_row *row,
		      double value, double end, struct error *err)
{
	return buf_printf(picture->out, err,
			  "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\"%s>%s<title>%s</title>"
			  "</text>\n<text x=\"%.1f\" y=\"%.1f\">%.*f</text>\n",
			  LEFT - 10, y + BAR - 2,
			  row->kind == PERF_WHOLE ? " font-weight=\"bold\"" : "", row->name,
			  row->what, at(picture, end) + 8, y + BAR - 2,
			  value < 10 ? 2 : value < 100, value);
}

/* from: where the stage begins, the end of those before. */
static int draw_row(const struct picture *picture, size_t index, double from, struct error *err)
{
	const struct perf_row *row = &picture->report->rows[index];
	struct perf_spread spread = perf_spread_of(&row->samples);
	double y = TOP + ROW * (double)index, end = from + spread.median;
	double furthest = from + spread.most;
	const char *colour = row->kind == PERF_WHOLE ? WHOLE_COLOUR : STAGE_COLOUR;

	if (row->shared.count) {
		double shared = perf_spread_of(&row->shared).median;

		if (draw_bar(picture, y, end, end + shared, SHARED_COLOUR, err) < 0)
			return -1;
		furthest = end + shared > furthest ? end + shared : furthest;
	}
	if (draw_bar(picture, y, from, end, colour, err) < 0 ||
	    (row->samples.count > 1 && draw_spread(picture, y, from, &spread, err) < 0))
		return -1;
	return draw_words(picture, y, row, spread.median, furthest, err);
}

static int draw_rows(const struct picture *picture, struct error *err)
{
	const struct perf_report *report = picture->report;
	double from = 0;

	for (size_t i = 0; i < report->row_count; i++) {
		const struct perf_row *row = &report->rows[i];
		bool follows = row->kind == PERF_STAGE && !report->memory;

		if (draw_row(picture, i, follows ? from : 0, err) < 0)
			return -1;
		if (follows)
			from += perf_spread_of(&row->samples).median;
	}
	return 0;
}

/* What every row fits in. */
static double furthest_of(const struct perf_report *report)
{
	double from = 0, most = 0;

	for (size_t i = 0; i < report->row_count; i++) {
		const struct perf_row *row = &report->rows[i];
		struct perf_spread spread = perf_spread_of(&row->samples);
		bool follows = row->kind == PERF_STAGE && !report->memory;
		double end = (follows ? from : 0) + spread.most;

		if (row->shared.count)
			end = spread.median + perf_spread_of(&row->shared).median;
		most = end > most ? end : most;
		from += follows ? spread.median : 0;
	}
	return most > 0 ? most : 1;
}

static int draw_heads(const struct picture *picture, struct error *err)
{
	const struct perf_report *report = picture->report;

	return buf_printf(
		picture->out, err,
		"<text x=\"24\" y=\"30\" font-size=\"17\" font-weight=\"bold\">microagent "
		"perf %s</text>\n<text x=\"24\" y=\"50\" fill=\"" FAINT "\">%" PRId64
		" x %s of %s on %s; medians, with least and most as a thin "
		"line%s</text>\n",
		report->measure, report->count, report->of, report->base,
		json_text(report->machine, "accelerator", "?"),
		report->memory ? "; dark: private, light: shared" : "");
}

static int draw_all(const struct picture *picture, struct error *err)
{
	int height = TOP + ROW * (int)picture->report->row_count + 36;

	if (buf_printf(picture->out, err,
		       "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
		       "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"12\" "
		       "fill=\"" INK "\">\n<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n",
		       WIDTH, height, WIDTH, height, WIDTH, height) < 0 ||
	    draw_heads(picture, err) < 0 || draw_axis(picture, err) < 0 ||
	    draw_rows(picture, err) < 0)
		return -1;
	return buf_printf(picture->out, err, "</svg>\n");
}

int perf_draw(const struct perf_report *report, const char *path, struct error *err)
{
	autobuf struct buf out = BUF_INIT(PICTURE_MAX);
	const struct picture picture = {
		.out = &out,
		.report = report,
		.most = furthest_of(report),
		.unit = report->memory ? "MiB" : "ms",
	};

	if (draw_all(&picture, err) < 0)
		return -1;
	return path_replace_file_at(AT_FDCWD, path, buf_bytes(&out), out.len, 0644, PATH_NO_SYNC,
				    err);
}
