/* SPDX-License-Identifier: MIT */
/* What goes to the user, apart from errors. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "cli/cli.h"

int cli_usage(struct cli *cli, struct error *err, const char *fmt, ...)
{
	char text[sizeof(err->msg)];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	cli->usage_error = true;
	return error_set(err, ERR_INVALID, "%s", text);
}

int cli_print_json(const json_t *value, struct error *err)
{
	autofree char *line = json_line(value, err);

	if (!line)
		return -1;
	if (printf("%s\n", line) < 0 || fflush(stdout) != 0)
		return error_errno(err, errno, "cannot write to stdout");
	return 0;
}

/* Bytes at text that are no text: controls, those of two bytes too (U+0080 to U+009F, which terminals obey
 * as well), and what turns the order of writing around (U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069). */
static size_t control_at(const char *text)
{
	const unsigned char *c = (const unsigned char *)text;

	if (c[0] < 0x20 || c[0] == 0x7f)
		return 1;
	if (c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0)
		return 2;
	if (c[0] != 0xe2)
		return 0;
	if (c[1] == 0x80 && (c[2] == 0x8e || c[2] == 0x8f || (c[2] >= 0xaa && c[2] <= 0xae)))
		return 3;
	return c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9 ? 3 : 0;
}

void cli_print_safe(FILE *out, const char *text)
{
	while (*text) {
		size_t control = control_at(text);

		putc(control ? '?' : *text, out);
		text += control ? control : 1;
	}
}

static void print_error_json(const struct error *err, FILE *out)
{
	json_auto_t *answer = json_object();
	autofree char *line = NULL;

	json_put(answer, "ok", json_false(), NULL);
	json_put(answer, "error", json_string_lossy(err->msg, strlen(err->msg)), NULL);
	json_put_string(answer, "errorCode", error_code_name(err->code), NULL);
	line = json_line(answer, NULL);
	fprintf(out, "%s\n", line ? line : "{\"ok\":false}");
}

void cli_print_error(const struct cli *cli, const struct error *err, FILE *out)
{
	if (cli->json) {
		print_error_json(err, out);
		return;
	}
	fputs("microagent: ", out);
	cli_print_safe(out, err->msg);
	putc('\n', out);
}

void cli_warn(const char *fmt, ...)
{
	char text[1024];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	fputs("microagent: warning: ", stderr);
	cli_print_safe(stderr, text);
	putc('\n', stderr);
}

bool cli_colour(FILE *stream)
{
	const char *no_colour = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	if (no_colour && *no_colour)
		return false;
	if (!term || !*term || strcmp(term, "dumb") == 0)
		return false;
	return isatty(fileno(stream)) == 1;
}
