/* SPDX-License-Identifier: MIT */
/* session share: shares a directory of this host with a running session. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "cli/options/guest.h"
#include "cli/session/session.h"
#include "microagent_session.h"

#define WORKSPACE "/workspace"

struct share_values {
	bool read_only, anyway, git;
	const char *at, *cache;
	int64_t timeout;
};

/* --- the words ------------------------------------------------------------------------------- */

static bool has_place(const char *word)
{
	return strstr(word, ":/") && microagent_check_share(word, NULL) == 0;
}

/* Checks the place in a word DIR:/PLACE. A wrong place is an error, unless the whole word is the
 * name of a directory. */
static int check_place(struct cli *cli, const char *word, struct error *err)
{
	struct error why = {0};
	struct stat st;

	if (!strstr(word, ":/") || microagent_check_share(word, &why) == 0 || lstat(word, &st) == 0)
		return 0;
	return cli_usage(cli, err, "%s", why.msg);
}

static int copy_words(const struct cli_words *given, char **words, struct error *err)
{
	for (size_t i = 0; i < given->count; i++) {
		const char *place = has_place(given->items[i]) ? "" : ":" WORKSPACE;

		if (asprintf(&words[i], "%s%s", given->items[i], place) < 0) {
			words[i] = NULL;
			return error_errno(err, ENOMEM, "share");
		}
	}
	return 0;
}

static int check_places(struct cli *cli, const struct cli_words *given, struct error *err)
{
	const char *first = NULL;

	for (size_t i = 0; i < given->count; i++) {
		const char *word = given->items[i];

		if (has_place(word))
			continue;
		if (first)
			return cli_usage(
				cli, err,
				"%s and %s cannot both be on /workspace: give one of them another path, as in DIR:/PLACE",
				first, word);
		first = word;
	}
	return 0;
}

int session_dirs_take(struct cli *cli, const struct cli_words *given, struct session_dirs *out,
		      struct error *err)
{
	auto_dirs struct session_dirs dirs = {0};

	for (size_t i = 0; i < given->count; i++)
		if (check_place(cli, given->items[i], err) < 0)
			return -1;
	if (check_places(cli, given, err) < 0)
		return -1;
	if (given->count == 1 && !has_place(given->items[0])) {
		dirs.plain = given->items[0];
	} else if (given->count > 0) {
		dirs.words = calloc(given->count + 1, sizeof(*dirs.words));
		if (!dirs.words)
			return error_errno(err, ENOMEM, "share");
		if (copy_words(given, dirs.words, err) < 0)
			return -1;
	}
	*out = dirs;
	dirs.words = NULL; /* the words now belong to the caller */
	return 0;
}

void session_dirs_free(struct session_dirs *dirs)
{
	for (size_t i = 0; dirs->words && dirs->words[i]; i++)
		free(dirs->words[i]);
	free(dirs->words);
	*dirs = (struct session_dirs){0};
}

void session_dirs_hint_git(const struct cli *cli, const struct session_dirs *dirs, const char *at)
{
	struct cli_words all = {(const char **)(void *)dirs->words, 0};

	if (dirs->plain)
		guest_hint_git(cli, dirs->plain, at ? at : WORKSPACE, &all);
	while (dirs->words && dirs->words[all.count])
		all.count++;
	for (size_t i = 0; i < all.count; i++)
		guest_hint_git(cli, dirs->words[i], NULL, &all);
}

/* --- session share --------------------------------------------------------------------------- */

static int print_shares(struct cli *cli, const char *name, json_t *shares, struct error *err)
{
	json_auto_t *answer = NULL;
	const json_t *share;
	size_t i;

	if (cli->json) {
		answer = json_pack("{s:b, s:s, s:O}", "ok", 1, "name", name, "shares", shares);
		return cli_print_json(answer, err);
	}
	json_array_foreach(shares, i, share)
	{
		printf("%s: %s is on %s%s\n", name, json_text(share, "path", NULL),
		       json_text(share, "mountpoint", NULL),
		       strcmp(json_text(share, "mode", NULL), "ro") == 0 ? ", read-only" : "");
	}
	return CLI_EXIT_OK;
}

/* Returns true if `user` (such as "bob" or "1000:1000") certainly means the guest's user with uid
 * 1000. The guest may have other names for this uid, which the host does not know. */
static bool is_agent(const char *user)
{
	size_t len = strcspn(user, ":");

	return (len == 4 && strncmp(user, "1000", len) == 0) ||
	       (len == 5 && strncmp(user, "agent", len) == 0);
}

void session_warn_user(const struct cli *cli, const json_t *base)
{
	const char *user = json_text(base, "user", NULL);

	if (user && !is_agent(user))
		guest_warn(
			cli,
			"commands of base %.100s run as its user \"%.100s\", but only uid 1000 has your rights in the shared directory: `microagent session exec --user 1000` runs a command that works there",
			json_text(base, "name", NULL), user);
}

/* The size of the buffer for a command that a warning shows, in bytes. */
#define GIVES_ROOM 400

/* Appends " DIR:/PLACE:OPTION,...", quoted for a shell, in the form that `session share`
 * accepts. */
static void add_word(char words[GIVES_ROOM], const json_t *share)
{
	json_int_t timeout = json_integer_value(json_object_get(share, "timeoutSeconds"));
	const char *path = json_text(share, "path", ""), *cache = json_text(share, "cache", NULL);
	const char *quote = strpbrk(path, " \t$`\"\\*?[~#!;&|<>()") ? "'" : "";
	size_t len = strlen(words);
	char timed[40] = "";

	if (timeout)
		snprintf(timed, sizeof(timed), ",timeout=%" JSON_INTEGER_FORMAT, timeout);
	snprintf(words + len, GIVES_ROOM - len, " %s%s:%s:%s%s%s%s%s%s", quote, path,
		 json_text(share, "mountpoint", ""), json_text(share, "mode", "rw"),
		 cache ? ",cache=" : "", cache ? cache : "", timed,
		 json_is_true(json_object_get(share, "locks")) ? ",locks" : "", quote);
}

