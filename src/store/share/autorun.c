/* SPDX-License-Identifier: MIT */
#include "store/share/autorun.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/platform/file.h"

/* What a person must do so that a program reads an autorun file. */
enum occasion {
	/* A person enters the directory of the file, opens this directory in an editor, or runs
	 * git, which reads all directories of a checkout. A file of such a rule is reported in
	 * every directory. */
	OCCASION_LOOK,
	/* A person starts a command in the directory of the file, for example `make`. Nobody starts
	 * such a command in a directory of installed packages or in .git, so a file of such a rule
	 * is not reported there. */
	OCCASION_COMMAND,
};

struct autorun_rule {
	/* A pattern of fnmatch(), which is compared with as many names at the end of a file's path
	 * as the pattern has. A pattern that ends with a slash and two stars matches every file
	 * below a directory with the name before the slash, and a link with that name, because it
	 * may lead to such a directory. */
	const char *pattern;
	const char *by;
	enum occasion occasion;
};

#define GIT_RUNS "git runs commands that it names"
#define GIT_FOLLOWS "git takes the repository that it names"
#define AGENTS_OBEY "coding agents obey it"
#define EDITORS_RUN "editors run tasks and programs that it names"
#define NPM_RUNS "npm runs commands that it names"

/* The files in a git repository that git runs or obeys. Each pattern is a path below the
 * repository's directory (gitrepository-layout(5), git-config(1)). */
static const struct autorun_rule of_repository[] = {
	{"config", GIT_RUNS, OCCASION_LOOK},
	{"config.worktree", GIT_RUNS, OCCASION_LOOK},
	{"hooks/*", "git runs it", OCCASION_LOOK},
	/* a link in the place of the directory */
	{"hooks", "git runs the files in it", OCCASION_LOOK},
	{"info", "git filters the files that its attributes name", OCCASION_LOOK},
	{"info/attributes", "git filters the files that it names", OCCASION_LOOK},
	{"commondir", GIT_FOLLOWS, OCCASION_LOOK},
	{"rebase-merge/git-rebase-todo", "git rebase --continue runs its exec lines",
	 OCCASION_LOOK},
};

