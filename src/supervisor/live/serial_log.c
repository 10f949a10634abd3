/* SPDX-License-Identifier: MIT */
#include "supervisor/live/serial_log.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define COPY_CHUNK 65536u
#define PANIC_SEARCH 16384u

int serial_log_open(struct serial_log *log, int dirfd, const char *name, uint64_t cap_bytes,
		    struct error *err)
{
	/* O_APPEND is not used. With this flag pwrite() would ignore its offset, and
	 * drop_oldest_half() needs the offset. */
	autoclose int fd =
		openat(dirfd, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_errno(err, errno, "%s", name);
	if (!S_ISREG(st.st_mode))
		return error_set(
			err, ERR_IO,
			"%s in the workspace is not a regular file, so the serial console cannot be written to it: remove it, and start the machine again",
			name);
	*log = (struct serial_log){
		.size = (uint64_t)st.st_size, .boot = (uint64_t)st.st_size, .cap = cap_bytes};
	log->fd = steal_fd(&fd);
	return 0;
}

void serial_log_close(struct serial_log *log)
{
	if (log->fd >= 0)
		close(log->fd);
	log->fd = -1;
}

/* Returns the offset at which a line begins, at or after `from`. Returns `from` itself if no line
 * ends near `from`. */
static uint64_t next_tail_line(const struct serial_log *log, uint64_t from)
{
	char chunk[4096];
	ssize_t n = pread(log->fd, chunk, sizeof(chunk), (off_t)from);
	const char *end = n > 0 ? memchr(chunk, '\n', (size_t)n) : NULL;

	return end ? from + (uint64_t)(end - chunk) + 1 : from;
}

static void drop_oldest_half(struct serial_log *log)
{
	uint64_t from = next_tail_line(log, log->size - log->cap / 2), to = 0, dropped = from;
	autofree char *chunk = malloc(COPY_CHUNK);

	while (chunk && from < log->size) {
		ssize_t n = pread(log->fd, chunk, COPY_CHUNK, (off_t)from);

		if (n <= 0 || pwrite(log->fd, chunk, (size_t)n, (off_t)to) != n)
			break;
		from += (uint64_t)n;
		to += (uint64_t)n;
	}
	/* Bytes that could not be moved are dropped, so that the file is never longer than its
	 * cap. */
	if (ftruncate(log->fd, (off_t)to) == 0)
		log->size = to;
	log->boot = log->boot > dropped ? log->boot - dropped : 0;
	if (log->boot > log->size)
		log->boot = log->size;
}

void serial_log_write(struct serial_log *log, const void *data, size_t len)
{
	const char *bytes = data;

	if (log->fd < 0)
		return;
	if (len > log->cap / 2) {
		bytes += len - log->cap / 2;
		len = log->cap / 2;
	}
	while (len > 0) {
		ssize_t n = pwrite(log->fd, bytes, len, (off_t)log->size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			log->lost += len;
			break;
		}
		log->size += (uint64_t)n;
		bytes += n;
		len -= (size_t)n;
	}
	if (log->size > log->cap)
		drop_oldest_half(log);
}

static void append_serial(char *out, size_t out_size, size_t *n, const char *text, size_t len)
{
	for (size_t i = 0; i < len && *n + 1 < out_size; i++)
		out[(*n)++] = text[i] >= ' ' && text[i] < 127 ? text[i] : '?';
	out[*n] = '\0';
}

/* Returns true if the line has the words below. The kernel of a machine without a PCI bus prints
 * them at every boot. The words are harmless, but look like the reason of a failure. */
static bool is_harmless(const char *line, size_t len)
{
	static const char words[] = "PCI: Fatal: No config space access function found";

	return memmem(line, len, words, strlen(words)) != NULL;
}

/* Writes the lines of `text`, joined by " | ", to `out`. Leaves out empty lines, harmless lines and
 * carriage returns. */
static void join_lines(const char *text, size_t len, char *out, size_t out_size)
{
	size_t n = 0;

	while (len > 0) {
		const char *end = memchr(text, '\n', len);
		size_t line = end ? (size_t)(end - text) : len, shown = line;

		while (shown > 0 && (text[shown - 1] == '\r' || text[shown - 1] == ' '))
			shown--;
		if (is_harmless(text, shown))
			shown = 0;
		if (shown > 0 && n > 0)
			append_serial(out, out_size, &n, " | ", 3);
		append_serial(out, out_size, &n, text, shown);
		text += end ? line + 1 : line;
		len -= end ? line + 1 : line;
	}
}

/* If the last PANIC_SEARCH bytes of this boot contain the line of a kernel panic, writes this line
 * to `out`. The line of the panic is often not among the last lines, because a long call trace
 * follows it. Returns the number of bytes written. */
static size_t put_panic(const struct serial_log *log, char *out, size_t out_size)
{
	static const char word[] = "Kernel panic";
	uint64_t from = log->size > log->boot + PANIC_SEARCH ? log->size - PANIC_SEARCH : log->boot;
	autofree char *text = malloc(PANIC_SEARCH);
	ssize_t n = text ? pread(log->fd, text, PANIC_SEARCH, (off_t)from) : 0;
	const char *found = n > 0 ? memmem(text, (size_t)n, word, strlen(word)) : NULL;
	const char *end = found ? memchr(found, '\n', (size_t)(text + n - found)) : NULL;
	size_t used = 0;

	if (!found)
		return 0;
	join_lines(found, (size_t)((end ? end : text + n) - found), out, out_size / 2);
	used = strlen(out);
	append_serial(out, out_size, &used, " ... ", 5);
	return used;
}

/* Returns the greatest possible length of the result of join_lines(). The text " | " is two bytes
 * longer than the newline that it replaces. */
static size_t joined_length(const char *text, size_t len)
{
	size_t total = len;

	for (size_t i = 0; i < len; i++)
		total += text[i] == '\n' ? 2 : 0;
	return total;
}

/* Writes to `out` as many whole lines from the end of the log as `out` has room for. If even the
 * last line is too long, writes its beginning. */
static void put_last_lines(const struct serial_log *log, char *out, size_t out_size)
{
	char text[2048];
	size_t want = out_size - 1 < sizeof(text) ? out_size - 1 : sizeof(text);
	uint64_t from = log->size > log->boot + want ? log->size - want : log->boot;
	ssize_t n = pread(log->fd, text, want, (off_t)from);
	const char *line = text, *end = text + (n > 0 ? n : 0);
	bool cut = from > log->boot; /* the beginning of the first line is missing */

	while (cut || joined_length(line, (size_t)(end - line)) >= out_size) {
		const char *next = memchr(line, '\n', (size_t)(end - line));

		if (!next || next + 1 >= end)
			break;
		line = next + 1;
		cut = false;
	}
	join_lines(line, (size_t)(end - line), out, out_size);
}

void serial_log_tail(const struct serial_log *log, char *out, size_t out_size)
{
	size_t used;

	out[0] = '\0';
	if (log->fd < 0)
		return;
	used = put_panic(log, out, out_size);
	put_last_lines(log, out + used, out_size - used);
}

bool serial_log_was_written(const struct serial_log *log)
{
	return log->size > log->boot || log->lost > 0;
}
