/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <strings.h>

#include "netgate/opening.h"

/* --- lines ----------------------------------------------------------------------------------- */

enum line_state { LINE_WHOLE, LINE_UNFINISHED, LINE_UNREADABLE };

/* Moves the next line of *from to *line, and removes the CR and LF after it. The line must have no
 * other CR or LF. The line must have no NUL, which a program in C would take for the end of the
 * line. */
static enum line_state take_line(struct bytes *from, struct bytes *line)
{
	for (size_t i = 0; i < from->len; i++) {
		unsigned byte = from->at[i];

		if (byte == '\r' && i + 1 == from->len)
			return LINE_UNFINISHED;
		if (byte == '\r' && from->at[i + 1] == '\n') {
			*line = (struct bytes){from->at, i};
			*from = behind(*from, i + 2);
			return LINE_WHOLE;
		}
		if (byte == '\r' || byte == '\n' || byte == '\0')
			return LINE_UNREADABLE;
	}
	return LINE_UNFINISHED;
}

/* Moves the bytes before the byte `end` from *from to *taken, and removes that byte. Returns false
 * if there is no such byte. */
static bool take_until(struct bytes *from, char end, struct bytes *taken)
{
	const uint8_t *at = from->len ? memchr(from->at, end, from->len) : NULL;

	if (!at)
		return false;
	*taken = (struct bytes){from->at, (size_t)(at - from->at)};
	*from = behind(*from, taken->len + 1);
	return true;
}

static bool is_spelled(struct bytes b, const char *word)
{
	return b.len == strlen(word) && strncasecmp((const char *)b.at, word, b.len) == 0;
}

static bool is_token(struct bytes b)
{
	static const char marks[] = "!#$%&'*+-.^_`|~";

	for (size_t i = 0; i < b.len; i++) {
		unsigned c = b.at[i], letter = c | 0x20;

		if ((letter < 'a' || letter > 'z') && (c < '0' || c > '9') &&
		    !strchr(marks, (int)c))
			return false;
	}
	return b.len != 0;
}

/* --- hosts ----------------------------------------------------------------------------------- */

/* Reads a host name, which may be followed by a colon and a port. */
static bool read_authority(struct bytes b, struct host_name *name)
{
	struct bytes host = b, port = b;

	if (take_until(&port, ':', &host)) {
		for (size_t i = 0; i < port.len; i++)
			if (port.at[i] < '0' || port.at[i] > '9')
				return false;
	}
	return host_name_take(name, host);
}

/* Reads the name of a host. A request may name its host in its target and in its field Host. If
 * `named` is true, *name already has the name from the target, and the two names must be equal. */
static bool agree_on(struct bytes authority, bool named, struct host_name *name)
{
	struct host_name here;

	if (!read_authority(authority, &here) || (named && !host_name_equal(&here, name)))
		return false;
	*name = here;
	return true;
}

/* Reads the target of a request: "/path", "*", or "http://host/path". Sets *authority to the host
 * of the third form; for the other two forms *authority becomes empty. */
static bool read_target(struct bytes target, struct bytes *authority)
{
	static const char scheme[] = "http://";
	size_t len = 0;

	*authority = (struct bytes){target.at, 0};
	if (u8(target, 0) == '/' || is_spelled(target, "*"))
		return true;
	if (target.len <= strlen(scheme) ||
	    !is_spelled((struct bytes){target.at, strlen(scheme)}, scheme))
		return false;
	target = behind(target, strlen(scheme));
	while (len < target.len && !strchr("/?#", target.at[len]))
		len++;
	*authority = (struct bytes){target.at, len};
	return len != 0;
}

/* Reads a request line such as "GET / HTTP/1.1". Sets *authority to the host that the line names,
 * or makes it empty. */
static bool read_request_line(struct bytes line, struct bytes *authority)
{
	struct bytes method, target;

	return take_until(&line, ' ', &method) && is_token(method) &&
	       !is_spelled(method, "CONNECT") && take_until(&line, ' ', &target) &&
	       read_target(target, authority) &&
	       (is_spelled(line, "HTTP/1.1") || is_spelled(line, "HTTP/1.0"));
}

static struct bytes without_spaces(struct bytes b)
{
	while (u8(b, 0) == ' ' || u8(b, 0) == '\t')
		b = behind(b, 1);
	while (b.len && (b.at[b.len - 1] == ' ' || b.at[b.len - 1] == '\t'))
		b.len--;
	return b;
}

/* --- the head -------------------------------------------------------------------------------- */

enum opening request_head_read(struct bytes stream, struct host_name *name)
{
	struct bytes line, authority = {stream.at, 0}, field;
	bool has_target, has_host = false;
	enum line_state state = LINE_UNREADABLE;

	/* If the first byte cannot begin a request, the bytes belong to another protocol, and the
	 * function does not wait for more bytes. */
	if (!stream.len || is_token((struct bytes){stream.at, 1}))
		state = take_line(&stream, &line);
	if (state == LINE_WHOLE && !read_request_line(line, &authority))
		return OPENING_UNREADABLE;
	has_target = authority.len != 0;
	if (has_target && !agree_on(authority, false, name))
		return OPENING_UNREADABLE;
	while (state == LINE_WHOLE) {
		state = take_line(&stream, &line);
		if (state == LINE_WHOLE && !line.len)
			return has_host ? OPENING_NAMED : OPENING_NAMELESS;
		if (state != LINE_WHOLE)
			break;
		if (!take_until(&line, ':', &field) || !is_token(field))
			return OPENING_UNREADABLE;
		if (!is_spelled(field, "Host"))
			continue;
		if (has_host || !agree_on(without_spaces(line), has_target, name))
			return OPENING_UNREADABLE;
		has_host = true;
	}
	return state == LINE_UNFINISHED ? OPENING_UNFINISHED : OPENING_UNREADABLE;
}