static const struct autorun_rule of_tree[] = {
	{".git", GIT_FOLLOWS, OCCASION_LOOK},
	{".gitattributes", "git filters the files that it names", OCCASION_LOOK},
	{".gitmodules", "git fetches the repositories that it names", OCCASION_LOOK},
	{".gitconfig", GIT_RUNS, OCCASION_LOOK},
	/* a link in the place of the directory */
	{".hg", "hg runs commands that the hgrc in it names", OCCASION_LOOK},
	{".hg/hgrc", "hg runs commands that it names", OCCASION_LOOK},
	{".jj/**", "jj runs the programs that its config names", OCCASION_LOOK},
	{".envrc", "direnv runs it", OCCASION_LOOK},
	{".tool-versions", "asdf and mise install the programs that it names", OCCASION_LOOK},
	{".mise.toml", "mise runs commands that it names", OCCASION_LOOK},
	{"mise.toml", "mise runs commands that it names", OCCASION_LOOK},
	{"mise.local.toml", "mise runs commands that it names", OCCASION_LOOK},
	{".mise.local.toml", "mise runs commands that it names", OCCASION_LOOK},
	{".vscode/**", EDITORS_RUN, OCCASION_LOOK},
	{"*.code-workspace", EDITORS_RUN, OCCASION_LOOK},
	{"*.sublime-project", EDITORS_RUN, OCCASION_LOOK},
	{".idea/**", EDITORS_RUN, OCCASION_LOOK},
	{".zed/**", EDITORS_RUN, OCCASION_LOOK},
	{".devcontainer/**", "editors make a container by it", OCCASION_LOOK},
	{".devcontainer.json", "editors make a container by it", OCCASION_LOOK},
	{".dir-locals.el", "Emacs obeys it", OCCASION_LOOK},
	{".exrc", "vi runs it", OCCASION_LOOK},
	{".vimrc", "vim runs it", OCCASION_LOOK},
	{".lvimrc", "vim runs it", OCCASION_LOOK},
	{".nvimrc", "Neovim runs it", OCCASION_LOOK},
	{".nvim.lua", "Neovim runs it", OCCASION_LOOK},
	{".eslintrc", "editors run it by eslint", OCCASION_LOOK},
	{".eslintrc.*", "editors run it by eslint", OCCASION_LOOK},
	{"eslint.config.*", "editors run it by eslint", OCCASION_LOOK},
	{".prettierrc", "editors run it by prettier", OCCASION_LOOK},
	{".prettierrc.*", "editors run it by prettier", OCCASION_LOOK},
	{"prettier.config.*", "editors run it by prettier", OCCASION_LOOK},
	{".pylintrc", "editors run it by pylint", OCCASION_LOOK},
	{"mypy.ini", "editors run the plugins that it names by mypy", OCCASION_LOOK},
	{".claude/**", AGENTS_OBEY, OCCASION_LOOK},
	{".codex/**", AGENTS_OBEY, OCCASION_LOOK},
	{".gemini/**", AGENTS_OBEY, OCCASION_LOOK},
	{".cursor/**", AGENTS_OBEY, OCCASION_LOOK},
	{".cursorrules", AGENTS_OBEY, OCCASION_LOOK},
	{".windsurfrules", AGENTS_OBEY, OCCASION_LOOK},
	{".clinerules", AGENTS_OBEY, OCCASION_LOOK},
	{".clinerules/**", AGENTS_OBEY, OCCASION_LOOK},
	{".aider.conf.yml", "coding agents run commands that it names", OCCASION_LOOK},
	{"opencode.json", "coding agents run the programs that it names", OCCASION_LOOK},
	{".mcp.json", "coding agents run the programs that it names", OCCASION_LOOK},
	{"CLAUDE.md", AGENTS_OBEY, OCCASION_LOOK},
	{"AGENTS.md", AGENTS_OBEY, OCCASION_LOOK},
	{"GEMINI.md", AGENTS_OBEY, OCCASION_LOOK},
	{".gdbinit", "gdb runs it", OCCASION_COMMAND},
	{".lldbinit", "lldb runs it", OCCASION_COMMAND},
	{".pdbrc", "pdb runs it", OCCASION_COMMAND},
	{".husky/**", "git runs it, if husky is set up", OCCASION_COMMAND},
	{".githooks/**", "git runs it, if its config says so", OCCASION_COMMAND},
	{".pre-commit-config.yaml", "pre-commit runs commands that it names", OCCASION_COMMAND},
	{"lefthook.yml", "lefthook runs commands that it names", OCCASION_COMMAND},
	{".npmrc", "npm obeys it", OCCASION_COMMAND},
	{".yarnrc", "yarn runs the program that it names", OCCASION_COMMAND},
	{".yarnrc.yml", "yarn runs the program that it names", OCCASION_COMMAND},
	{".yarn", "yarn runs the files in it", OCCASION_COMMAND},
	{".yarn/releases/**", "yarn runs it", OCCASION_COMMAND},
	{".pnpmfile.cjs", "pnpm runs it", OCCASION_COMMAND},
	{"package.json", NPM_RUNS, OCCASION_COMMAND},
	{"bunfig.toml", "bun runs the files that it names", OCCASION_COMMAND},
	{"jest.config.*", "jest runs it", OCCASION_COMMAND},
	{"vite.config.*", "vite runs it", OCCASION_COMMAND},
	{"webpack.config.*", "webpack runs it", OCCASION_COMMAND},
	{".babelrc*", "babel runs the plugins that it names", OCCASION_COMMAND},
	{"babel.config.*", "babel runs it", OCCASION_COMMAND},
	{"composer.json", "composer runs commands that it names", OCCASION_COMMAND},
	{"Makefile", "make runs it", OCCASION_COMMAND},
	{"makefile", "make runs it", OCCASION_COMMAND},
	{"GNUmakefile", "make runs it", OCCASION_COMMAND},
	{"*.mk", "make runs it", OCCASION_COMMAND},
	{"[Jj]ustfile", "just runs it", OCCASION_COMMAND},
	{"Taskfile.y*ml", "task runs it", OCCASION_COMMAND},
	{"Rakefile", "rake runs it", OCCASION_COMMAND},
	{"Gemfile", "bundle runs it", OCCASION_COMMAND},
	{".bundle", "bundle obeys the config in it", OCCASION_COMMAND},
	{".bundle/config", "bundle obeys it", OCCASION_COMMAND},
	{"CMakeLists.txt", "cmake runs it", OCCASION_COMMAND},
	{"meson.build", "meson runs it", OCCASION_COMMAND},
	{"SConstruct", "scons runs it", OCCASION_COMMAND},
	{".bazelrc", "bazel obeys it", OCCASION_COMMAND},
	{"tools/bazel", "bazel runs it", OCCASION_COMMAND},
	{"build.gradle*", "gradle runs it", OCCASION_COMMAND},
	{"settings.gradle*", "gradle runs it", OCCASION_COMMAND},
	{"gradlew", "people run it in the place of gradle", OCCASION_COMMAND},
	{"gradle/wrapper/**", "gradlew runs it", OCCASION_COMMAND},
	{"mvnw", "people run it in the place of mvn", OCCASION_COMMAND},
	{".mvn/**", "mvn obeys it", OCCASION_COMMAND},
	{"pom.xml", "mvn runs the plugins that it names", OCCASION_COMMAND},
	{"build.sbt", "sbt runs it", OCCASION_COMMAND},
	{"build.rs", "cargo runs it", OCCASION_COMMAND},
	{".cargo/**", "cargo runs the programs that it names", OCCASION_COMMAND},
	{"Cargo.toml", "cargo builds and runs what it names", OCCASION_COMMAND},
	{"rust-toolchain*", "cargo installs the programs that it names", OCCASION_COMMAND},
	{"mix.exs", "mix runs it", OCCASION_COMMAND},
	{"Package.swift", "swift runs it", OCCASION_COMMAND},
	{"Directory.Build.*", "dotnet runs the tasks that it names", OCCASION_COMMAND},
	{"*.csproj", "dotnet runs the tasks that it names", OCCASION_COMMAND},
	{"setup.py", "pip runs it", OCCASION_COMMAND},
	{"setup.cfg", "pip obeys it", OCCASION_COMMAND},
	{"pyproject.toml", "pip runs the program that it names", OCCASION_COMMAND},
	{"sitecustomize.py", "python runs it", OCCASION_COMMAND},
	{"conftest.py", "pytest runs it", OCCASION_COMMAND},
	{"pytest.ini", "pytest runs the plugins that it names", OCCASION_COMMAND},
	{"noxfile.py", "nox runs it", OCCASION_COMMAND},
	{"tox.ini", "tox runs commands that it names", OCCASION_COMMAND},
	{".github/**", "the workflows of GitHub run by it", OCCASION_COMMAND},
	{".gitlab-ci.yml", "the pipelines of GitLab run by it", OCCASION_COMMAND},
	{".circleci/**", "the pipelines of CircleCI run by it", OCCASION_COMMAND},
	{".travis.yml", "the pipelines of Travis run by it", OCCASION_COMMAND},
	{"azure-pipelines.yml", "the pipelines of Azure run by it", OCCASION_COMMAND},
	{"Jenkinsfile", "the pipelines of Jenkins run by it", OCCASION_COMMAND},
	{"Dockerfile*", "docker build runs it", OCCASION_COMMAND},
	{"Containerfile*", "podman build runs it", OCCASION_COMMAND},
	{"*compose*.y*ml", "docker compose runs what it names", OCCASION_COMMAND},
	{"Vagrantfile", "vagrant runs it", OCCASION_COMMAND},
	{"flake.nix", "nix runs it", OCCASION_COMMAND},
	{"shell.nix", "nix-shell runs it", OCCASION_COMMAND},
	{"default.nix", "nix-build runs it", OCCASION_COMMAND},
};

