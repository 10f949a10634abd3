/* SPDX-License-Identifier: MIT */
/*
 * Receives a tree. The received data may be hostile: a path in them may lead through a symbolic
 * link that the sender sent before. So the parent directory of each entry is opened below the root
 * that this receiver made, and symbolic links in the path are refused. Each entry is newly made: an
 * entry that exists is never opened for writing.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/platform/file.h"
#include "base/platform/system.h"
#include "base/tree/tree_inside.h"
#include "base/tree/tree_stream.h"
#include "base/tree/tree_wire.h"

struct receiver {
	const struct tree_line *line;
	const struct tree_target *target;
	const char *links_within;
	char temporary[64]; /* the temporary name of the root, until the root is complete */
	int file;	    /* a descriptor of the root, if the root is a file; otherwise -1 */
	bool file_named;    /* the root is a file and has the temporary name */
	int root;	    /* a descriptor of the root, if the root is a directory; otherwise -1 */
	struct tree_digest *digest;
	uint64_t received; /* the number of bytes of contents that were received so far, for
			    * progress() */
	uint64_t counted;  /* the number of bytes so far that count against the limit */
	uint64_t open;	   /* the number of directories that are not complete yet */
	/* The path of the directory whose 'd' was the last entry, so that an 'o' or an 'r' may
	 * follow; "": the last entry was another one. */
	char begun[TREE_PATH_MAX + 1];
	struct tree_entry entry;
	struct tree_reader in;
};

/* Returns the name of the entry that is being received, for messages. */
static const char *shown(const struct receiver *r)
{
	return r->entry.path[0] ? r->entry.path : r->target->name;
}

static int receive_failed(const struct receiver *r, struct error *err)
{
	const char *host = r->target->host_path, *path = r->entry.path;

	if (!host)
		return error_errno(err, errno, "%.300s", shown(r));
	return error_errno(err, errno, "%.300s%s%.300s on this host", host, *path ? "/" : "", path);
}

static void tell_skipped(const struct receiver *r, const char *why)
{
	if (r->line->skipped)
		r->line->skipped(r->line->data, r->entry.path, why);
}

static void tell_received(const struct receiver *r)
{
	if (r->line->progress)
		r->line->progress(r->line->data, r->received, shown(r));
}

/* Counts an entry against the limit. In an upper layer the texts of an entry are counted too, since
 * a caller may keep them: otherwise a sender could make it keep 16 times the limit. */
static int count_entry(struct receiver *r, struct error *err)
{
	uint64_t bytes = TREE_ENTRY_BYTES, texts = 0;

	if (r->line->overlay)
		texts = strlen(r->entry.path) + strlen(r->entry.text);
	return tree_count(r->line, &r->counted, texts > bytes ? texts : bytes, err);
}

/* Tells the caller of the entry that is complete. */
static int tell_entry(const struct receiver *r, struct error *err)
{
	static const char with_text[] = {TREE_LINK, TREE_HARD_LINK, TREE_REDIRECT, TREE_SKIPPED};
	static const char with_mode[] = {TREE_FILE, TREE_DIR, TREE_LINK, TREE_HARD_LINK};
	const struct tree_entry *entry = &r->entry;
	struct tree_told told = {.type = (char)entry->type, .path = entry->path, .text = ""};

	if (!r->line->entry)
		return 0;
	if (memchr(with_text, told.type, sizeof(with_text)))
		told.text = entry->text;
	if (memchr(with_mode, told.type, sizeof(with_mode))) {
		told.mode = entry->mode & 07777;
		if (__builtin_mul_overflow(entry->mtime, (int64_t)NS_PER_S, &told.mtime_ns) ||
		    __builtin_add_overflow(told.mtime_ns, (int64_t)entry->mtime_ns, &told.mtime_ns))
			told.mtime_ns = entry->mtime < 0 ? INT64_MIN : INT64_MAX;
	}
	return r->line->entry(r->line->entry_data, &told, err);
}

