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

static int unknown_package(const struct apt *apt, const char *package, struct error *err)
{
	if (apt->config)
		error_set(
			err, ERR_NOT_FOUND,
			"the archives in apt's sources have no package %s for %s: add an archive that has it",
			package, architecture_name(apt->architecture));
	else
		error_set(err, ERR_NOT_FOUND,
			  "apt knows no package %s: run `apt-get update` as root and try again",
			  package);
	return error_reason(err, REASON_NO_PACKAGE, package);
}

/* Runs apt. apt runs with LC_ALL=C, so that its messages are in English. `out` gets apt's stdout;
 * if `out` is NULL, stdout is dropped. `dir` is apt's working directory; if `dir` is NULL, apt runs
 * in the working directory of this process. */
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

/* The configuration of apt for an architecture other than this host's. apt also reads the host's
 * settings: where the archives are, which keys sign them, and how they are reached. If root runs
 * apt, apt downloads as a special user, who cannot write to the directory. So the configuration
 * makes apt download as root. */
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
	/* Without this option, apt only warns about an archive that cannot be reached, and exits
	 * with 0 (apt-get(8), --error-on). Versions of apt before 2.1.16 ignore the option. */
	static const char *const update[] = {"apt-get", "-qq", "-o", "APT::Update::Error-Mode=any",
					     "update",	NULL};
	const char *name = architecture_name(apt->architecture);

	progress_stage("asking Debian's archives for %s", name);
	if (write_private_config(apt, dir, err) < 0)
		return -1;
	if (run_apt(apt, update, NULL, NULL, err) == 0)
		return 0;
	error_prefix(err, "the lists of packages for %s cannot be fetched", name);
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

/* Returns -1. Sets the reason of the error if apt does not know the package, or if apt is not
 * installed. */
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
	autofree char *found = NULL, *bytes = NULL, *sha256 = NULL;

	if (run_apt(apt, argv, NULL, &text, err) < 0)
		return no_apt(apt, package, err);
	/* apt reads an unknown name as a pattern: "linux-source-6.1" finds linux-source-6.12. So
	 * the name in apt's answer is compared with the wanted name. */
	found = deb_field(buf_string(&text), "Package: ", NULL);
	if (!found || strcmp(found, package) != 0)
		return unknown_package(apt, package, err);
	deb.version = deb_field(buf_string(&text), "Version: ", err);
	bytes = deb_field(buf_string(&text), "Size: ", NULL);
	deb.bytes = bytes ? strtoull(bytes, NULL, 10) : 0;
	sha256 = deb_field(buf_string(&text), "SHA256: ", NULL);
	if (sha256 && strlen(sha256) == DIGEST_TEXT - 1)
		memcpy(deb.sha256, sha256, DIGEST_TEXT);
	deb.package = deb.version ? strdup(package) : NULL;
	if (!deb.package || !deb_is_plain_name(deb.version)) {
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
	name = deb_field(buf_string(&text), "  Depends: ", err);
	if (!name || !deb_is_plain_name(name))
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
	error_set(
		err, ERR_IO,
		"apt-get download ended without an error, but left no package in %s: this is a bug of microagent or apt",
		dir);
	return NULL;
}

int apt_fetch(const struct apt *apt, struct deb *deb, const char *dir, struct error *err)
{
	autobuf struct buf what = BUF_INIT(0);
	/* If root runs apt, apt downloads as a special user, who cannot write to this directory.
	 * This option makes apt download as root. */
	const char *argv[] = {"apt-get",  "-qq", "-o", "APT::Sandbox::User=root",
			      "download", NULL,	 NULL};

	if (buf_printf(&what, err, "%s=%s", deb->package, deb->version) < 0)
		return -1;
	argv[5] = buf_string(&what);
	progress_stage("fetching %s %s", deb->package, deb->version);
	if (run_apt(apt, argv, dir, NULL, err) < 0) {
		error_prefix(err, "fetching %s%s", deb->package,
			     apt->config
				     ? ""
				     : " (a newer version may be out: `apt-get update` as root)");
		return err && err->code == ERR_IO
			       ? error_reason(err, REASON_NO_PACKAGE, deb->package)
			       : -1;
	}
	deb->file = fetched_file(dir, err);
	deb->vouched = true;
	return deb->file ? 0 : -1;
}
