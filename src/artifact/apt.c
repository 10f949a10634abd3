/* SPDX-License-Identifier: MIT */
#include "artifact/apt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "artifact/progress.h"
#include "artifact/tool.h"
#include "base/cleanup.h"
#include "base/path.h"

#define ANSWER_BYTES (1u << 20)
#define NAME_BYTES 128

void deb_free(struct deb *deb)
{
	free(deb->package);
	free(deb->version);
	free(deb->file);
	memset(deb, 0, sizeof(*deb));
}

static int unknown_package(const struct apt *apt, const char *package, struct error *err)
{
	if (apt->config)
		error_set(err, ERR_NOT_FOUND,
			  "the archives that apt is configured with have no package %s for %s",
			  package, architecture_name(apt->architecture));
	else
		error_set(err, ERR_NOT_FOUND,
			  "apt knows no package %s: run `apt-get update` as root and try again",
			  package);
	return error_reason(err, REASON_NO_PACKAGE, package);
}

/* apt's text in C, whatever the user's language. out: NULL where it says nothing; dir: where it
 * works, or NULL. */
static int run_apt(const struct apt *apt, const char *const *argv, const char *dir, struct buf *out,
		   struct error *err)
{
	autobuf struct buf config = BUF_INIT(0);
	const char *env[] = {"LC_ALL=C", NULL, NULL};
	const struct tool tool = {.argv = argv, .env = env, .out = out, .cwd = dir};

	if (apt->config && buf_printf(&config, err, "APT_CONFIG=%s", apt->config) < 0)
		return -1;
	if (apt->config)
		env[1] = buf_string(&config);
	return tool_run(&tool, err);
}

/* What this system's apt is told comes on top: where its archives are, by what keys they are
 * signed, and how they are reached. Run by root, apt would fetch as its own user, who may not write
 * there. */
static const char private_config[] = "APT::Architecture \"%s\";\n"
				     "APT::Architectures { \"%s\"; };\n"
				     "APT::Sandbox::User \"root\";\n"
				     "Acquire::Languages \"none\";\n"
				     "Dir::State::lists \"%s/apt/lists\";\n"
				     "Dir::State::status \"/dev/null\";\n"
				     "Dir::State::extended_states \"/dev/null\";\n"
				     "Dir::Cache \"%s/apt/cache\";\n";

static int write_private_config(struct apt *apt, const char *dir, struct error *err)
{
	static const char *const dirs[] = {
		"apt",	     "apt/lists",	   "apt/lists/partial",
		"apt/cache", "apt/cache/archives", "apt/cache/archives/partial"};
	const char *name = architecture_name(apt->architecture);
	autobuf struct buf text = BUF_INIT(0);
	autoclose int fd = path_open_dir(dir, err);

	if (fd < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		if (mkdirat(fd, dirs[i], 0700) < 0)
			return error_errno(err, errno, "%s/%s", dir, dirs[i]);
	apt->config = path_join(dir, "apt/apt.conf", err);
	if (!apt->config || buf_printf(&text, err, private_config, name, name, dir, dir) < 0)
		return -1;
	return path_replace_file_at(AT_FDCWD, apt->config, buf_bytes(&text), text.len, 0600,
				    PATH_NO_SYNC, err);
}

static int fetch_lists(struct apt *apt, const char *dir, struct error *err)
{
	/* Else archives that are not reached are a warning and the exit code 0 (apt-get(8),
	 * --error-on). An apt before 2.1.16 knows no such word, and does as before. */
	static const char *const update[] = {"apt-get", "-qq", "-o", "APT::Update::Error-Mode=any",
					     "update",	NULL};
	const char *name = architecture_name(apt->architecture);

	progress_stage("asking Debian's archives for %s", name);
	if (write_private_config(apt, dir, err) < 0)
		return -1;
	if (run_apt(apt, update, NULL, NULL, err) == 0)
		return 0;
	error_prefix(err, "lists of packages for %s", name);
	return err && err->code == ERR_IO ? error_reason(err, REASON_NO_PACKAGE, "") : -1;
}

int apt_open(enum architecture architecture, const char *dir, struct apt *out, struct error *err)
{
	struct apt apt = {.architecture = architecture};

	if (architecture != architecture_of_host() && fetch_lists(&apt, dir, err) < 0) {
		apt_close(&apt);
		return -1;
	}
	*out = apt;
	return 0;
}

void apt_close(struct apt *apt)
{
	free(apt->config);
	*apt = (struct apt){0};
}

/* What stands behind "<key>" at the start of a line, to its end; NULL when no line has it. */
static char *apt_field(const char *text, const char *key, struct error *err)
{
	size_t len = strlen(key);
	char *value;

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		while (*line == ' ')
			line++;
		if (strncmp(line, key, len) != 0)
			continue;
		value = strndup(line + len, strcspn(line + len, "\n"));
		if (!value)
			error_errno(err, ENOMEM, "%s", key);
		return value;
	}
	error_set(err, ERR_NOT_FOUND, "no line %s", key);
	return NULL;
}