/* Opens the directory that contains the last component of `path`, and sets *name to that component.
 * Changes `path` meanwhile, and restores it before returning. Returns the descriptor, or -1 with an
 * error. */
static int open_entry_parent(const struct receiver *r, char *path, const char **name,
			     struct error *err)
{
	char *slash = strrchr(path, '/');
	int fd;

	*name = slash ? slash + 1 : path;
	if (slash)
		*slash = '\0';
	fd = file_open_place_within(r->root, slash ? path : ".", FILE_BELOW);
	if (slash)
		*slash = '/';
	return fd < 0 ? error_errno(err, errno, "%.300s", path) : fd;
}

/* --- a file's contents ----------------------------------------------------------------------- */

static int write_data(struct receiver *r, int to, uint64_t length, struct error *err)
{
	while (length > 0) {
		const uint8_t *data = NULL;
		size_t len = tree_get_data(&r->in, (size_t)length, &data, err);

		if (len == 0)
			return -1;
		tree_digest_add(r->digest, data, len);
		length -= len;
		r->received += len;
		while (len > 0) {
			ssize_t n = write(to, data, len);

			if (n < 0 && errno != EINTR)
				return receive_failed(r, err);
			data += n > 0 ? n : 0;
			len -= n > 0 ? (size_t)n : 0;
		}
		tell_received(r);
	}
	return 0;
}

static int receive_data(struct receiver *r, int to, struct error *err)
{
	struct tree_chunk chunk;
	uint64_t at = 0, digest = 0;
	bool holes = false;

	tree_digest_begin(r->digest);
	tell_received(r);
	for (;;) {
		if (tree_get_chunk(&r->in, r->digest, &chunk, err) < 0)
			return -1;
		if (chunk.kind == TREE_BREAK || chunk.kind == TREE_FILE_END)
			break;
		if (chunk.length > INT64_MAX - at)
			return tree_damaged(err);
		if (tree_count(r->line, &r->counted, chunk.length, err) < 0)
			return -1;
		at += chunk.length;
		if (chunk.kind == TREE_DATA && write_data(r, to, chunk.length, err) < 0)
			return -1;
		if (chunk.kind == TREE_HOLE && lseek(to, (off_t)at, SEEK_SET) < 0)
			return receive_failed(r, err);
		holes = holes || chunk.kind == TREE_HOLE;
	}
	if (chunk.kind == TREE_BREAK) {
		/* The sender has stopped in the middle of the file. The sender's next entry must be
		 * the error that gives the reason. */
		if (tree_get_entry(&r->in, &r->entry, err) < 0)
			return -1;
		return r->entry.type == TREE_ERROR ? tree_error_of(&r->entry, err)
						   : tree_damaged(err);
	}
	if (tree_get_digest(&r->in, &digest, err) < 0)
		return -1;
	if (chunk.length != at)
		return tree_damaged(err);
	if (digest != tree_digest_end(r->digest))
		return error_set(
			err, ERR_IO,
			"%.300s was damaged while it was copied: its digest differs from the one that was sent; copy it again",
			shown(r));
	return holes && ftruncate(to, (off_t)at) < 0 ? receive_failed(r, err) : 0;
}

static void fill_times(struct timespec times[2], const struct tree_entry *entry)
{
	times[0] = (struct timespec){.tv_nsec = UTIME_NOW};
	times[1] = (struct timespec){.tv_sec = (time_t)entry->mtime, .tv_nsec = entry->mtime_ns};
}

/* Sets mode and times. Set-id bits are never used. Does not fail if the file system cannot store a
 * time. `private` is the mode of an upper layer's file, whose own mode is only told. */
static int set_attributes(const struct receiver *r, int fd, const struct tree_entry *entry,
			  mode_t private, struct error *err)
{
	struct timespec times[2];

	fill_times(times, entry);
	if (fchmod(fd, r->line->overlay ? private : entry->mode & 0777 & ~r->line->umask) < 0)
		return receive_failed(r, err);
	(void)futimens(fd, times);
	return 0;
}