/* Names of directories that contain installed packages. */
static const char *const of_packages[] = {"node_modules", ".venv", "venv", "vendor", "target"};

#define NESTED "git runs commands that the config of this nested repository names"

struct search {
	int64_t since_ns;
	dev_t device;
	uint64_t entries;
	struct autorun_found *found;
	struct error *err;
};

/* A directory that is being searched. */
struct stand {
	const char *path; /* path of this directory, relative to the shared directory; "" for the
			   * shared directory itself */
	/* Path of this directory, relative to the nearest git repository that contains it, for
	 * example "hooks". "": this directory is a repository. NULL: this directory is in no
	 * repository. The directory of a checkout does not count as a repository, but its directory
	 * .git does. */
	const char *within;
	unsigned level;
	bool in_packages; /* this directory or one above it contains installed packages */
	bool in_git;	  /* this directory or one above it has the name ".git" */
};

static bool is_changed(const struct search *search, const struct stat *st)
{
	struct timespec changed = file_changed(st);

	return changed.tv_sec * (int64_t)NS_PER_S + changed.tv_nsec >= search->since_ns;
}

/* Returns true if no text that begins with `c` matches the pattern. Most patterns begin with a letter
 * or a dot, so this saves most calls of fnmatch(). */
static bool begins_otherwise(const char *pattern, char c, int flags)
{
	if (strchr("*?[", *pattern))
		return false;
	return flags & FNM_CASEFOLD ? tolower((unsigned char)*pattern) != tolower((unsigned char)c)
				    : *pattern != c;
}

