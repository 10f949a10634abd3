/* SPDX-License-Identifier: MIT */
/*
 * Sends a tree. The files may change while they are sent, and a hostile user may change them on
 * purpose. Each file is opened once. Symbolic links are not followed, except at the root. Only
 * bytes that were read from that descriptor are sent. The number of sent bytes is at most the size
 * that the file had when it was opened.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/platform/file.h"
#include "base/tree/tree_links.h"
#include "base/tree/tree_stream.h"
#include "base/tree/tree_wire.h"

struct sender {
	const struct tree_line *line;
	struct tree_digest *digest;
	struct tree_links *links;
	dev_t device;
	uint64_t sent;		 /* the number of bytes of contents that were sent so far, for
				  * progress() */
	uint64_t counted;	 /* the number of bytes so far that count against the limit */
	struct tree_entry entry; /* the entry that is being sent */
	struct tree_writer out;
};

/* The flags for opening files. With O_NONBLOCK a FIFO does not block the sender. */
#define OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

static int put_bytes(struct sender *s, enum tree_type type, const struct stat *st, const char *text,
		     struct error *err)
{
	s->entry.type = type;
	s->entry.mode = st ? st->st_mode & 07777 : 0;
	s->entry.mtime = st ? file_modified(st).tv_sec : 0;
	s->entry.mtime_ns = st ? (uint32_t)file_modified(st).tv_nsec : 0;
	s->entry.size = st && st->st_size > 0 ? (uint64_t)st->st_size : 0;
	snprintf(s->entry.text, sizeof(s->entry.text), "%s", text);
	return tree_put_entry(&s->out, &s->entry, err);
}

/* Sends an entry that consists of its path and a text. */
static int put_words(struct sender *s, enum tree_type type, const char *text, struct error *err)
{
	return put_bytes(s, type, NULL, text, err);
}

static int skip_entry(struct sender *s, const char *why, struct error *err)
{
	if (s->line->skipped)
		s->line->skipped(s->line->data, s->entry.path, why);
	return put_words(s, TREE_SKIPPED, why, err);
}

static void tell_sent(const struct sender *s)
{
	if (s->line->progress)
		s->line->progress(s->line->data, s->sent, s->entry.path);
}

/* --- a file ---------------------------------------------------------------------------------- */

static int cannot_read(struct sender *s, struct error *err)
{
	error_errno(err, errno, "%.300s", s->entry.path);
	(void)tree_put_break(&s->out, NULL);
	return -1;
}

/* Counts contents against the limit. If the limit is exceeded, sends TREE_BREAK, because in the
 * middle of a file the receiver accepts only chunks. */
static int count_contents(struct sender *s, uint64_t more, struct error *err)
{
	if (tree_count(s->line, &s->counted, more, err) == 0)
		return 0;
	(void)tree_put_break(&s->out, NULL);
	return -1;
}

/* Sends the data from the offset *at up to `until`, and sets *at to the offset after the sent data.
 * Returns 1 if all data were sent; 0 if the file ended before `until`; -1 on failure. */
static int send_data(struct sender *s, int fd, uint64_t *at, uint64_t until, struct error *err)
{
	while (*at < until) {
		size_t room = 0;
		uint8_t *space = tree_chunk_space(&s->out, &room, err);
		ssize_t n;

		if (!space)
			return -1;
		if (room > until - *at)
			room = (size_t)(until - *at);
		n = read(fd, space, room);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return cannot_read(s, err);
		if (n == 0)
			return 0;
		if (count_contents(s, (uint64_t)n, err) < 0)
			return -1;
		tree_chunk_commit(&s->out, (size_t)n, s->digest);
		*at += (uint64_t)n;
		s->sent += (uint64_t)n;
		tell_sent(s);
	}
	return 1;
}

/* Sends the hole from the offset *at up to the next data of a sparse file, and sets *at to the
 * offset after the hole. Returns 1 if data follow, and sets *end to the end of these data. Returns
 * 0 if the hole extends to `size`; -1 on failure. */
static int send_hole(struct sender *s, int fd, uint64_t *at, uint64_t size, uint64_t *end,
		     struct error *err)
{
	off_t data = lseek(fd, (off_t)*at, SEEK_DATA), hole;
	uint64_t begin = size;

