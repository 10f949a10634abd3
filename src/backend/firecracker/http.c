/* SPDX-License-Identifier: MIT */
#include "backend/firecracker/http.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

#define LENGTH_NONE SIZE_MAX

/* The status line and the headers of a response, while they are read. The empty line after the
 * headers is not included. */
struct head {
	const char *at, *end;
	size_t content_length;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Takes the next line, without its CRLF. Returns false if there is no further line, or if the line
 * has a control character or lacks its CRLF. */
static bool next_line(struct head *h, const char **line, size_t *len)
{
	const char *end = memchr(h->at, '\r', (size_t)(h->end - h->at));

	if (!end || end + 1 >= h->end || end[1] != '\n')
		return false;
	for (const char *p = h->at; p < end; p++)
		if ((unsigned char)*p < ' ')
			return false;
	*line = h->at;
	*len = (size_t)(end - h->at);
	h->at = end + 2;
	return true;
}

static const char status_front[] = "HTTP/1.";

/* Reads a status line such as "HTTP/1.1 204 No Content". The words after the number may be
 * missing. */
static bool read_status(const char *line, size_t len, int *status)
{
	const char *code = line + sizeof(status_front) + 1;

	if (len < sizeof(status_front) + 4 ||
	    memcmp(line, status_front, sizeof(status_front) - 1) != 0 ||
	    !is_digit(line[sizeof(status_front) - 1]) || line[sizeof(status_front)] != ' ' ||
	    !is_digit(code[0]) || !is_digit(code[1]) || !is_digit(code[2]) ||
	    (len > sizeof(status_front) + 4 && code[3] != ' '))
		return false;
	*status = (code[0] - '0') * 100 + (code[1] - '0') * 10 + (code[2] - '0');
	return true;
}

static bool read_length(const char *text, size_t len, size_t *out)
{
	size_t value = 0;

	if (len == 0 || len > 9)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!is_digit(text[i]))
			return false;
		value = value * 10 + (size_t)(text[i] - '0');
	}
	*out = value;
	return true;
}

static bool name_is(const char *name, size_t len, const char *wanted)
{
	return len == strlen(wanted) && strncasecmp(name, wanted, len) == 0;
}

static int read_header(struct head *h, const char *line, size_t len, struct error *err)
{
	const char *colon = memchr(line, ':', len);
	size_t name = colon ? (size_t)(colon - line) : 0;
	const char *value = colon ? colon + 1 : line;
	const char *end = line + len;

	if (name == 0 || memchr(line, ' ', name))
		return error_set(
			err, ERR_IO,
			"a header of Firecracker's answer is malformed: this is a bug, or Firecracker was taken over");
	while (value < end && *value == ' ')
		value++;
	while (end > value && end[-1] == ' ')
		end--;
	if (name_is(line, name, "Transfer-Encoding"))
		return error_set(
			err, ERR_IO,
			"Firecracker's answer has an encoding that microagent does not know: this is a bug, or Firecracker was taken over");
	if (!name_is(line, name, "Content-Length"))
		return 0;
	if (h->content_length != LENGTH_NONE ||
	    !read_length(value, (size_t)(end - value), &h->content_length))
		return error_set(
			err, ERR_IO,
			"the content length of Firecracker's answer is malformed: this is a bug, or Firecracker was taken over");
	return 0;
}

static int read_head(struct head *h, int *status, struct error *err)
{
	const char *line;
	size_t len;

	if (!next_line(h, &line, &len) || !read_status(line, len, status))
		return error_set(
			err, ERR_IO,
			"the status line of Firecracker's answer is malformed: this is a bug, or Firecracker was taken over");
	while (next_line(h, &line, &len))
		if (read_header(h, line, len, err) < 0)
			return -1;
	return h->at == h->end
		       ? 0
		       : error_set(
				 err, ERR_IO,
				 "a header of Firecracker's answer is malformed: this is a bug, or Firecracker was taken over");
}

int http_take(const uint8_t *bytes, size_t len, size_t body_max, struct http_response *out,
	      struct error *err)
{
	const char *text = (const char *)bytes;
	/* The end of the last header. After it come the CRLF of the last header and an empty
	 * line. */
	const char *end = memmem(text, len < HTTP_HEAD_MAX ? len : HTTP_HEAD_MAX, "\r\n\r\n", 4);
	struct head head = {.at = text, .content_length = LENGTH_NONE};
	int status = 0;

	/* If the first bytes cannot begin a status line, the response is refused at once. */
	if (memcmp(text, status_front,
		   len < sizeof(status_front) - 1 ? len : sizeof(status_front) - 1) != 0)
		return error_set(
			err, ERR_IO,
			"the status line of Firecracker's answer is malformed: this is a bug, or Firecracker was taken over");
	if (!end)
		return len >= HTTP_HEAD_MAX
			       ? error_set(
					 err, ERR_IO,
					 "the headers of Firecracker's answer have no end: this is a bug, or Firecracker was taken over")
			       : 0;
	head.end = end + 2;
	if (read_head(&head, &status, err) < 0)
		return -1;
	size_t body = head.content_length == LENGTH_NONE ? 0 : head.content_length;
	if (status == 204 && body)
		return error_set(
			err, ERR_IO,
			"Firecracker's answer has a body although its status allows none: this is a bug, or Firecracker was taken over");
	if (body > body_max)
		return error_set(
			err, ERR_IO,
			"the body of Firecracker's answer has %zu bytes, more than microagent takes: this is a bug, or Firecracker was taken over",
			body);
	size_t used = (size_t)(end - text) + 4 + body;
	if (len < used)
		return 0;
	*out = (struct http_response){
		.status = status, .used = used, .body = end + 4, .body_len = body};
	return 1;
}
