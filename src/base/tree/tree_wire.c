/* SPDX-License-Identifier: MIT */
#include "base/tree/tree_wire.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/frame.h"

/* ENTRY_HEAD is the size in bytes of an entry without its texts: type, mode, mtime, nanoseconds of
 * mtime, size, and the lengths of two texts. SPACE_LEAST is the smallest room in the buffer, in
 * bytes, for which a chunk of data is begun. A packet of at most SPACE_LEAST bytes is not halved
 * any more. */
enum { ENTRY_HEAD = 1 + 4 + 8 + 4 + 8 + 4 + 4, DIGEST_BYTES = 8, SPACE_LEAST = 4096 };
#define NS_MAX 999999999u

int tree_count(const struct tree_line *line, uint64_t *counted, uint64_t more, struct error *err)
{
	if (line->limit && more > line->limit - *counted)
		return error_set(
			err, ERR_CONFLICT,
			"the copy is larger than the limit of %llu bytes: copy less at once",
			(unsigned long long)line->limit);
	*counted += more;
	return 0;
}

bool tree_path_is_clean(const char *path)
{
	for (int depth = 0; *path; depth++) {
		size_t len = strcspn(path, "/");

		if (len == 0 || len > 255 || (len == 1 && path[0] == '.') ||
		    (len == 2 && path[0] == '.' && path[1] == '.') || depth > TREE_DEPTH_MAX)
			return false;
		path += len;
		if (*path && !*++path)
			return false;
	}
	return true;
}

bool tree_redirect_is_clean(const char *redirect)
{
	bool absolute = redirect[0] == '/';

	return redirect[absolute] && tree_path_is_clean(redirect + absolute) &&
	       (absolute || !strchr(redirect, '/'));
}

int tree_damaged(struct error *err)
{
	return error_set(
		err, ERR_IO,
		"the stream of files is damaged: this is a bug, or its sender attacks its receiver");
}

int tree_error_of(const struct tree_entry *entry, struct error *err)
{
	enum error_code code = entry->mode > 0 && entry->mode < ERROR_CODE_COUNT
				       ? (enum error_code)entry->mode
				       : ERR_IO;

	return error_set(err, code, "%s", entry->text);
}

/* Waits until `fd` is ready for `events`. Returns 0 if `fd` is ready; 1 if `duplex` is true and the
 * peer has sent something or closed the connection; -1 on failure. ERR_TIMEOUT: `silence_ms` have
 * passed. ERR_UNAVAILABLE: `cancel` became readable. Any other error is that of poll(). */
static int wait_line(int fd, int cancel, int silence_ms, short events, bool duplex,
		     struct error *err)
{
	struct pollfd slots[] = {
		{.fd = fd, .events = (short)(events | (duplex ? POLLIN : 0))},
		{.fd = cancel, .events = POLLIN},
	};
	int got;

	while ((got = poll(slots, 2, silence_ms > 0 ? silence_ms : -1)) < 0)
		if (errno != EINTR)
			return error_errno(err, errno, "poll");
	if (got == 0)
		return error_set(
			err, ERR_TIMEOUT,
			"the other side of the copy was silent for %d ms: it hangs, or has too much to do",
			silence_ms);
	if (slots[1].revents)
		return error_set(err, ERR_UNAVAILABLE, "cancelled");
	return duplex && (slots[0].revents & (POLLIN | POLLHUP | POLLERR));
}

/* --- writing --------------------------------------------------------------------------------- */

static int spoken(struct tree_writer *w, struct error *err)
{
	w->spoken = true;
	return error_set(
		err, ERR_IO,
		"the other side of the copy ended before the copy was complete: copy again");
}

static int write_all(struct tree_writer *w, struct error *err)
{
	/* send() must not block if the peer may send bytes, or if a cancel or a time limit may end
	 * the transfer. In these cases only poll() waits. */
	const bool waits = w->duplex || w->cancel >= 0 || w->silence_ms > 0;
	size_t sent = 0, most = sizeof(w->bytes);

	while (sent < w->len) {
		size_t len = w->len - sent < most ? w->len - sent : most;
		int early =
			waits ? wait_line(w->fd, w->cancel, w->silence_ms, POLLOUT, w->duplex, err)
			      : 0;
		ssize_t n;

		if (early != 0)
			return early < 0 ? -1 : spoken(w, err);
		n = waits ? send(w->fd, w->bytes + sent, len, MSG_NOSIGNAL | MSG_DONTWAIT)
			  : write(w->fd, w->bytes + sent, len);
		if (n >= 0) {
			sent += (size_t)n;
		} else if ((errno == ENOMEM || errno == ENOBUFS) && most > SPACE_LEAST) {
			/* A vsock socket needs one block of kernel memory for each packet. If the
			 * kernel has no such block, a packet of half the size is tried. */
			most /= 2;
		} else if (errno != EINTR && errno != EAGAIN) {
			return w->duplex && (errno == EPIPE || errno == ECONNRESET)
				       ? spoken(w, err)
				       : error_errno(err, errno, "the stream of files");
		}
	}
	return 0;
}