/* Returns true if the path is or begins with the first `len` bytes of `name`, as one name. */
static bool is_in_dir(const char *path, const char *name, size_t len, int flags)
{
	return (flags & FNM_CASEFOLD ? strncasecmp : strncmp)(path, name, len) == 0 &&
	       (!path[len] || path[len] == '/');
}

/* Returns true if the pattern matches the whole path, or the last names of the path. `flags`: 0 or
 * FNM_CASEFOLD. */
static bool is_match(const char *pattern, const char *path, int flags)
{
	size_t len = strlen(pattern);
	bool all_below = len > 3 && strcmp(pattern + len - 3, "/**") == 0;
	const char *slash;

	for (const char *at = path;; at = slash + 1) {
		slash = strchr(at, '/');
		if (begins_otherwise(pattern, *at, flags))
			;
		else if (all_below ? is_in_dir(at, pattern, len - 3, flags)
				   : (!slash || strchr(pattern, '/')) &&
					     fnmatch(pattern, at, FNM_PATHNAME | flags) == 0)
			return true;
		if (!slash)
			return false;
	}
}

/* Returns the rule for the file, or NULL if it is not an autorun file. `path` is the file's path
 * relative to the shared directory. `within` is its path relative to the nearest repository, or
 * NULL. */
static const struct autorun_rule *rule_of(const struct stand *dir, const char *path,
					  const char *within, int flags)
{
	for (size_t i = 0; within && i < ARRAY_SIZE(of_repository); i++)
		if (fnmatch(of_repository[i].pattern, within, FNM_PATHNAME | flags) == 0)
			return &of_repository[i];
	for (size_t i = 0; i < ARRAY_SIZE(of_tree); i++)
		if (!((dir->in_packages || dir->in_git) &&
		      of_tree[i].occasion == OCCASION_COMMAND) &&
		    is_match(of_tree[i].pattern, path, flags))
			return &of_tree[i];
	return NULL;
}

/* Returns true for files like hooks/pre-commit.sample. They are examples that git itself has made and
 * does not run. */
static bool is_example(const char *within, int flags)
{
	return fnmatch("hooks/*.sample", within, flags) == 0;
}

