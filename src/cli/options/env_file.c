/* SPDX-License-Identifier: MIT */
#include "cli/options/env_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/utf8.h"

#define BYTE_ORDER_MARK "\xef\xbb\xbf"
#define BLANKS " \t\v\f\r"

void env_list_free(struct env_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i]);
	free(list->items);
	*list = (struct env_list){0};
}

/* Adds `item`, which the list frees later. After a failure `item` is freed at once. Returns -1 if
 * `item` is NULL. */
static int env_list_add(struct env_list *list, char *item, struct error *err)
{
	char **items = item ? realloc(list->items, (list->count + 2) * sizeof(*items)) : NULL;

	if (!items) {
		free(item);
		return error_errno(err, ENOMEM, "environment");
	}
	list->items = items;
	items[list->count++] = item;
	items[list->count] = NULL;
	return 0;
}

/* Returns a text that tells what is wrong with a line; NULL if the line is a valid variable. `line`
 * has no newline. */
static const char *wrong_in(const char *line, size_t len)
{
	size_t name = strcspn(line, "=");

	if (memchr(line, '\0', len))
		return "the line has a NUL byte";
	if (!utf8_is_whole(line, len))
		return "the line is not UTF-8";
	if (name == 0)
		return "the variable has no name";
	if (strcspn(line, BLANKS) < name)
		return "the variable's name has a blank in it";
	return NULL;
}

/* No header of macOS declares this variable; glibc's does. */
extern char **environ; /* NOLINT: the second declaration */

const char *env_of_caller(const char *name)
{
	size_t len = strlen(name);

	for (char **each = environ; len && *each; each++)
		if (strncmp(*each, name, len) == 0 && (*each)[len] == '=')
			return *each;
	return NULL;
}

/* Adds the variable of a line. The value for a line "NAME" comes from the environment of this
 * program. If the variable is not set there, nothing is added. */
static int add_variable(struct env_list *list, const char *line, struct error *err)
{
	const char *item = strchr(line, '=') ? line : env_of_caller(line);

	return item ? env_list_add(list, strdup(item), err) : 0;
}

/* Adds the variable of one line of a file. `line` has no newline, and ends with a NUL. */
static int read_env_line(struct cli *cli, const char *file, size_t number, const char *line,
			 size_t len, struct env_list *list, struct error *err)
{
	size_t most = limit_get(LIMIT_VARIABLE_BYTES), blank;
	const char *wrong;

	if (number == 1 && strncmp(line, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)) == 0) {
		line += strlen(BYTE_ORDER_MARK);
		len -= strlen(BYTE_ORDER_MARK);
	}
	blank = strspn(line, BLANKS);
	line += blank;
	len -= blank;
	if (len == 0 || *line == '#')
		return 0;
	wrong = wrong_in(line, len);
	if (wrong)
		return cli_usage(cli, err, "%s:%zu: %s", file, number, wrong);
	if (len > most)
		return cli_usage(
			cli, err,
			"%s:%zu: the variable is longer than the limit of %zu bytes: shorten it",
			file, number, most);
	return add_variable(list, line, err);
}

static int read_env_text(struct cli *cli, const char *file, char *text, size_t len,
			 struct env_list *list, struct error *err)
{
	char *end = text + len;

	for (size_t number = 1; text < end; number++) {
		char *newline = memchr(text, '\n', (size_t)(end - text));
		char *stop = newline ? newline : end;
		char *last = stop > text && stop[-1] == '\r' ? stop - 1 : stop;

		*last = '\0';
		if (read_env_line(cli, file, number, text, (size_t)(last - text), list, err) < 0)
			return -1;
		text = stop + 1;
	}
	return 0;
}

/* Reads one file. Refuses a file that is longer than a request, since its variables could not be
 * sent. */
static int read_env_file(struct cli *cli, const char *file, struct env_list *list,
			 struct error *err)
{
	autobuf struct buf text = BUF_INIT(limit_get(LIMIT_REQUEST_BYTES));
	autoclose int fd = open(file, O_RDONLY | O_NOCTTY | O_CLOEXEC);
	autofree char *lines = NULL;
	size_t len;
	struct error why = {0};

	if (fd < 0)
		return error_errno(err, errno, "--env-file %s", file);
	if (fd_read_to_end(fd, &text, &why) < 0) {
		error_prefix(&why, "--env-file %s", file);
		return why.code == ERR_INVALID ? cli_usage_error(cli, &why, err)
					       : error_copy(err, &why);
	}
	len = text.len;
	lines = buf_steal_string(&text, err);
	return lines ? read_env_text(cli, file, lines, len, list, err) : -1;
}

int env_list_fill(struct cli *cli, const struct cli_words *files, const struct cli_words *given,
		  struct env_list *list, struct error *err)
{
	for (size_t i = 0; i < files->count; i++) {
		if (read_env_file(cli, files->items[i], list, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < given->count; i++) {
		if (env_list_add(list, strdup(given->items[i]), err) < 0)
			return -1;
	}
	return 0;
}