int tree_flush(struct tree_writer *w, struct error *err)
{
	int status = write_all(w, err);

	w->len = 0;
	return status;
}

static uint8_t *space(struct tree_writer *w, size_t len, struct error *err)
{
	uint8_t *at;

	if (sizeof(w->bytes) - w->len < len && tree_flush(w, err) < 0)
		return NULL;
	at = w->bytes + w->len;
	w->len += len;
	return at;
}

int tree_put_entry(struct tree_writer *w, const struct tree_entry *entry, struct error *err)
{
	size_t path_len = strnlen(entry->path, TREE_PATH_MAX);
	size_t text_len = strnlen(entry->text, TREE_PATH_MAX);
	uint8_t *p = space(w, ENTRY_HEAD + path_len + text_len, err);

	if (!p)
		return -1;
	p[0] = (uint8_t)entry->type;
	be32_put(p + 1, entry->mode);
	be64_put(p + 5, (uint64_t)entry->mtime);
	be32_put(p + 13, entry->mtime_ns);
	be64_put(p + 17, entry->size);
	be32_put(p + 25, (uint32_t)path_len);
	be32_put(p + 29, (uint32_t)text_len);
	memcpy(p + ENTRY_HEAD, entry->path, path_len);
	memcpy(p + ENTRY_HEAD + path_len, entry->text, text_len);
	return 0;
}

static void fill_chunk_head(uint8_t *p, enum tree_chunk_kind kind, uint64_t length)
{
	p[0] = (uint8_t)kind;
	be64_put(p + 1, length);
}

int tree_put_hole(struct tree_writer *w, uint64_t length, struct tree_digest *digest,
		  struct error *err)
{
	uint8_t *p = space(w, TREE_CHUNK_HEAD, err);

	if (!p)
		return -1;
	fill_chunk_head(p, TREE_HOLE, length);
	tree_digest_add(digest, p, TREE_CHUNK_HEAD);
	return 0;
}

int tree_put_file_end(struct tree_writer *w, uint64_t length, const struct tree_digest *digest,
		      struct error *err)
{
	uint8_t *p = space(w, TREE_CHUNK_HEAD + DIGEST_BYTES, err);

	if (!p)
		return -1;
	fill_chunk_head(p, TREE_FILE_END, length);
	be64_put(p + TREE_CHUNK_HEAD, tree_digest_end(digest));
	return 0;
}

int tree_put_break(struct tree_writer *w, struct error *err)
{
	uint8_t *p = space(w, TREE_CHUNK_HEAD, err);

	if (!p)
		return -1;
	fill_chunk_head(p, TREE_BREAK, 0);
	return 0;
}

uint8_t *tree_chunk_space(struct tree_writer *w, size_t *room, struct error *err)
{
	size_t left = sizeof(w->bytes) - w->len;

	if (left < TREE_CHUNK_HEAD + SPACE_LEAST) {
		if (tree_flush(w, err) < 0)
			return NULL;
		left = sizeof(w->bytes);
	}
	left -= TREE_CHUNK_HEAD;
	*room = left < TREE_CHUNK ? left : TREE_CHUNK;
	return w->bytes + w->len + TREE_CHUNK_HEAD;
}

void tree_chunk_commit(struct tree_writer *w, size_t len, struct tree_digest *digest)
{
	uint8_t *p = w->bytes + w->len;

	fill_chunk_head(p, TREE_DATA, len);
	tree_digest_add(digest, p, TREE_CHUNK_HEAD + len);
	w->len += TREE_CHUNK_HEAD + len;
}

/* --- reading --------------------------------------------------------------------------------- */

/* Reads more bytes, and appends them to the bytes in the buffer. The caller ensures that the buffer
 * has room. Returns 0 if at least one byte was read, otherwise -1 with an error. */