void session_warn_unshared(const struct cli *cli, const char *name, const json_t *shares,
			   const char *why)
{
	bool anyway = false;
	char words[GIVES_ROOM] = "";
	const json_t *share;
	size_t i;

	json_array_foreach(shares, i, share)
	{
		guest_warn(
			cli,
			"%.200s could not be shared on %.100s in the guest, so what the guest writes there does not reach the host: %.150s",
			json_text(share, "path", ""), json_text(share, "mountpoint", ""), why);
		anyway = anyway || json_is_true(json_object_get(share, "anyway"));
		add_word(words, share);
	}
	if (!*words || strlen(words) == GIVES_ROOM - 1)
		snprintf(words, sizeof(words), " DIR:/PLACE...");
	guest_warn(cli, "`microagent session share %s%s%s` shares the directory again", name, words,
		   anyway ? " --share-anyway" : "");
}

static void warn_user_of(const struct cli *cli, struct microagent *agent,
			 const struct microagent_session *session)
{
	json_auto_t *described = microagent_session_describe(session, NULL);
	json_auto_t *base =
		described ? microagent_base_show(agent, json_text(described, "base", NULL), NULL)
			  : NULL;

	session_warn_user(cli, base);
}

static int share_with(struct cli *cli, struct microagent *agent, const struct share_values *v,
		      const char *name, const struct session_dirs *dirs, struct error *err)
{
	const struct microagent_session_spec wanted = {
		.share = dirs->plain,
		.share_at = v->at,
		.share_read_only = v->read_only,
		.machine.share_anyway = v->anyway,
		.share_cache = v->cache,
		.share_timeout_seconds = v->timeout,
		.machine.shares = (const char *const *)dirs->words,
		.machine.share_git = v->git,
	};
	struct microagent_session *session = NULL;
	json_auto_t *shares = NULL;
	int code = -1;

	if (microagent_session_open(agent, name, &session, err) < 0)
		return -1;
	if (microagent_session_give_shares(session, &wanted, &shares, err) == 0) {
		warn_user_of(cli, agent, session);
		code = print_shares(cli, microagent_session_name(session), shares, err);
	} else if (err && err->code == ERR_INVALID) {
		/* A directory that cannot be shared is a mistake of the user, as with --share. */
		cli->usage_error = true;
	}
	microagent_session_close(session);
	return code;
}

static int run_session_share(struct cli *cli, const void *values, const struct cli_words *args,
			     struct error *err)
{
	autoprogress struct progress progress = PROGRESS_INIT;
	const struct cli_words given = {args->items + 1, args->count - 1};
	const struct share_values *v = values;
	auto_dirs struct session_dirs dirs = {0};
	struct microagent *agent;
	int code;

	if (session_dirs_take(cli, &given, &dirs, err) < 0)
		return -1;
	if (!dirs.plain && (v->read_only || v->at || v->cache || v->timeout))
		return cli_usage(
			cli, err,
			"--ro, --at, --cache and --timeout need one DIR without a place: if the word has a place, write the options in it, as in DIR:/PLACE:ro,cache=none");
	agent = guest_open(cli, &progress, err);
	if (!agent)
		return -1;
	if (v->anyway)
		guest_warn_shared_anyway(cli);
	if (!v->git)
		session_dirs_hint_git(cli, &dirs, v->at);
	progress_start(&progress, "sharing the directory");
	code = share_with(cli, agent, v, args->items[0], &dirs, err);
	microagent_close(agent);
	return code;
}

static const struct cli_option options[] = {
	{"ro", 0, CLI_OPTION_FLAG, offsetof(struct share_values, read_only), NULL,
	 "the session cannot write to the directory", 0, 0},
	{"share-anyway", 0, CLI_OPTION_FLAG, offsetof(struct share_values, anyway), NULL,
	 GUEST_SHARE_ANYWAY, 0, 0},
	{"share-git", 0, CLI_OPTION_FLAG, offsetof(struct share_values, git), NULL, GUEST_SHARE_GIT,
	 0, 0},
	{"at", 0, CLI_OPTION_STRING, offsetof(struct share_values, at), "PATH",
	 "place of the directory in the session (default: /workspace)", 0, 0},
	{"cache", 0, CLI_OPTION_STRING, offsetof(struct share_values, cache), "auto|always|none",
	 "what the guest keeps of it in memory (default: auto)", 0, 0},
	{"timeout", 0, CLI_OPTION_INT, offsetof(struct share_values, timeout), "SECONDS",
	 "how long the guest keeps names and attributes (default: 1)", 1, 86400},
	{NULL, 0, CLI_OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

const struct cli_command session_share = {
	.name = "share",
	.args = "SESSION DIR...",
	.summary = "share directories of this host with a running session",
	.help = "All are shared, or none. DIR alone is on /workspace, or --at. DIR:/PLACE[:OPTION,...]\n"
		"says where it is; options are ro, cache=POLICY and timeout=SECONDS.\n",
	.options = options,
	.values_size = sizeof(struct share_values),
	.min_args = 2,
	.max_args = SIZE_MAX,
	.check_name = microagent_session_check_name,
	.run = run_session_share,
};