/* Names become arguments and parts of file names. */
static bool is_plain_name(const char *name)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789.+-~:_";
	size_t len = strlen(name);

	return len > 0 && len <= NAME_BYTES && strspn(name, allowed) == len && name[0] != '-' &&
	       name[0] != '.';
}

/* It knows nothing of the package, or is not there itself. */
static int no_apt(const struct apt *apt, const char *package, struct error *err)
{
	if (err && err->code == ERR_IO)
		return unknown_package(apt, package, err);
	return err && err->code == ERR_NOT_FOUND ? error_reason(err, REASON_NO_PACKAGE, package)
						 : -1;
}

int apt_find(const struct apt *apt, const char *package, struct deb *out, struct error *err)
{
	const char *const argv[] = {"apt-cache", "show", "--no-all-versions", package, NULL};
	autobuf struct buf text = BUF_INIT(ANSWER_BYTES);
	struct deb deb = {.architecture = apt->architecture};
	autofree char *bytes = NULL;

	if (run_apt(apt, argv, NULL, &text, err) < 0)
		return no_apt(apt, package, err);
	deb.version = apt_field(buf_string(&text), "Version: ", err);
	bytes = apt_field(buf_string(&text), "Size: ", NULL);
	deb.bytes = bytes ? strtoull(bytes, NULL, 10) : 0;
	deb.package = deb.version ? strdup(package) : NULL;
	if (!deb.package || !is_plain_name(deb.version)) {
		deb_free(&deb);
		return unknown_package(apt, package, err);
	}
	*out = deb;
	return 0;
}

int apt_find_dependency(const struct apt *apt, const char *package, struct deb *out,
			struct error *err)
{
	const char *const argv[] = {"apt-cache", "depends", package, NULL};
	autobuf struct buf text = BUF_INIT(ANSWER_BYTES);
	autofree char *name = NULL;

	if (run_apt(apt, argv, NULL, &text, err) < 0)
		return no_apt(apt, package, err);
	name = apt_field(buf_string(&text), "Depends: ", err);
	if (!name || !is_plain_name(name))
		return unknown_package(apt, package, err);
	return apt_find(apt, name, out, err);
}

static char *fetched_file(const char *dir, struct error *err)
{
	autodir DIR *d = opendir(dir);
	struct dirent *entry;

	while (d && (entry = readdir(d)) != NULL) {
		size_t len = strlen(entry->d_name);
		if (len > 4 && strcmp(entry->d_name + len - 4, ".deb") == 0)
			return path_join(dir, entry->d_name, err);
	}
	error_set(err, ERR_IO, "apt-get download left no package in %s", dir);
	return NULL;
}

int apt_fetch(const struct apt *apt, struct deb *deb, const char *dir, struct error *err)
{
	autobuf struct buf what = BUF_INIT(0);
	/* Run by root, apt would fetch as its own user, who may not write here. */
	const char *argv[] = {"apt-get",  "-qq", "-o", "APT::Sandbox::User=root",
			      "download", NULL,	 NULL};

	if (buf_printf(&what, err, "%s=%s", deb->package, deb->version) < 0)
		return -1;
	argv[5] = buf_string(&what);
	progress_stage("fetching %s %s", deb->package, deb->version);
	if (run_apt(apt, argv, dir, NULL, err) < 0) {
		error_prefix(err, "fetching %s%s", deb->package,
			     apt->config ? ""
					 : " (a newer version may be out: `apt-get update` as "
					   "root)");
		return err && err->code == ERR_IO
			       ? error_reason(err, REASON_NO_PACKAGE, deb->package)
			       : -1;
	}
	deb->file = fetched_file(dir, err);
	return deb->file ? 0 : -1;
}

int deb_open(const char *file, struct deb *out, struct error *err)
{
	const char *const argv[] = {"dpkg-deb", "-f",		file, "Package",
				    "Version",	"Architecture", NULL};
	autobuf struct buf text = BUF_INIT(ANSWER_BYTES);
	autofree char *architecture = NULL;
	const struct apt any = {.architecture = ARCHITECTURE_COUNT};
	struct deb deb = {0};

	if (run_apt(&any, argv, NULL, &text, err) < 0)
		return error_prefix(err, "%s", file);
	deb.package = apt_field(buf_string(&text), "Package: ", err);
	deb.version = deb.package ? apt_field(buf_string(&text), "Version: ", err) : NULL;
	architecture = deb.version ? apt_field(buf_string(&text), "Architecture: ", err) : NULL;
	deb.file = architecture ? path_absolute(file, err) : NULL;
	if (!deb.file || !is_plain_name(deb.package) || !is_plain_name(deb.version)) {
		deb_free(&deb);
		return error_set(err, ERR_INVALID, "%s is no Debian package", file);
	}
	deb.architecture = architecture_from_name(architecture);
	*out = deb;
	return 0;
}

int deb_unpack(const struct deb *deb, const char *dir, struct error *err)
{
	const char *const argv[] = {"dpkg-deb", "-x", deb->file, dir, NULL};
	const struct tool tool = {.argv = argv};

	progress_stage("unpacking %s", deb->package);
	return tool_run(&tool, err);
}