/* Writes the contents of a file and sets its attributes. The attributes are copied first: if the
 * sender stops in the middle, receive_data() overwrites r->entry with the sender's error. */
static int fill_file(struct receiver *r, int fd, struct error *err)
{
	const struct tree_entry entry = {
		.mode = r->entry.mode, .mtime = r->entry.mtime, .mtime_ns = r->entry.mtime_ns};

	return receive_data(r, fd, err) < 0 ? -1 : set_attributes(r, fd, &entry, 0600, err);
}

/* --- entries of a tree ----------------------------------------------------------------------- */

/* Makes a link. Returns 1 if the link is left out, because it leads out of the tree. */
static int make_link(struct receiver *r, int dir, const char *name, struct error *err)
{
	struct timespec times[2];

	if (r->links_within && !tree_link_inside(r->links_within, r->entry.path, r->entry.text)) {
		tell_skipped(r, "a link that leads out of what is copied");
		return 1;
	}
	if (symlinkat(r->entry.text, dir, name) < 0)
		return receive_failed(r, err);
	fill_times(times, &r->entry);
	(void)utimensat(dir, name, times, AT_SYMLINK_NOFOLLOW);
	return 0;
}

/* Makes a hard link to a file that this receiver made. linkat() without flags does not follow a
 * symbolic link in the last component. */