	if (data < 0 && errno != ENXIO)
		return cannot_read(s, err);
	if (data >= 0 && (uint64_t)data < size)
		begin = (uint64_t)data;
	if (begin > *at && count_contents(s, begin - *at, err) < 0)
		return -1;
	if (begin > *at && tree_put_hole(&s->out, begin - *at, s->digest, err) < 0)
		return -1;
	*at = begin;
	if (begin == size)
		return 0;
	hole = lseek(fd, data, SEEK_HOLE);
	if (hole < 0 || lseek(fd, data, SEEK_SET) < 0)
		return cannot_read(s, err);
	*end = (uint64_t)hole < size ? (uint64_t)hole : size;
	return 1;
}

/* Sends the contents of a file. Data that are appended after fstat() are not sent. But a file whose
 * size was 0 is read to its end, because files in /proc have the size 0. */
static int send_contents(struct sender *s, int fd, const struct stat *st, struct error *err)
{
	uint64_t size = st->st_size > 0 ? (uint64_t)st->st_size : INT64_MAX, at = 0;
	bool sparse = st->st_size > 0 && (uint64_t)st->st_blocks * 512 < (uint64_t)st->st_size &&
		      lseek(fd, 0, SEEK_DATA) != (off_t)-1;
	int more = 1;

	if (st->st_size > 0 && !sparse && st->st_blocks == 0 && lseek(fd, 0, SEEK_HOLE) == 0)
		sparse = true; /* the whole file is a hole */
	while (more > 0 && at < size) {
		uint64_t end = size;

		if (sparse)
			more = send_hole(s, fd, &at, size, &end, err);
		if (more > 0)
			more = send_data(s, fd, &at, end, err);
	}
	return more < 0 ? -1 : tree_put_file_end(&s->out, at, s->digest, err);
}

static int send_file(struct sender *s, int fd, const struct stat *st, struct error *err)
{
	const char *earlier = tree_links_find(s->links, st);

	if (earlier)
		return put_bytes(s, TREE_HARD_LINK, st, earlier, err);
	if (put_bytes(s, TREE_FILE, st, "", err) < 0)
		return -1;
	tree_digest_begin(s->digest);
	tell_sent(s);
	if (send_contents(s, fd, st, err) < 0)
		return -1;
	return tree_links_note(s->links, st, s->entry.path, err);
}

/* --- the upper layer of an overlay ----------------------------------------------------------- */

/*
 * The kernel marks what an upper layer hides of the lower one: a whiteout is a character device
 * 0/0, and a directory has attributes (Documentation/filesystems/overlayfs.rst). A newer kernel also
 * knows a whiteout that is an empty file with an attribute. The value "x" of the attribute "opaque"
 * says that such files are in a directory, which is not opaque.
 */
#define OVERLAY_ATTRIBUTE "trusted.overlay."

/* What the attributes of a directory say. */
enum claim { CLAIM_NONE, CLAIM_OPAQUE, CLAIM_REDIRECT, CLAIM_BROKEN };

/* Stores the value of an attribute with a NUL behind it. Returns its length, 0 if there is no such
 * attribute; -1 with errno if it cannot be read or does not fit. */
static ssize_t read_attribute(int fd, const char *name, char out[TREE_PATH_MAX + 1])
{
	ssize_t n = file_attribute(fd, name, out, TREE_PATH_MAX);

	if (n < 0 && (errno == ENODATA || errno == ENOTSUP))
		n = 0;
	if (n >= 0)
		out[n] = '\0';
	return n;
}

/* Finds what the directory says about its lower layer. `redirect` gets the value of a redirect. The
 * kernel opens no directory with a redirect that is not clean, so such a one is broken. */
static int find_claim(const struct sender *s, int fd, char redirect[TREE_PATH_MAX + 1],
		      enum claim *out, struct error *err)
{
	ssize_t n = read_attribute(fd, OVERLAY_ATTRIBUTE "opaque", redirect);

	*out = CLAIM_NONE;
	/* An opaque directory has no lower layer, whatever its redirect says. */
	if (n == 1 && redirect[0] == 'y') {
		*out = CLAIM_OPAQUE;
		return 0;
	}
	if (n >= 0 || errno == ERANGE)
		n = read_attribute(fd, OVERLAY_ATTRIBUTE "redirect", redirect);
	if (n < 0 && errno != ERANGE)
		return error_errno(err, errno, "%.300s", s->entry.path);
	if (n < 0 ||
	    (n > 0 && (strlen(redirect) != (size_t)n || !tree_redirect_is_clean(redirect))))
		*out = CLAIM_BROKEN;
	else if (n > 0)
		*out = CLAIM_REDIRECT;
	return 0;
}

