/* SPDX-License-Identifier: MIT */
#include "artifact/oci_source.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "artifact/cell.h"
#include "artifact/oci_complaint.h"
#include "artifact/oci_layout.h"
#include "artifact/progress.h"
#include "artifact/reader.h"
#include "artifact/tool.h"
#include "base/argv.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "store/trusted_dir.h"

#define LINK "source"
#define COPY "copied"
#define TEMPORARY "tmp"
#define INDEX_BYTES (4u << 20)

static const char *const transports[] = {
	[OCI_LAYOUT] = "oci:",
	[OCI_ARCHIVE] = "oci-archive:",
	[DOCKER_ARCHIVE] = "docker-archive:",
	[DOCKER_REGISTRY] = "docker://",
};

void oci_source_free(struct oci_source *source)
{
	free(source->ref);
	free(source->path);
	free(source->bytes);
	free(source->name);
	*source = (struct oci_source){0};
}

/* Returns the length of PATH in a text "PATH[:TAG]". PATH is the shortest beginning of the text
 * that ends before a ':' or at the end of the text, and is the path of an existing file. Returns 0
 * if there is no such path. */
static size_t path_length(const char *text)
{
	size_t len = 0;

	for (;;) {
		len += strcspn(text + len, ":");
		autofree char *path = strndup(text, len);
		if (len > 0 && path && access(path, F_OK) == 0)
			return len;
		if (!text[len++])
			return 0;
	}
}

/* Returns 1 for a directory, 0 for a regular file, or -1 with err set. Refuses every other type of
 * file, because skopeo could wait for ever for the first byte of such a file. */
static int is_directory(const char *path, struct error *err)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return error_errno(err, errno, "%s", path);
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return error_set(
			err, ERR_INVALID,
			"%s is neither a file nor a directory: give the archive or the directory of an image",
			path);
	return S_ISDIR(st.st_mode);
}

/* Finds the transport for a path, from the contents of the file or directory at this path. */
static int look_in_path(const char *path, uint64_t room, enum oci_transport *out, struct error *err)
{
	autofree char *layout = path_join(path, "oci-layout", err);
	int got;

	if (!layout)
		return -1;
	*out = OCI_LAYOUT;
	if (is_directory(path, err) > 0)
		return access(layout, F_OK) == 0
			       ? 0
			       : error_set(
					 err, ERR_INVALID,
					 "%s has no file oci-layout, so it is not an OCI layout: give the directory of an image",
					 path);
	*out = OCI_ARCHIVE;
	got = reader_has(path, room, "oci-layout", err);
	if (got == 0) {
		*out = DOCKER_ARCHIVE;
		got = reader_has(path, room, "manifest.json", err);
	}
	if (got < 0)
		return error_prefix(err, "%s is not an archive of an image", path);
	return got ? 0
		   : error_set(
			     err, ERR_INVALID,
			     "%s has neither oci-layout nor manifest.json in it, so it is not an archive of an image: give one",
			     path);
}