static int make_hard_link(struct receiver *r, int dir, const char *name, struct error *err)
{
	const char *old = NULL;
	autoclose int old_dir = -1;
	struct stat st;

	if (!r->entry.text[0] || !tree_path_is_clean(r->entry.text))
		return tree_damaged(err);
	old_dir = open_entry_parent(r, r->entry.text, &old, err);
	if (old_dir < 0)
		return -1;
	if (fstatat(old_dir, old, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return receive_failed(r, err);
	if (!S_ISREG(st.st_mode))
		return tree_damaged(err);
	return linkat(old_dir, old, dir, name, 0) < 0 ? receive_failed(r, err) : 0;
}

/* Checks that nothing was received under the path of a whiteout. */
static int check_whiteout(const struct receiver *r, int dir, const char *name, struct error *err)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return tree_damaged(err);
	return errno == ENOENT ? 0 : receive_failed(r, err);
}

/* Makes an entry in the directory of its path. Returns 1 if the entry is left out. */
static int make_in_parent(struct receiver *r, struct error *err)
{
	const char *name = NULL;
	autoclose int dir = open_entry_parent(r, r->entry.path, &name, err);

	if (dir < 0)
		return -1;
	if (r->entry.type == TREE_FILE) {
		autoclose int fd = openat(
			dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

		return fd < 0 ? receive_failed(r, err) : fill_file(r, fd, err);
	}
	if (r->entry.type == TREE_LINK)
		return make_link(r, dir, name, err);
	if (r->entry.type == TREE_HARD_LINK)
		return make_hard_link(r, dir, name, err);
	if (r->entry.type == TREE_WHITEOUT)
		return check_whiteout(r, dir, name, err);
	/* Mode 0700 lets this receiver fill the directory. end_dir() sets the final mode. */
	r->open++;
	return mkdirat(dir, name, 0700) < 0 ? receive_failed(r, err) : 0;
}

static int make_entry(struct receiver *r, struct error *err)
{
	int status;

	if (r->root < 0 || !r->entry.path[0] || !tree_path_is_clean(r->entry.path))
		return tree_damaged(err);
	if (count_entry(r, err) < 0)
		return -1;
	status = make_in_parent(r, err);
	if (status != 0)
		return status < 0 ? -1 : 0;
	if (r->entry.type == TREE_DIR)
		snprintf(r->begun, sizeof(r->begun), "%s", r->entry.path);
	return tell_entry(r, err);
}

/* Receives what an upper layer says about the directory that was begun by the entry before. */
static int receive_claim(struct receiver *r, struct error *err)
{
	if (!r->begun[0] || strcmp(r->begun, r->entry.path) != 0 ||
	    (r->entry.type == TREE_REDIRECT && !tree_redirect_is_clean(r->entry.text)))
		return tree_damaged(err);
	if (count_entry(r, err) < 0)
		return -1;
	r->begun[0] = '\0';
	return tell_entry(r, err);
}

static int receive_skipped(struct receiver *r, struct error *err)
{
	/* A path that is only shown need not be clean. A path that is told is compared with others
	 * by the caller. */
	if (r->line->entry && !tree_path_is_clean(r->entry.path))
		return tree_damaged(err);
	if (count_entry(r, err) < 0)
		return -1;
	tell_skipped(r, r->entry.text);
	return tell_entry(r, err);
}

static int end_dir(struct receiver *r, struct error *err)
{
	const char *path = r->entry.path[0] ? r->entry.path : ".";
	autoclose int dir = -1;

	/* r->open counts the directories that were begun and not ended yet. The end of a directory
	 * that was not begun shows that the stream is malformed. */
	if (r->root < 0 || r->open == 0 || !tree_path_is_clean(r->entry.path))
		return tree_damaged(err);
	r->open--;
	dir = file_open_within(r->root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, FILE_BELOW);
	return dir < 0 ? receive_failed(r, err) : set_attributes(r, dir, &r->entry, 0700, err);
}

/* --- temporary names ------------------------------------------------------------------------- */

/*
 * If a receiver is killed, its data remain under its temporary name. Each receiver has a lock on
 * its root (flock(2)) as long as it runs. So a root without a lock belongs to a killed receiver,
 * and the next receiver into the same directory removes it.
 */
#define TEMPORARY ".microagent-"
#define RANDOM_DIGITS 16

static int name_temporary(struct receiver *r, struct error *err)
{
	const char *maker = r->line->maker;
	uint64_t random = 0;

	if (random_bytes(&random, sizeof(random), err) < 0)
		return -1;
	snprintf(r->temporary, sizeof(r->temporary), TEMPORARY "%.*s%s%016llx", TREE_MAKER,
		 maker ? maker : "", maker ? "-" : "", (unsigned long long)random);
	return 0;
}

/* Returns true if `name` is a temporary name of a receiver that has the same `maker` in its struct
 * tree_line as this receiver. */
static bool has_own_maker(const struct receiver *r, const char *name)
{
	char start[sizeof(r->temporary)];
	int len = snprintf(start, sizeof(start), TEMPORARY "%.*s-", TREE_MAKER, r->line->maker);

	return strncmp(name, start, (size_t)len) == 0 &&
	       strspn(name + len, "0123456789abcdef") == RANDOM_DIGITS &&
	       !name[len + RANDOM_DIGITS];
}

/* Removes the file dir/name if this user owns the file and no receiver has a lock on it. If the
 * removal fails, a later receiver tries again. */
static void remove_if_left(int dir, const char *name)
{
	autoclose int fd =
		openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
	    (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)) && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
	    fd_has_name(fd, dir, name))
		(void)path_remove_tree_at(dir, name, NULL);
}

static void remove_left(const struct receiver *r)
{
	int dir = r->target->dir, copy;
	const struct dirent *entry;

	if (!r->line->maker || dir < 0)
		return;
	copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autodir DIR *entries = copy >= 0 ? fdopendir(copy) : NULL;
	if (copy >= 0 && !entries)
		close(copy);
	while (entries && (entry = readdir(entries)))
		if (has_own_maker(r, entry->d_name))
			remove_if_left(dir, entry->d_name);
}