static int note(const struct search *search, const char *path, const char *by)
{
	struct autorun_found *found = search->found;
	json_t *file;

	if (json_array_size(found->files) >= limit_get(LIMIT_AUTORUN_FILES)) {
		found->more = true;
		return 0;
	}
	file = json_pack("{s:o, s:s}", "path", json_string_lossy(path, strlen(path)), "by", by);
	return json_array_append_new(found->files, file) < 0
		       ? error_errno(search->err, ENOMEM, "autorun file")
		       : 0;
}

static bool has_name(int fd, const char *name)
{
	struct stat st;

	return fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Returns true if git would use the directory as a repository. Such a directory has the name
 * ".git", or is a bare repository with any name, or belongs to a worktree or submodule and is below
 * .git. */
static bool is_repository(int fd, const char *name)
{
	return strcmp(name, ".git") == 0 ||
	       (has_name(fd, "HEAD") &&
		(has_name(fd, "commondir") || (has_name(fd, "objects") && has_name(fd, "refs"))));
}

static bool is_of_packages(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(of_packages); i++)
		if (strcmp(of_packages[i], name) == 0)
			return true;
	return false;
}

/* Returns "path/name", which the caller frees. The result may be longer than PATH_MAX: a guest can
 * make such a deep path. A long path does no harm, because the search opens each directory by its
 * last name. */
static char *below(const char *path, const char *name, struct error *err)
{
	autobuf struct buf text = BUF_INIT((size_t)(AUTORUN_LEVELS + 1) * (NAME_MAX + 1));

	if (buf_printf(&text, err, "%s%s%s", path, *path ? "/" : "", name) < 0)
		return NULL;
	return buf_steal_string(&text, err);
}

static int search_dir(struct search *search, const struct stand *stand, int fd);

/* Searches the directory `name` in the directory that is open as `at`. Skips a directory that is on
 * another file system or was just removed. Skips a directory that cannot be opened or is too deep,
 * and then also sets found->incomplete. */
static int search_below(struct search *search, const struct stand *parent, int at, const char *name,
			const char *path, const char *within)
{
	struct stand stand = {.path = path,
			      .within = within,
			      .level = parent->level + 1,
			      .in_packages = parent->in_packages || is_of_packages(name),
			      .in_git = parent->in_git || strcmp(name, ".git") == 0};
	struct stat st;
	int fd;

	if (stand.level > AUTORUN_LEVELS) {
		search->found->incomplete = true;
		return 0;
	}
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_dev != search->device) {
		if (fd < 0 && errno != ENOENT)
			search->found->incomplete = true;
		if (fd >= 0)
			close(fd);
		return 0;
	}
	if (is_repository(fd, name))
		stand.within = "";
	if (strcmp(name, ".git") == 0 && parent->level > 0 && is_changed(search, &st) &&
	    note(search, path, NESTED) < 0) {
		close(fd);
		return -1;
	}
	return search_dir(search, &stand, fd);
}

static int search_entry(struct search *search, const struct stand *dir, int fd,
			const struct dirent *entry)
{
	const char *name = entry->d_name;
	autofree char *path = below(dir->path, name, search->err);
	autofree char *within = dir->within ? below(dir->within, name, search->err) : NULL;
	const struct autorun_rule *rule;
	struct stat st;

	if (!path || (dir->within && !within))
		return -1;
	if (entry->d_type == DT_DIR ||
	    (entry->d_type == DT_UNKNOWN && fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	     S_ISDIR(st.st_mode))) {
		/* The directory `objects` of a repository in .git is skipped: it has many files,
		 * and no program runs them. */
		if (within && dir->in_git && strcmp(within, "objects") == 0)
			return 0;
		return search_below(search, dir, fd, name, path, within);
	}
	rule = rule_of(dir, path, within, 0);
	if (!rule || (within && is_example(within, 0)) ||
	    fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !is_changed(search, &st))
		return 0;
	return note(search, path, rule->by);
}

