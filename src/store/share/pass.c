/* SPDX-License-Identifier: MIT */
#include "store/share/pass.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/path.h"
#include "store/internal.h"

#define PASS_MAX 65536

/* Opens the directory, and returns a row of a pass that describes it. The caller releases the
 * row. */
static json_t *pass_row(const struct share_pass_row *row, struct error *err)
{
	const struct share_wish *wish = &row->wish;
	autoclose int dir = share_open_allowed(wish, err);
	struct stat st;
	json_t *pass;

	if (dir < 0)
		return NULL;
	if (fstat(dir, &st) < 0) {
		error_errno(err, errno, "%s", wish->path);
		return NULL;
	}
	pass = json_pack("{s:s, s:I, s:I, s:b, s:b, s:s, s:I, s:b}", "path", wish->path, "device",
			 (json_int_t)st.st_dev, "inode", (json_int_t)st.st_ino, "readOnly",
			 wish->read_only, "anyway", wish->anyway, "cache",
			 share_cache_names[row->terms.cache], "timeoutSeconds",
			 (json_int_t)row->terms.timeout_seconds, "locks", row->terms.locks);
	if (!pass)
		error_set(
			err, ERR_INVALID,
			"%s is not UTF-8, and only paths in UTF-8 can be shared: rename the directory",
			wish->path);
	return pass;
}

/* Opens and locks the file of the pass. An empty file is not a valid pass. The file stays until the
 * workspace is removed together with its files in the directory of locks. */
static int open_pass(const struct workspace *ws, struct error *err)
{
	autoclose int locks = path_open_dir_at(ws->dir->fd, LOCKS_DIR, true, 0700, err);
	char name[192];

	if (locks < 0)
		return -1;
	snprintf(name, sizeof(name), SHARE_PASS "%s", ws->id);
	autoclose int fd = openat(locks, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return error_errno(err, errno, "%s", name);
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return steal_fd(&fd);
	if (errno != EWOULDBLOCK)
		return error_errno(err, errno, "%s", name);
	return error_set(
		err, ERR_CONFLICT,
		"another command is sharing a directory with this machine: try again when that command has ended");
}

int share_pass_give(const struct workspace *ws, const struct share_pass_row *rows, size_t count,
		    struct error *err)
{
	json_auto_t *whole = json_array();
	autofree char *text = NULL;
	autopass int pass = -1;

	for (size_t i = 0; i < count; i++) {
		json_t *row = pass_row(&rows[i], err);

		if (!row)
			return -1;
		if (json_array_append_new(whole, row) < 0)
			return error_errno(err, ENOMEM, "pass");
	}
	text = json_line(whole, err);
	pass = text ? open_pass(ws, err) : -1;
	if (pass < 0)
		return -1;
	if (ftruncate(pass, 0) < 0)
		return error_errno(err, errno, "pass for %s", ws->id);
	if (fd_write_all(pass, text, strlen(text), err) < 0)
		return error_prefix(err, "pass for %s", ws->id);
	return steal_fd(&pass);
}

void share_pass_end(int *pass)
{
	if (*pass < 0)
		return;
	(void)!ftruncate(*pass, 0);
	close(steal_fd(pass));
}

/* --- in the broker --------------------------------------------------------------------------- */

static json_t *read_pass(const char *workspace)
{
	const char *id = strrchr(workspace, '/') + 1;
	autofree char *text = malloc(PASS_MAX);
	char name[4352];

	if (!text)
		return NULL;
	snprintf(name, sizeof(name), "%.*s" LOCKS_DIR "/" SHARE_PASS "%s", (int)(id - workspace),
		 workspace, id);
	autoclose int fd = open(name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	/* A pass is valid only while its command holds the lock of the file. If the command was
	 * killed, the file has no lock. */
	bool held = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
	ssize_t n = held ? pread(fd, text, PASS_MAX, 0) : 0;

	return n > 0 ? json_load_strict(text, (size_t)n, NULL) : NULL;
}

int share_pass_redeem(const char *workspace, size_t number, const struct share_wish *base,
		      struct share_terms *terms, struct error *err)
{
	struct share_wish wish = *base;
	json_auto_t *whole = read_pass(workspace);
	json_t *pass = json_array_get(whole, number);
	json_int_t device, inode;
	int read_only, anyway;
	struct stat st;

	if (!pass ||
	    json_unpack(pass, "{s:s, s:I, s:I, s:b, s:b}", "path", &wish.path, "device", &device,
			"inode", &inode, "readOnly", &read_only, "anyway", &anyway) < 0)
		return error_set(
			err, ERR_DENIED,
			"the broker refuses to share a directory, because no command is sharing one with this machine: this is a bug, or the live supervisor was taken over");
	if (read_only && !wish.read_only)
		return error_set(
			err, ERR_DENIED,
			"the broker refuses to share %s writable, because it was shared read-only: this is a bug, or the live supervisor was taken over",
			wish.path);
	wish.anyway = anyway;
	autoclose int dir = share_open_allowed(&wish, err);
	if (dir < 0)
		return -1;
	if (fstat(dir, &st) < 0 || (json_int_t)st.st_dev != device ||
	    (json_int_t)st.st_ino != inode)
		return error_set(
			err, ERR_CONFLICT,
			"%s is not shared, because it was replaced by another directory meanwhile: try again",
			wish.path);
	*terms = share_terms(pass);
	return steal_fd(&dir);
}