/* Locks the root, which was just made and is open as `fd`. Before the root is locked, another
 * receiver may have removed it. Returns false if another receiver has the lock, or if the root no
 * longer has its temporary name. */
static bool lock_root(const struct receiver *r, int fd)
{
	/* On a file system without locks, no receiver removes files of others, so this receiver
	 * goes on without a lock. */
	if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		return false;
	return fd_has_name(fd, r->target->dir, r->temporary);
}

/* --- the root -------------------------------------------------------------------------------- */

/* The greatest number of attempts to make a root. An attempt fails if another receiver locks or
 * removes the root before this receiver has locked it. */
#define ATTEMPTS 8

static int make_root_file(const struct receiver *r)
{
	return openat(r->target->dir, r->temporary,
		      O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

static int make_root_dir(const struct receiver *r)
{
	int dir = r->target->dir, fd;

	if (mkdirat(dir, r->temporary, 0700) < 0)
		return -1;
	fd = openat(dir, r->temporary, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		(void)unlinkat(dir, r->temporary, AT_REMOVEDIR);
	return fd;
}

/* Makes the root with a new temporary name and locks it. Sets *fd to the descriptor of the root. */
static int make_root(struct receiver *r, int (*make)(const struct receiver *r), int *fd,
		     struct error *err)
{
	int why = EBUSY;

	for (int i = 0; i < ATTEMPTS; i++) {
		autoclose int made = -1;

		if (name_temporary(r, err) < 0)
			return -1;
		made = make(r);
		if (made < 0 && errno != ENOENT)
			return receive_failed(r, err);
		if (made >= 0 && lock_root(r, made)) {
			*fd = steal_fd(&made);
			return 0;
		}
		why = made < 0 ? errno : EBUSY;
	}
	errno = why;
	return receive_failed(r, err);
}

static int receive_root_file(struct receiver *r, struct error *err)
{
	if (r->target->dir < 0)
		return receive_data(r, r->target->file, err);
	/* The file is made without a name if the file system supports this: then nothing remains if
	 * this process is killed. The file is locked now. At the end it gets its temporary name,
	 * and without a lock another receiver could then remove it. */
	r->file = file_open_nameless(r->target->dir, O_WRONLY);
	if (r->file >= 0) {
		(void)flock(r->file, LOCK_EX | LOCK_NB);
		if (name_temporary(r, err) < 0)
			return -1;
	} else {
		if (make_root(r, make_root_file, &r->file, err) < 0)
			return -1;
		r->file_named = true;
	}
	return fill_file(r, r->file, err);
}

static int receive_root(struct receiver *r, struct error *err)
{
	const struct tree_target *target = r->target;
	struct stat st;

	if (tree_get_entry(&r->in, &r->entry, err) < 0)
		return -1;
	if (r->entry.type == TREE_ERROR)
		return tree_error_of(&r->entry, err);
	if (r->entry.path[0] || (r->entry.type != TREE_FILE && r->entry.type != TREE_DIR) ||
	    (r->line->overlay && r->entry.type != TREE_DIR))
		return tree_damaged(err);
	if (r->entry.type == TREE_FILE)
		return receive_root_file(r, err);
	if (target->dir < 0)
		return error_set(err, ERR_INVALID, "%.300s is a directory, not a file: name a file",
				 shown(r));
	if (fstatat(target->dir, target->name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return error_errno(err, EEXIST, "%.300s", shown(r));
	r->open = 1;
	return make_root(r, make_root_dir, &r->root, err);
}

static int receive_rest(struct receiver *r, struct error *err)
{
	static const char of_overlays[] = {TREE_WHITEOUT, TREE_OPAQUE, TREE_REDIRECT};

	for (;;) {
		if (tree_get_entry(&r->in, &r->entry, err) < 0)
			return -1;
		if (!r->line->overlay &&
		    memchr(of_overlays, (char)r->entry.type, sizeof(of_overlays)))
			return tree_damaged(err);
		if (r->entry.type != TREE_OPAQUE && r->entry.type != TREE_REDIRECT)
			r->begun[0] = '\0';
		switch (r->entry.type) {
		case TREE_END:
			return r->open == 0 ? 0 : tree_damaged(err);
		case TREE_ERROR:
			return tree_error_of(&r->entry, err);
		case TREE_SKIPPED:
			if (receive_skipped(r, err) < 0)
				return -1;
			break;
		case TREE_OPAQUE:
		case TREE_REDIRECT:
			if (receive_claim(r, err) < 0)
				return -1;
			break;
		case TREE_DIR_END:
			if (end_dir(r, err) < 0)
				return -1;
			break;
		case TREE_FILE:
		case TREE_DIR:
		case TREE_LINK:
		case TREE_HARD_LINK:
		case TREE_WHITEOUT:
			if (make_entry(r, err) < 0)
				return -1;
		}
	}
}

/* Gives the root its final name. A file may replace another file. A directory replaces nothing,
 * except an empty directory if the file system does not support RENAME_NOREPLACE. */
static int put_in_place(struct receiver *r, struct error *err)
{
	int dir = r->target->dir, got;

	r->entry.path[0] = '\0';
	if (dir < 0)
		return 0;
	if (r->file >= 0 && !r->file_named) {
		if (file_give_name(r->file, dir, r->temporary) < 0)
			return receive_failed(r, err);
		r->file_named = true;
	}
	got = r->root >= 0 ? file_rename_new(dir, r->temporary, dir, r->target->name)
			   : renameat(dir, r->temporary, dir, r->target->name);
	/* The file system does not support RENAME_NOREPLACE. */
	if (got < 0 && (errno == EINVAL || errno == ENOTSUP))
		got = renameat(dir, r->temporary, dir, r->target->name);
	return got < 0 ? receive_failed(r, err) : 0;
}

int tree_receive(const struct tree_line *from, const struct tree_target *target,
		 const char *links_within, struct error *err)
{
	autofree struct receiver *r = calloc(1, sizeof(*r));
	struct error why = {0};
	int status = -1;

	if (!r)
		return error_errno(err, ENOMEM, "files");
	r->line = from;
	r->target = target;
	r->links_within = links_within;
	r->file = r->root = -1;
	r->in.fd = from->fd;
	r->in.cancel = from->cancel;
	r->in.silence_ms = from->silence_ms;
	r->digest = tree_digest_new();
	if (!r->digest)
		return error_errno(err, ENOMEM, "files");
	remove_left(r);
	if (receive_root(r, &why) == 0 && receive_rest(r, &why) == 0)
		status = put_in_place(r, &why);
	if (status < 0 && r->root >= 0)
		(void)path_remove_tree_at(target->dir, r->temporary, NULL);
	if (status < 0 && r->file_named)
		(void)unlinkat(target->dir, r->temporary, 0);
	cleanup_close(&r->root);
	cleanup_close(&r->file);
	tree_digest_free(r->digest);
	return status < 0 ? error_copy(err, &why) : 0;
}

/* --- the answer ------------------------------------------------------------------------------ */

void tree_answer(int fd, const struct error *result)
{
	autofree struct tree_writer *w = calloc(1, sizeof(*w));
	struct tree_entry entry = {.type = result->code ? TREE_ERROR : TREE_END,
				   .mode = (uint32_t)result->code};

	if (!w)
		return;
	w->fd = fd;
	w->cancel = -1;
	snprintf(entry.text, sizeof(entry.text), "%s", result->msg);
	if (tree_put_entry(w, &entry, NULL) < 0 || tree_flush(w, NULL) < 0)
		return;
	/* If a connection is closed while there are unread bytes, the peer may lose the answer. So
	 * all bytes that the peer still sends are read first. */
	(void)shutdown(fd, SHUT_WR);
	while (read(fd, w->bytes, sizeof(w->bytes)) > 0)
		;
}
