/* SPDX-License-Identifier: MIT */
#include "guest/machine/hosts.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"

/* The agent adds this text to the line of the machine's name, so that it finds the line later. For
 * resolvers the text is a comment. */
#define MARK "# this machine"

struct line {
	const char *text;
	size_t len; /* the number of bytes of the line without its newline */
};

static bool next_line(const char **at, const char *end, struct line *out)
{
	const char *newline;

	if (*at == end)
		return false;
	newline = memchr(*at, '\n', (size_t)(end - *at));
	*out = (struct line){*at, (size_t)((newline ? newline : end) - *at)};
	*at = newline ? newline + 1 : end;
	return true;
}

static bool is_marked(const struct line *line)
{
	size_t len = strlen(MARK);

	return line->len >= len && memcmp(line->text + line->len - len, MARK, len) == 0;
}

/* Returns true if `name` is one of the names in the line, after its address. Upper and lower case
 * count as the same. */
static bool names(const struct line *line, const char *name)
{
	const char *at = line->text, *end = line->text + line->len;
	const char *comment = memchr(at, '#', line->len);
	bool is_address = true;

	for (end = comment ? comment : end; at < end;) {
		const char *word = at;

		while (at < end && !isspace((unsigned char)*at))
			at++;
		if (at > word && !is_address && (size_t)(at - word) == strlen(name) &&
		    strncasecmp(word, name, strlen(name)) == 0)
			return true;
		is_address = is_address && at == word;
		while (at < end && isspace((unsigned char)*at))
			at++;
	}
	return false;
}

static bool is_named(const char *text, size_t len, const char *name)
{
	const char *at = text, *end = text + len;
	struct line line;

	while (next_line(&at, end, &line))
		if (!is_marked(&line) && names(&line, name))
			return true;
	return false;
}

int hosts_complete(const char *text, size_t len, const char *name, struct buf *out,
		   struct error *err)
{
	/* Lines that are added to the file. A line is added if no line of the file has the name in
	 * `name`. Each line has all names of its address. */
	static const struct {
		const char *name, *line;
	} wanted[] = {
		{"localhost", "127.0.0.1\tlocalhost\n"},
		{"ip6-localhost", "::1\tlocalhost ip6-localhost ip6-loopback\n"},
	};
	const char *at = text, *end = text + len;
	struct line line;

	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		if (!is_named(text, len, wanted[i].name) &&
		    buf_printf(out, err, "%s", wanted[i].line) < 0)
			return -1;
	while (next_line(&at, end, &line))
		if (!is_marked(&line) && (buf_append(out, line.text, line.len, err) < 0 ||
					  buf_append(out, "\n", 1, err) < 0))
			return -1;
	/* The machine's name gets the address 127.0.1.1 of the loopback network, as in Debian.
	 * 127.0.0.1 is only for localhost. */
	if (*name && strcasecmp(name, "localhost") != 0 && !is_named(text, len, name) &&
	    buf_printf(out, err, "127.0.1.1\t%s %s\n", name, MARK) < 0)
		return -1;
	return out->len != len || memcmp(buf_bytes(out), text, len) != 0;
}

int hosts_keep(const char *path, const char *name, struct error *err)
{
	autobuf struct buf text = BUF_INIT(HOSTS_BYTES), whole = BUF_INIT(HOSTS_BYTES + 1024);
	autoclose int fd =
		open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0644);
	struct stat st;
	int changed;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == EISDIR ||
		       errno == ENXIO))
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return error_errno(err, errno, "%s", path);
	if (!S_ISREG(st.st_mode) || st.st_size > HOSTS_BYTES)
		return 0;
	if (fd_read_to_end(fd, &text, err) < 0)
		return error_prefix(err, "%s", path);
	changed = hosts_complete((const char *)buf_bytes(&text), text.len, name, &whole, err);
	if (changed <= 0)
		return changed;
	if (lseek(fd, 0, SEEK_SET) < 0 || ftruncate(fd, (off_t)whole.len) < 0)
		return error_errno(err, errno, "%s", HOSTS_FILE);
	return fd_write_all(fd, buf_bytes(&whole), whole.len, err);
}
