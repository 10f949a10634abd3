/* SPDX-License-Identifier: MIT */
/*
 * Downloads a restore image with curl(1), which is a part of macOS and uses the certificates of
 * macOS for TLS. The file has the name NAME.part until it is complete, so that an interrupted
 * download can be continued. The downloading process has a lock on NAME.part.
 *
 * By its options, curl reads no ~/.curlrc (--disable must be the first option), uses only https
 * with TLS 1.2 or newer, and follows no redirect. To refuse redirects, curl gets --location with a
 * limit of 0 redirects. With --location, curl does not write the body of a redirect. Without it,
 * curl would write this body into the image.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/platform/sync.h"
#include "session/macos/ipsw_url.h"
#include "session/macos/macos.h"

#define PART ".part"
#define HTTP "http "
#define WRITE_OUT "http %{http_code}\\n" /* for a backslash and an n, curl prints a newline */

/* The exit status of curl if a partial download cannot be continued. */
#define EXIT_CANNOT_RESUME 33

struct fetching {
	const struct making *making;
	const char *url;
	char part[IPSW_NAME_MAX + sizeof(PART)];
	char *part_path;
	int fd; /* descriptor of the file NAME.part, on which this process has the lock */
	int64_t before;
	long code;	  /* HTTP status of the answer; 0: there was no answer */
	char reason[256]; /* the last message that curl printed */
};

static void on_curl_line(void *data, const char *text)
{
	struct fetching *f = data;

	if (strncmp(text, HTTP, strlen(HTTP)) == 0)
		f->code = strtol(text + strlen(HTTP), NULL, 10);
	else if (*text)
		snprintf(f->reason, sizeof(f->reason), "%s", text);
}

static int64_t part_size(const struct fetching *f)
{
	struct stat st;

	return fstat(f->fd, &st) < 0 ? 0 : (int64_t)st.st_size;
}

static void on_curl_tick(void *data)
{
	const struct fetching *f = data;
	const struct microagent_base_spec *spec = f->making->spec;

	if (spec->progressed)
		spec->progressed(spec->data, (uint64_t)part_size(f), 0);
}

static int run_curl(struct fetching *f, int *code, struct error *err)
{
	const char *const argv[] = {"curl",
				    "--disable",
				    "--proto",
				    "=https",
				    "--tlsv1.2",
				    "--location",
				    "--max-redirs",
				    "0",
				    "--fail",
				    "--silent",
				    "--show-error",
				    "--globoff",
				    "--no-buffer", /* curl writes received data to the file at
						    * once */
				    "--connect-timeout",
				    "30",
				    "--speed-limit",
				    "1024",
				    "--speed-time",
				    "60",
				    "--continue-at",
				    "-",
				    "--output",
				    f->part_path,
				    "--write-out",
				    WRITE_OUT,
				    "--url",
				    f->url,
				    NULL};
	const struct macos_child child = {
		.argv = argv, .line = on_curl_line, .tick = on_curl_tick, .data = f};

	return macos_child_run(f->making, &child, code, err);
}

/* Keeps the received bytes of the image in NAME.part. Cuts off bytes that do not belong to the
 * image, such as the body of an HTTP error. Removes the file if the download cannot be
 * continued. */
static void keep_part(struct fetching *f, const struct state_dir *dir, int curl)
{
	bool own = f->code == 0 || f->code == 200 || f->code == 206; /* code 0: curl ended before it
								      * got an answer */
	bool cut = own || part_size(f) <= f->before || ftruncate(f->fd, f->before) == 0;

	if (!cut || part_size(f) == 0 || curl == EXIT_CANNOT_RESUME || f->code == 416)
		(void)unlinkat(dir->fd, f->part, 0);
}

static int tell_unfetched(struct fetching *f, const struct state_dir *dir, int curl,
			  const struct error *why, struct error *err)
{
	char left[512] = "";

	keep_part(f, dir, curl);
	if (faccessat(dir->fd, f->part, F_OK, 0) == 0)
		snprintf(left, sizeof(left),
			 "; %" PRId64
			 " bytes of it are in %.300s, and the same command fetches the rest",
			 part_size(f), f->part_path);
	if (why->code)
		return error_set(err, why->code, "%.200s: %.200s%s", f->url, why->msg, left);
	if (f->code >= 300 && f->code < 400)
		return error_set(
			err, ERR_IO,
			"%.200s: the server redirects to another address (HTTP %ld), which is not followed%s",
			f->url, f->code, left);
	return error_set(err, ERR_IO, "%.200s: %s%s", f->url,
			 f->reason[0] ? f->reason : "curl could not fetch it", left);
}

static int fetch_named(const struct making *m, const char *url, const char *name,
		       const struct state_dir *dir, struct error *err)
{
	struct fetching f = {.making = m, .url = url, .fd = -1};
	autofree char *part_path = NULL;
	autoclose int fd = -1;
	struct error why = {0};
	int curl = 0;

	snprintf(f.part, sizeof(f.part), "%s" PART, name);
	f.part_path = part_path = path_join(dir->path, f.part, err);
	if (!part_path)
		return -1;
	f.fd = fd = openat(dir->fd, f.part, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return error_errno(err, errno, "%s", part_path);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return error_set(
			err, ERR_CONFLICT,
			"%s is being fetched by another command: try again when that has ended",
			url);
	f.before = part_size(&f);
	if (run_curl(&f, &curl, &why) < 0 || curl != 0 || (f.code != 200 && f.code != 206) ||
	    part_size(&f) <= 0)
		return tell_unfetched(&f, dir, curl, &why, err);
	if (file_sync(fd) < 0 || renameat(dir->fd, f.part, dir->fd, name) < 0)
		return error_errno(err, errno, "%s", part_path);
	return 0;
}

int ipsw_fetch(const struct making *m, const char *url, char **path, struct error *err)
{
	const struct microagent_base_spec *spec = m->spec;
	char name[IPSW_NAME_MAX + 1], text[IPSW_NAME_MAX + 32];
	auto_state_dir struct state_dir dir = {0};
	autofree char *whole = NULL;

	if (ipsw_url_check(url, name, err) < 0 ||
	    state_sub_open(m->agent, IPSW_DIR, true, &dir, err) < 0)
		return -1;
	whole = path_join(dir.path, name, err);
	if (!whole)
		return -1;
	if (faccessat(dir.fd, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0) {
		snprintf(text, sizeof(text), "fetching %s from Apple", name);
		if (spec->said)
			spec->said(spec->data, MICROAGENT_BASE_DOING, text);
		if (fetch_named(m, url, name, &dir, err) < 0)
			return -1;
	}
	*path = steal_ptr(&whole);
	return 0;
}