static int put_source_text(char **out, struct error *err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static int put_source_text(char **out, struct error *err, const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vasprintf(out, fmt, args);
	va_end(args);
	if (n >= 0)
		return 0;
	*out = NULL;
	return error_errno(err, ENOMEM, "image");
}

/* Returns true if the name ends like the name of an archive. Such a name is not searched in a
 * registry, because the user has probably mistyped the path of an archive. */
static bool is_called_archive(const char *name)
{
	static const char *const ends[] = {".tar",     ".tar.gz", ".tgz",
					   ".tar.bz2", ".tar.xz", ".tar.zst"};
	size_t len = strlen(name);

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (len >= strlen(ends[i]) && strcmp(name + len - strlen(ends[i]), ends[i]) == 0)
			return true;
	return false;
}

/* Returns true for names like "dir:/tmp" or "https://...", in which the text after the first ':' is
 * neither a tag nor the port of a registry. Also returns true for skopeo's transports docker-daemon
 * and containers-storage. */
static bool is_of_other_transport(const char *name)
{
	const char *colon = strchr(name, ':');

	if (strncmp(name, "docker-daemon:", 14) == 0 ||
	    strncmp(name, "containers-storage:", 19) == 0)
		return true;
	return colon && !memchr(name, '@', (size_t)(colon - name)) &&
	       !isalnum((unsigned char)colon[1]) && colon[1] != '_';
}

static int in_registry(struct oci_source *source, const char *name, struct error *err)
{
	/* A name that begins with one of these characters is a path that does not exist, or a
	 * mistyped option. */
	if (!*name || strchr("/.~-", *name))
		return error_set(
			err, ERR_NOT_FOUND,
			"%s does not exist; an image of a registry has a name like \"docker.io/library/debian:12\"",
			*name ? name : "a file without a name");
	source->transport = DOCKER_REGISTRY;
	if (put_source_text(&source->ref, err, "docker://%s", name) < 0)
		return -1;
	return put_source_text(&source->name, err, "docker://%s", name);
}

static int find_oci_source(const char *text, struct oci_source *source, struct error *err)
{
	enum oci_transport found = OCI_LAYOUT;
	autofree char *path = NULL;
	const char *rest, *transport;
	size_t named = 0, len;

	while (named < ARRAY_SIZE(transports) &&
	       strncmp(text, transports[named], strlen(transports[named])) != 0)
		named++;
	rest = text + (named < ARRAY_SIZE(transports) ? strlen(transports[named]) : 0);
	if (named == DOCKER_REGISTRY)
		return in_registry(source, rest, err);
	len = path_length(rest);
	if (len == 0 && (named < ARRAY_SIZE(transports) || is_called_archive(rest)))
		return error_set(err, ERR_NOT_FOUND,
				 "%s does not exist: give the file or directory of an image", rest);
	if (len == 0 && is_of_other_transport(rest))
		return error_set(
			err, ERR_INVALID,
			"%s: images are imported from a path, also with \"oci:\", \"oci-archive:\" or \"docker-archive:\" before it, and from a registry (\"docker://\")",
			rest);
	if (len == 0)
		return in_registry(source, rest, err);
	path = strndup(rest, len);
	if (!path)
		return error_errno(err, ENOMEM, "image");
	if (is_directory(path, err) < 0 ||
	    (named == ARRAY_SIZE(transports) && look_in_path(path, source->room, &found, err) < 0))
		return -1;
	source->transport = named < ARRAY_SIZE(transports) ? (enum oci_transport)named : found;
	transport = transports[source->transport];
	source->path = path_absolute(path, err);
	if (!source->path ||
	    put_source_text(&source->ref, err, "%s%s%s", transport, source->path, rest + len) < 0)
		return -1;
	return put_source_text(&source->name, err, "%s" LINK "%s", transport, rest + len);
}

int oci_source_find(const char *text, uint64_t room, struct oci_source *out, struct error *err)
{
	struct oci_source source = {.room = room};

	if (find_oci_source(text, &source, err) < 0) {
		oci_source_free(&source);
		return -1;
	}
	*out = source;
	return 0;
}

/* Returns true if no other user can write to the directory or to its parents. */
static bool is_dir_ours(const char *path)
{
	struct error ignored;
	autoclose int fd = trusted_dir_open(-1, path, false, &ignored);

	return fd >= 0 && trusted_dir_check_own(fd, path, &ignored) == 0;
}

/* Returns true if no other user can write to any directory of the layout. */
static bool is_layout_ours(const char *path)
{
	autofree char *blobs = path_join(path, "blobs", NULL);
	autodir DIR *dir = blobs && is_dir_ours(blobs) ? opendir(blobs) : NULL;
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		autofree char *below = path_join(blobs, entry->d_name, NULL);

		if (strcmp(entry->d_name, "..") != 0 && (!below || !is_dir_ours(below)))
			return false;
	}
	return dir != NULL;
}