static int read_more(struct tree_reader *r, struct error *err)
{
	ssize_t n;

	if ((r->cancel >= 0 || r->silence_ms > 0) &&
	    wait_line(r->fd, r->cancel, r->silence_ms, POLLIN, false, err) < 0)
		return -1;
	do
		n = read(r->fd, r->bytes + r->end, sizeof(r->bytes) - r->end);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return error_errno(err, errno, "the stream of files");
	if (n == 0)
		return error_set(
			err, ERR_IO,
			"the stream of files ended before the copy was complete, because its sender has ended: copy again");
	r->end += (size_t)n;
	return 0;
}

/* Returns the next `len` bytes, which stay valid until the next call, or NULL with an error. The
 * caller ensures that `len` bytes fit into the buffer. */
static const uint8_t *take_bytes(struct tree_reader *r, size_t len, struct error *err)
{
	const uint8_t *at;

	if (sizeof(r->bytes) - r->start < len) {
		memmove(r->bytes, r->bytes + r->start, r->end - r->start);
		r->end -= r->start;
		r->start = 0;
	}
	while (r->end - r->start < len)
		if (read_more(r, err) < 0)
			return NULL;
	at = r->bytes + r->start;
	r->start += len;
	return at;
}

static int get_text(struct tree_reader *r, uint32_t len, char out[TREE_PATH_MAX + 1],
		    struct error *err)
{
	const uint8_t *p;

	if (len > TREE_PATH_MAX)
		return tree_damaged(err);
	p = take_bytes(r, len, err);
	if (!p)
		return -1;
	memcpy(out, p, len);
	out[len] = '\0';
	return memchr(out, '\0', len) ? tree_damaged(err) : 0;
}

int tree_get_entry(struct tree_reader *r, struct tree_entry *out, struct error *err)
{
	static const char types[] = {TREE_FILE,	     TREE_DIR,	   TREE_DIR_END,  TREE_LINK,
				     TREE_HARD_LINK, TREE_SKIPPED, TREE_WHITEOUT, TREE_OPAQUE,
				     TREE_REDIRECT,  TREE_ERROR,   TREE_END};
	const uint8_t *p = take_bytes(r, ENTRY_HEAD, err);
	uint32_t path_len, text_len;

	if (!p)
		return -1;
	out->type = (enum tree_type)p[0];
	out->mode = be32_get(p + 1);
	out->mtime = (int64_t)be64_get(p + 5);
	out->mtime_ns = be32_get(p + 13);
	out->size = be64_get(p + 17);
	path_len = be32_get(p + 25);
	text_len = be32_get(p + 29);
	if (!memchr(types, p[0], sizeof(types)) || out->mtime_ns > NS_MAX)
		return tree_damaged(err);
	if (get_text(r, path_len, out->path, err) < 0)
		return -1;
	return get_text(r, text_len, out->text, err);
}

int tree_get_chunk(struct tree_reader *r, struct tree_digest *digest, struct tree_chunk *out,
		   struct error *err)
{
	static const char kinds[] = {TREE_DATA, TREE_HOLE, TREE_FILE_END, TREE_BREAK};
	const uint8_t *p = take_bytes(r, TREE_CHUNK_HEAD, err);

	if (!p)
		return -1;
	out->kind = (enum tree_chunk_kind)p[0];
	out->length = be64_get(p + 1);
	if (!memchr(kinds, p[0], sizeof(kinds)) || out->length > INT64_MAX ||
	    (out->kind == TREE_DATA && out->length > TREE_CHUNK))
		return tree_damaged(err);
	if (out->kind != TREE_DATA && out->kind != TREE_HOLE)
		return 0;
	/* An empty chunk is refused, because it would not count against the limit, so a sender
	 * could send empty chunks without end. A correct sender sends none. */
	if (out->length == 0)
		return tree_damaged(err);
	tree_digest_add(digest, p, TREE_CHUNK_HEAD);
	return 0;
}

int tree_get_digest(struct tree_reader *r, uint64_t *out, struct error *err)
{
	const uint8_t *p = take_bytes(r, DIGEST_BYTES, err);

	if (!p)
		return -1;
	*out = be64_get(p);
	return 0;
}

size_t tree_get_data(struct tree_reader *r, size_t max, const uint8_t **data, struct error *err)
{
	size_t len;

	if (r->start == r->end) {
		r->start = r->end = 0;
		if (read_more(r, err) < 0)
			return 0;
	}
	len = r->end - r->start < max ? r->end - r->start : max;
	*data = r->bytes + r->start;
	r->start += len;
	return len;
}