static bool is_whiteout_file(int fd, const struct stat *st)
{
	char value[TREE_PATH_MAX];

	return st->st_size == 0 &&
	       (file_attribute(fd, OVERLAY_ATTRIBUTE "whiteout", value, sizeof(value)) >= 0 ||
		errno == ERANGE);
}

/* --- a tree ---------------------------------------------------------------------------------- */

static int send_link(struct sender *s, int dir, const char *name, const struct stat *st,
		     struct error *err)
{
	char target[TREE_PATH_MAX + 1];
	ssize_t n = readlinkat(dir, name, target, sizeof(target) - 1);

	if (n < 0 && errno == ENOENT)
		return 0; /* another process has removed the entry meanwhile */
	if (n < 0 && errno == EINVAL)
		return skip_entry(s, "changed while it was read", err);
	if (n < 0)
		return error_errno(err, errno, "%.300s", s->entry.path);
	target[n] = '\0';
	return put_bytes(s, TREE_LINK, st, target, err);
}

static int send_dir(struct sender *s, int fd, const struct stat *st, int depth, struct error *err);

static int send_opened(struct sender *s, int dir, const char *name, int depth, struct error *err)
{
	autoclose int fd = openat(dir, name, OPEN_FLAGS | O_NOFOLLOW);
	struct stat st;

	if (fd < 0 && errno == EACCES)
		return skip_entry(s, "permission denied", err);
	if (fd < 0 && errno == ENOENT)
		return 0; /* another process has removed the entry meanwhile */
	if (fd < 0 && (errno == ELOOP || errno == ENXIO))
		return skip_entry(s, "changed while it was read", err);
	if (fd < 0 || fstat(fd, &st) < 0)
		return error_errno(err, errno, "%.300s", s->entry.path);
	if (S_ISREG(st.st_mode) && s->line->overlay && is_whiteout_file(fd, &st))
		return put_words(s, TREE_WHITEOUT, "", err);
	if (S_ISREG(st.st_mode))
		return send_file(s, fd, &st, err);
	if (!S_ISDIR(st.st_mode))
		return skip_entry(s, "not a file, directory or link", err);
	if (st.st_dev != s->device)
		return skip_entry(s, "another file system", err);
	if (depth >= TREE_DEPTH_MAX)
		return skip_entry(s, "too deep", err);
	return send_dir(s, steal_fd(&fd), &st, depth, err);
}

static int send_entry(struct sender *s, int dir, const char *name, int depth, struct error *err)
{
	char *path = s->entry.path;
	size_t len = strlen(path);
	struct stat st;
	int status;

	if (tree_count(s->line, &s->counted, TREE_ENTRY_BYTES, err) < 0)
		return -1;
	if (len + 1 + strlen(name) > TREE_PATH_MAX)
		return skip_entry(s, "a path that is too long is in it", err);
	snprintf(path + len, sizeof(s->entry.path) - len, "%s%s", len ? "/" : "", name);
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		status = errno == ENOENT ? 0 : error_errno(err, errno, "%.300s", path);
	else if (S_ISLNK(st.st_mode))
		status = send_link(s, dir, name, &st, err);
	else if (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
		status = send_opened(s, dir, name, depth, err);
	else if (s->line->overlay && S_ISCHR(st.st_mode) && st.st_rdev == 0)
		status = put_words(s, TREE_WHITEOUT, "", err);
	else
		status = skip_entry(s, "not a file, directory or link", err);
	path[len] = '\0';
	return status;
}

/* Sends the beginning of a directory of an upper layer. Returns 1 if the directory is left out. The
 * attributes of the root mean nothing. */
static int begin_upper_dir(struct sender *s, int fd, const struct stat *st, int depth,
			   struct error *err)
{
	char redirect[TREE_PATH_MAX + 1];
	enum claim claim = CLAIM_NONE;

	if (depth > 0 && find_claim(s, fd, redirect, &claim, err) < 0)
		return -1;
	if (claim == CLAIM_BROKEN)
		return skip_entry(s, "a directory whose redirect is not valid", err) < 0 ? -1 : 1;
	if (put_bytes(s, TREE_DIR, st, "", err) < 0)
		return -1;
	if (claim == CLAIM_NONE)
		return 0;
	/* The receiver counts an entry for the claim too. */
	if (tree_count(s->line, &s->counted, TREE_ENTRY_BYTES, err) < 0)
		return -1;
	return claim == CLAIM_OPAQUE ? put_words(s, TREE_OPAQUE, "", err)
				     : put_words(s, TREE_REDIRECT, redirect, err);
}

/* Sends a directory. Takes over `fd`. */
static int send_dir(struct sender *s, int fd, const struct stat *st, int depth, struct error *err)
{
	autodir DIR *dir = fdopendir(fd);
	const struct dirent *entry;
	int begun;

	if (!dir) {
		error_errno(err, errno, "%.300s", s->entry.path);
		close(fd);
		return -1;
	}
	begun = s->line->overlay ? begin_upper_dir(s, fd, st, depth, err)
				 : put_bytes(s, TREE_DIR, st, "", err);
	if (begun != 0)
		return begun < 0 ? -1 : 0;
	for (errno = 0; (entry = readdir(dir)); errno = 0) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (send_entry(s, dirfd(dir), entry->d_name, depth + 1, err) < 0)
			return -1;
	}
	if (errno)
		return error_errno(err, errno, "%.300s", s->entry.path);
	return put_bytes(s, TREE_DIR_END, st, "", err);
}