/* Returns true if no other user can write to the archive or to its directory. If the archive is a
 * link, returns false. */
static bool is_archive_ours(const char *path)
{
	autofree char *dir = strdup(path);
	char *slash = dir ? strrchr(dir, '/') : NULL;
	struct stat st;

	if (!slash)
		return false;
	slash[slash == dir] = '\0';
	return is_dir_ours(dir) && lstat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	       st.st_uid == geteuid() && !(st.st_mode & (S_IWGRP | S_IWOTH));
}

static int copy_source(struct oci_source *source, int dir, const char *dir_path, struct error *err)
{
	progress_stage("copying %s, which another user can change", source->ref);
	source->bytes = path_join(dir_path, COPY, err);
	if (!source->bytes)
		return -1;
	if (source->transport == OCI_LAYOUT
		    ? oci_layout_copy(source->path, dir, COPY, source->room, err) < 0
		    : oci_archive_copy(source->path, dir, COPY, source->room, err) < 0)
		return error_prefix(err, "%s", source->ref);
	return 0;
}

/* Makes the link by which skopeo opens the source. For skopeo, a path ends at a ':', so it gets
 * only relative names without a ':'. */
int oci_source_prepare(struct oci_source *source, int dir, const char *dir_path, struct error *err)
{
	/* Another user could replace the source by a FIFO or a link while skopeo reads it. So this
	 * program first copies a source to which another user can write. */
	if (source->path && (source->transport == OCI_LAYOUT ? is_layout_ours(source->path)
							     : is_archive_ours(source->path))) {
		source->bytes = strdup(source->path);
		if (!source->bytes)
			return error_errno(err, ENOMEM, "image");
	} else if (source->path && copy_source(source, dir, dir_path, err) < 0) {
		return -1;
	}
	if (source->bytes && symlinkat(source->bytes, dir, LINK) < 0)
		return error_errno(err, errno, LINK);
	if (mkdirat(dir, OCI_FETCHED, 0700) < 0 || mkdirat(dir, TEMPORARY, 0700) < 0)
		return error_errno(err, errno, "directories for skopeo");
	return 0;
}

static int run_skopeo(const struct oci_source *source, const char *dir, const struct tool *tool,
		      struct error *err)
{
	const struct tool_cell cell = {.settings = true,
				       .source = source->bytes,
				       .link = LINK,
				       .network = source->transport == DOCKER_REGISTRY,
				       .unconfined = source->unconfined,
				       .dir = dir,
				       .out = OCI_FETCHED,
				       .temporary = TEMPORARY,
				       .room = source->room};
	autoargv struct argv words = ARGV_INIT;
	struct tool there = *tool;

	argv_add(&words, tool->argv[0]);
	/* skopeo unpacks archives in /var/tmp and ignores TMPDIR. In a cell, /var/tmp is a
	 * directory of the cell, so nothing must be changed. Without a cell, skopeo gets another
	 * directory by --tmpdir. */
	if (source->unconfined) {
		argv_add(&words, "--tmpdir");
		argv_add(&words, TEMPORARY);
	}
	argv_add_list(&words, tool->argv + 1);
	there.argv = argv_finish(&words, err);
	return there.argv ? cell_run(&cell, &there, err) : -1;
}

/* Checks whether the source is an index that lacks the wanted platform. If so, sets an error that
 * names the platforms of the index, and returns true. */
static bool tell_platforms(const struct oci_source *source, const char *dir, struct error *err)
{
	const char *const argv[] = {"skopeo", "inspect", "--raw", source->name, NULL};
	autobuf struct buf index = BUF_INIT(INDEX_BYTES);
	const struct tool tool = {.argv = argv, .out = &index};
	struct error ignored;

	return run_skopeo(source, dir, &tool, &ignored) == 0 &&
	       oci_complain_of_platform(source, &index, err);
}