/* Returns the next entry of a directory. At the end of the directory, returns NULL and sets errno
 * to 0. On failure, returns NULL with another errno. */
static const struct dirent *next_entry(DIR *stream)
{
	errno = 0;
	return readdir(stream);
}

/* Searches the open directory `fd`, and closes `fd`. */
static int search_dir(struct search *search, const struct stand *stand, int fd)
{
	const struct dirent *entry;
	DIR *stream = fdopendir(fd);
	int status = 0;

	if (!stream) {
		close(fd);
		search->found->incomplete = true;
		return 0;
	}
	while (status == 0 && (entry = next_entry(stream))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (++search->entries > limit_get(LIMIT_AUTORUN_ENTRIES)) {
			search->found->incomplete = true;
			break;
		}
		status = search_entry(search, stand, fd, entry);
	}
	if (!entry && errno != 0)
		search->found->incomplete = true;
	closedir(stream);
	return status;
}

static int compare_paths(const void *a, const void *b)
{
	return strcmp(json_text(*(json_t *const *)a, "path", ""),
		      json_text(*(json_t *const *)b, "path", ""));
}

static int sort_by_path(json_t *files, struct error *err)
{
	size_t count = json_array_size(files);
	autofree json_t **sorted = calloc(count + 1, sizeof(json_t *));

	if (!sorted)
		return error_errno(err, ENOMEM, "autorun files");
	for (size_t i = 0; i < count; i++)
		sorted[i] = json_incref(json_array_get(files, i));
	qsort(sorted, count, sizeof(json_t *), compare_paths);
	for (size_t i = 0; i < count; i++)
		json_array_set_new(files, i, sorted[i]);
	return 0;
}

int autorun_find(int dir, int64_t since_ns, struct autorun_found *out, struct error *err)
{
	json_auto_t *files = json_array();
	struct autorun_found found = {.files = files};
	struct search search = {.since_ns = since_ns, .found = &found, .err = err};
	struct stand top = {.path = ""};
	struct stat st;
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) < 0 || !files) {
		int why = files ? errno : ENOMEM;

		if (fd >= 0)
			close(fd);
		return error_errno(err, why, "shared directory");
	}
	search.device = st.st_dev;
	top.within = is_repository(fd, "") ? "" : NULL;
	if (search_dir(&search, &top, fd) < 0 || sort_by_path(files, err) < 0)
		return -1;
	*out = found;
	json_incref(files);
	return 0;
}

/* --- a path alone ---------------------------------------------------------------------------- */

const char *autorun_in_repository(const char *within)
{
	for (size_t i = 0; i < ARRAY_SIZE(of_repository); i++)
		if (!is_example(within, FNM_CASEFOLD) &&
		    fnmatch(of_repository[i].pattern, within, FNM_PATHNAME | FNM_CASEFOLD) == 0)
			return of_repository[i].by;
	return NULL;
}

static bool is_name(const char *at, size_t len, const char *name)
{
	return strlen(name) == len && strncasecmp(at, name, len) == 0;
}

const char *autorun_of_path(const char *path, bool is_dir)
{
	struct stand stand = {.path = ""};
	const char *within = NULL, *slash;

	for (const char *at = path; (slash = strchr(at, '/')); at = slash + 1) {
		const size_t len = (size_t)(slash - at);

		for (size_t i = 0; i < ARRAY_SIZE(of_packages); i++)
			stand.in_packages = stand.in_packages || is_name(at, len, of_packages[i]);
		if (is_name(at, len, ".git")) {
			stand.in_git = true;
			within = slash + 1;
		}
	}
	if (is_dir) {
		slash = strrchr(path, '/');
		return slash && strcasecmp(slash + 1, ".git") == 0 ? NESTED : NULL;
	}
	if (within && (strncasecmp(within, "objects/", 8) == 0 || is_example(within, FNM_CASEFOLD)))
		return NULL;
	const struct autorun_rule *rule = rule_of(&stand, path, within, FNM_CASEFOLD);
	return rule ? rule->by : NULL;
}