static int send_root(struct sender *s, int root_fd, const char *path, bool confined,
		     struct error *err)
{
	autoclose int fd = confined ? file_open_within(root_fd, path, OPEN_FLAGS, FILE_IN_ROOT)
				    : openat(root_fd, path, OPEN_FLAGS);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_errno(err, errno, "%.300s", path);
	s->device = st.st_dev;
	if (S_ISREG(st.st_mode))
		return send_file(s, fd, &st, err);
	if (S_ISDIR(st.st_mode))
		return send_dir(s, steal_fd(&fd), &st, 0, err);
	return error_set(
		err, ERR_INVALID,
		"%.300s is neither a file nor a directory, and nothing else can be copied: leave it out",
		path);
}

/* --- the end --------------------------------------------------------------------------------- */

static int put_tree_end(struct sender *s, const struct error *why, struct error *err)
{
	s->entry = (struct tree_entry){.type = why ? TREE_ERROR : TREE_END};
	if (why) {
		s->entry.mode = (uint32_t)why->code;
		snprintf(s->entry.text, sizeof(s->entry.text), "%s", why->msg);
	}
	if (tree_put_entry(&s->out, &s->entry, err) < 0)
		return -1;
	return tree_flush(&s->out, err);
}

static int hear_receiver(struct sender *s, struct error *err)
{
	autofree struct tree_reader *in = calloc(1, sizeof(*in));

	if (!in)
		return error_errno(err, ENOMEM, "files");
	in->fd = s->line->fd;
	in->cancel = s->line->cancel;
	in->silence_ms = s->line->silence_ms;
	if (tree_get_entry(in, &s->entry, err) < 0)
		return -1;
	if (s->entry.type == TREE_ERROR)
		return tree_error_of(&s->entry, err);
	return s->entry.type == TREE_END && !s->out.spoken ? 0 : tree_damaged(err);
}

int tree_send(int root_fd, const char *path, bool confined, const struct tree_line *to,
	      struct error *err)
{
	autofree struct sender *s = calloc(1, sizeof(*s));
	struct error why = {0};
	int status = -1;

	if (!s)
		return error_errno(err, ENOMEM, "files");
	s->line = to;
	s->out.fd = to->fd;
	s->out.cancel = to->cancel;
	s->out.silence_ms = to->silence_ms;
	s->out.duplex = to->answers;
	s->digest = tree_digest_new();
	s->links = tree_links_new();
	if (!s->digest || !s->links) {
		error_errno(&why, ENOMEM, "files");
	} else {
		status = send_root(s, root_fd, path, confined, &why);
		if (status == 0)
			status = put_tree_end(s, NULL, &why);
		else if (!s->out.spoken)
			(void)put_tree_end(s, &why, NULL);
		if (to->answers && (status == 0 || s->out.spoken))
			status = hear_receiver(s, &why);
	}
	tree_links_free(s->links);
	tree_digest_free(s->digest);
	return status < 0 ? error_copy(err, &why) : 0;
}