/* Returns true if skopeo failed because it had written all the bytes that it may write. skopeo
 * removes the unfinished file, so the size cannot be checked afterwards. A write fails if the file
 * becomes too long, or if the disk is full. If the disk still has space for all the bytes that
 * skopeo may write, the disk was not full. */
static bool has_filled_room(const struct oci_source *source, const char *dir,
			    const struct error *why)
{
	struct statvfs disk;

	return (strstr(why->msg, "short write") || strstr(why->msg, "file too large") ||
		strstr(why->msg, "file size limit exceeded")) &&
	       statvfs(dir, &disk) == 0 && (uint64_t)disk.f_bavail * disk.f_frsize >= source->room;
}

static int skopeo(const struct oci_source *source, const char *dir, const char *const *argv,
		  struct buf *out, struct error *err)
{
	const struct tool tool = {.argv = argv, .out = out};
	struct error why = {0};

	if (run_skopeo(source, dir, &tool, &why) == 0)
		return 0;
	if (oci_lacks_platform(&why) && tell_platforms(source, dir, err))
		return -1;
	if (has_filled_room(source, dir, &why))
		tool_room_exceeded(source->room, &why);
	error_copy(err, &why);
	if (why.reason == REASON_IMAGE_TOO_SMALL)
		return error_prefix(err, "%s", source->ref);
	return why.reason == REASON_NO_CELL ? -1 : oci_complain(source, err);
}

/* Checks the files that skopeo opens, because skopeo would wait for ever for the first byte of, for
 * example, a FIFO. */
static int check_files(const struct oci_source *source, struct error *err)
{
	int status = 0;

	if (source->transport == OCI_LAYOUT)
		status = oci_layout_check(source->bytes, err);
	else if (source->transport == OCI_ARCHIVE)
		status = reader_check_files(source->bytes, source->room, err);
	return status < 0 ? error_prefix(err, "%s", source->ref) : 0;
}

int oci_source_look(const struct oci_source *source, const char *dir, struct oci_manifests *out,
		    struct error *err)
{
	const char *const argv[] = {"skopeo", "inspect", "--raw", source->name, NULL};
	autobuf struct buf text = BUF_INIT(INDEX_BYTES);

	progress_stage("looking at %s", source->ref);
	if (check_files(source, err) < 0)
		return -1;
	if (skopeo(source, dir, argv, &text, err) < 0)
		return -1;
	if ((source->transport == DOCKER_REGISTRY &&
	     oci_manifests_check_name(source->ref, &text, err) < 0) ||
	    oci_manifests_read(&text, source->architecture, out, err) < 0)
		return error_prefix(err, "%s", source->ref);
	return 0;
}

int oci_source_fetch(const struct oci_source *source, const char *dir, struct error *err)
{
	static const char into[] = "dir:" OCI_FETCHED;
	const char *const argv[] = {"skopeo",
				    "--override-os",
				    "linux",
				    "--override-arch",
				    architecture_name(source->architecture),
				    "copy",
				    source->name,
				    into,
				    NULL};

	progress_stage("fetching %s", source->ref);
	return skopeo(source, dir, argv, NULL, err);
}

int oci_source_check_manifest(const struct oci_source *source, const char *sha256,
			      struct error *err)
{
	char name[96];
	int there = 1;

	snprintf(name, sizeof(name), "blobs/sha256/%s", sha256);
	if (source->transport == OCI_LAYOUT) {
		autofree char *file = path_join(source->bytes, name, err);

		if (!file)
			return -1;
		there = access(file, F_OK) == 0;
	} else if (source->transport == OCI_ARCHIVE) {
		there = reader_has(source->bytes, source->room, name, err);
	}
	if (there < 0)
		return error_prefix(err, "%s", source->ref);
	return there ? 0
		     : error_set(
			       err, ERR_INVALID,
			       "%s is damaged, because it has no blob with the digest %s of its manifest: fetch or make the image again",
			       source->ref, sha256);
}
