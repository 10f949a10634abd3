/* SPDX-License-Identifier: MIT */
#include "cli/workspace/review.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"

/* Room for a note with two paths. */
#define NOTE_ROOM 9000

/* --- numbers --------------------------------------------------------------------------------- */

/* The number of changes of each kind, and of those that need a look of their own. */
struct counts {
	size_t added, changed, removed, renamed, others;
	size_t autorun, conflicts, left_out;
};

static size_t count_changes(const json_t *review, struct counts *out)
{
	const json_t *changes = json_object_get(review, "changes"), *change;
	struct counts counts = {0};
	size_t i;

	json_array_foreach(changes, i, change)
	{
		const char *kind = json_text(change, "kind", "");

		if (strcmp(kind, "added") == 0)
			counts.added++;
		else if (strcmp(kind, "changed") == 0)
			counts.changed++;
		else if (strcmp(kind, "removed") == 0)
			counts.removed++;
		else if (strcmp(kind, "renamed") == 0)
			counts.renamed++;
		else
			counts.others++;
		counts.autorun += json_object_get(change, "by") != NULL;
		counts.conflicts += strcmp(json_text(change, "host", ""), "conflict") == 0;
		counts.left_out += json_object_get(change, "leftOut") != NULL;
	}
	*out = counts;
	return json_array_size(changes);
}

static int add_number(struct buf *text, size_t number, const char *what, struct error *err)
{
	return number > 0 ? buf_printf(text, err, "%s%zu %s", text->len ? ", " : "", number, what)
			  : 0;
}

/* Writes "3 files: 2 added, 1 removed; 1 autorun file, 1 conflict". */
static char *describe_counts(const json_t *review, struct error *err)
{
	autobuf struct buf text = BUF_INIT(0), kinds = BUF_INIT(0), notes = BUF_INIT(0);
	struct counts c;
	size_t all = count_changes(review, &c);

	if (all == 0)
		return strdup("nothing changed");
	if (add_number(&kinds, c.added, "added", err) < 0 ||
	    add_number(&kinds, c.changed, "changed", err) < 0 ||
	    add_number(&kinds, c.removed, "removed", err) < 0 ||
	    add_number(&kinds, c.renamed, "renamed", err) < 0 ||
	    add_number(&kinds, c.others, "with another mode or type", err) < 0 ||
	    add_number(&notes, c.autorun, c.autorun == 1 ? "autorun file" : "autorun files", err) <
		    0 ||
	    add_number(&notes, c.conflicts, c.conflicts == 1 ? "conflict" : "conflicts", err) < 0 ||
	    add_number(&notes, c.left_out, "left out", err) < 0 ||
	    buf_printf(&text, err, "%zu %s: %s%s%s", all, all == 1 ? "file" : "files",
		       buf_string(&kinds), notes.len ? "; " : "", buf_string(&notes)) < 0)
		return NULL;
	return buf_steal_string(&text, err);
}

/* --- the table ------------------------------------------------------------------------------- */

/* The parts of the list. Files that another program runs by itself stand apart. */
enum part { PART_FILES, PART_AUTORUN, PART_LEFT_OUT };

static enum part part_of(const json_t *change)
{
	if (json_object_get(change, "leftOut"))
		return PART_LEFT_OUT;
	return json_object_get(change, "by") ? PART_AUTORUN : PART_FILES;
}

/* Appends a part of a note. Returns the length of the note, which is cut at the end of `out`. */
static size_t add_note(char out[NOTE_ROOM], size_t len, const char *what, const char *detail)
{
	size_t room = NOTE_ROOM - len;
	int written = snprintf(out + len, room, "%s%s%s", len ? "; " : "", what, detail);

	return written < 0 ? len : len + ((size_t)written < room ? (size_t)written : room - 1);
}

static void write_note(const json_t *change, enum part part, char out[NOTE_ROOM])
{
	const char *from = json_text(change, "from", NULL);
	const char *conflict = json_text(change, "conflict", NULL);
	const char *mode = json_text(change, "mode", NULL);
	const char *old = json_text(change, "oldMode", NULL);
	const char *target = json_text(change, "target", NULL);
	bool done = strcmp(json_text(change, "host", ""), "done") == 0;
	char modes[32];
	size_t len = 0;

	*out = '\0';
	if (part == PART_LEFT_OUT)
		len = add_note(out, len, json_text(change, "leftOut", ""), "");
	if (part == PART_AUTORUN)
		len = add_note(out, len, json_text(change, "by", ""), "");
	if (from)
		len = add_note(out, len, "from ", from);
	if (target)
		len = add_note(out, len, "link to ", target);
	if (mode && old && strcmp(mode, old) != 0) {
		snprintf(modes, sizeof(modes), "mode %s, was %s", mode, old);
		len = add_note(out, len, modes, "");
	}
	if (conflict)
		len = add_note(out, len, "conflict: ", conflict);
	else if (done)
		len = add_note(out, len, "already so on this host", "");
}

static int print_part(const json_t *review, enum part part, const char *title, struct error *err)
{
	static const char *const heads[] = {"change", "type", "file", "note"};
	const json_t *changes = json_object_get(review, "changes"), *change;
	auto_table struct cli_table table = {0};
	size_t i, rows = 0;

	if (cli_table_init(&table, ARRAY_SIZE(heads), heads, err) < 0)
		return -1;
	json_array_foreach(changes, i, change)
	{
		char note[NOTE_ROOM];
		const char *const cells[] = {json_text(change, "kind", ""),
					     json_text(change, "type", ""),
					     json_text(change, "path", ""), note};

		if (part_of(change) != part)
			continue;
		write_note(change, part, note);
		if (cli_table_row(&table, cells, err) < 0)
			return -1;
		rows++;
	}
	if (rows == 0)
		return 0;
	if (title)
		puts(title);
	cli_table_print(&table, stdout);
	return 0;
}

static int print_review(const json_t *review, enum review_form form, struct error *err)
{
	const char *why = json_text(review, "error", NULL);
	autofree char *counts = describe_counts(review, err);

	if (!counts)
		return -1;
	cli_print_safe(stdout, json_text(review, "path", ""));
	printf(" (%s): %s\n", json_text(review, "mountpoint", ""), counts);
	if (why)
		cli_warn("the directory of this host was not looked at: %s", why);
	if (form == REVIEW_STAT)
		return 0;
	if (print_part(review, PART_FILES, NULL, err) < 0 ||
	    print_part(
		    review, PART_AUTORUN,
		    "\nAutorun files: programs of this host run or obey them. `changes apply` takes only those that are named.",
		    err) < 0)
		return -1;
	return print_part(review, PART_LEFT_OUT, "\nLeft out: `changes apply` does not take them.",
			  err);
}

/* --- the patch ------------------------------------------------------------------------------- */

/* Writes the patch to stdout. On a terminal, a pager shows it as git's does. */
static int print_patch(struct microagent *agent, const char *id, const char *const *paths,
		       struct error *err)
{
	bool terminal = isatty(STDOUT_FILENO) == 1;
	const char *pager = getenv("GIT_PAGER");
	FILE *pipe = NULL;
	int status;

	if (!pager)
		pager = getenv("PAGER");
	if (!pager)
		pager = "less";
	fflush(stdout);
	if (terminal && *pager && strcmp(pager, "cat") != 0) {
		/* less ends at once if everything fits, keeps colours, and clears nothing. */
		(void)setenv("LESS", "FRX", 0);
		pipe = popen(pager, "we"); /* NOLINT(cert-env33-c): the user's own command */
	}
	status = microagent_changes_diff(agent, id, paths, cli_colour(stdout),
					 pipe ? fileno(pipe) : STDOUT_FILENO, err);
	if (pipe)
		pclose(pipe);
	return status;
}

int review_show(struct cli *cli, const char *name, enum review_form form, int64_t limit,
		const char *const *paths, struct error *err)
{
	const struct microagent_copy options = {.limit_bytes = (uint64_t)limit};
	autoprogress struct progress progress = PROGRESS_INIT;
	json_auto_t *changes = NULL;
	struct microagent *agent;
	char id[GUEST_ID_ROOM];
	const json_t *review;
	size_t i;
	int status;

	if (guest_check_name(cli, name, err) < 0)
		return -1;
	agent = guest_open_living(cli, &progress, name, id, err);
	if (!agent)
		return -1;
	progress_start(&progress, "fetching the changes");
	status = microagent_changes(agent, id, &options, paths, &changes, err);
	progress_end(&progress);
	if (status == 0 && form == REVIEW_PATCH)
		status = print_patch(agent, id, paths, err);
	microagent_close(agent);
	if (status < 0 || form == REVIEW_PATCH)
		return status;
	if (cli->json)
		return cli_print_json(changes, err);
	json_array_foreach(json_object_get(changes, "reviews"), i, review)
	{
		if (print_review(review, form, err) < 0)
			return -1;
	}
	return CLI_EXIT_OK;
}

/* --- applying -------------------------------------------------------------------------------- */

static void print_list(const json_t *row, const char *key, const char *verb, const char *detail,
		       FILE *out)
{
	const json_t *list = json_object_get(row, key), *item;
	size_t i;

	json_array_foreach(list, i, item)
	{
		const char *more = detail ? json_text(item, detail, "") : "";

		fprintf(out, "%s ", verb);
		cli_print_safe(out, json_text(item, "path", ""));
		fprintf(out, "%s", *more ? ": " : "");
		cli_print_safe(out, more);
		fputc('\n', out);
	}
}

/* Prints what was done in one directory. Returns whether everything that was named is done. */
static bool print_applied(const json_t *row)
{
	const json_t *failed = json_object_get(row, "failed");
	json_int_t already = json_integer_value(json_object_get(row, "already"));
	size_t applied = json_array_size(json_object_get(row, "applied"));

	print_list(row, "applied", "applied", "kind", stdout);
	cli_print_safe(stdout, json_text(row, "path", ""));
	printf(": %zu %s applied", applied, applied == 1 ? "change" : "changes");
	if (already > 0)
		printf(", %" JSON_INTEGER_FORMAT " already there", already);
	puts("");
	fflush(stdout);
	print_list(row, "conflicts", "conflict:", "why", stderr);
	print_list(row, "leftOut", "left out:", "why", stderr);
	print_list(row, "unnamed", "not applied, since it is not named:", "by", stderr);
	if (failed)
		cli_warn("%.300s: %.300s; the changes that are not listed here were not applied",
			 json_text(failed, "path", ""), json_text(failed, "error", ""));
	return !failed && json_array_size(json_object_get(row, "conflicts")) == 0;
}

int review_bring(struct cli *cli, const char *name, const char *digest, const char *const *paths,
		 struct error *err)
{
	json_auto_t *result = NULL;
	struct microagent *agent;
	char id[GUEST_ID_ROOM];
	int code = CLI_EXIT_OK;
	const json_t *row;
	size_t i;
	int status;

	if (guest_check_name(cli, name, err) < 0)
		return -1;
	agent = guest_open_living(cli, NULL, name, id, err);
	if (!agent)
		return -1;
	status = microagent_changes_apply(agent, id, digest, paths, &result, err);
	microagent_close(agent);
	if (status < 0)
		return -1;
	json_array_foreach(json_object_get(result, "reviews"), i, row)
	{
		bool whole =
			cli->json ? !json_object_get(row, "failed") &&
					    json_array_size(json_object_get(row, "conflicts")) == 0
				  : print_applied(row);

		if (!whole)
			code = CLI_EXIT_FAILED;
	}
	return cli->json && cli_print_json(result, err) < 0 ? -1 : code;
}

/* Does the work of `changes drop` or `changes refresh`, and prints what was done. */
static int settle_review(struct cli *cli, const char *name, const char *stage, const char *done,
			 int (*work)(struct microagent *agent, const char *name, struct error *err),
			 struct error *err)
{
	autoprogress struct progress progress = PROGRESS_INIT;
	json_auto_t *answer = json_pack("{s:b, s:s}", "ok", 1, "name", name);
	struct microagent *agent;
	char id[GUEST_ID_ROOM];
	int status;

	if (guest_check_name(cli, name, err) < 0)
		return -1;
	agent = guest_open_living(cli, &progress, name, id, err);
	if (!agent)
		return -1;
	progress_start(&progress, stage);
	status = work(agent, id, err);
	progress_end(&progress);
	microagent_close(agent);
	if (status < 0)
		return -1;
	if (cli->json)
		return cli_print_json(answer, err);
	printf("%s: %s\n", name, done);
	return CLI_EXIT_OK;
}

int review_refresh(struct cli *cli, const char *name, struct error *err)
{
	return settle_review(cli, name, "taking the files",
			     "its next start begins with the files of now",
			     microagent_changes_refresh, err);
}

int review_forget(struct cli *cli, const char *name, struct error *err)
{
	return settle_review(
		cli, name, "forgetting the changes",
		"its changes are forgotten; its next start begins with the files that were taken",
		microagent_changes_drop, err);
}

/* --- after a run ----------------------------------------------------------------------------- */

bool review_is_asked(const struct guest_values *values)
{
	const struct cli_words *shares = &values->machine.shares;

	for (size_t i = 0; i < shares->count; i++)
		if (microagent_share_is_review(shares->items[i]))
			return true;
	return false;
}

/* The commands that delete a workspace and a session. */
static const char *deleting(const char *name)
{
	return strncmp(name, "session-", 8) == 0 ? "session destroy" : "delete";
}

bool review_after_run(const struct cli *cli, struct microagent *agent, const char *id,
		      const char *name, bool clean)
{
	autoprogress struct progress progress = PROGRESS_INIT;
	json_auto_t *changes = NULL;
	char itself[CLI_ITSELF];
	struct error why = {0};
	size_t i, all = 0;
	const json_t *review;
	int status;

	cli_itself(cli, itself);
	progress_start(&progress, "fetching the changes");
	status = microagent_changes(agent, id, NULL, NULL, &changes, &why);
	progress_end(&progress);
	if (status < 0) {
		guest_warn(
			cli,
			"the changes of \"%s\" were not fetched: %.300s. They are kept: `%s changes %s` fetches them, `%s %s %s` removes them",
			name, why.msg, itself, name, itself, deleting(name), name);
		return true;
	}
	json_array_foreach(json_object_get(changes, "reviews"), i, review) all +=
		json_array_size(json_object_get(review, "changes"));
	if (all == 0 && clean)
		return false;
	if (all == 0) {
		guest_warn(
			cli,
			"no changes were found in \"%s\", but its command did not end by itself, so the last changes may be missing. It is kept: `%s start %s` boots it again, `%s %s %s` removes it",
			name, itself, name, itself, deleting(name), name);
		return true;
	}
	json_array_foreach(json_object_get(changes, "reviews"), i, review)
	{
		autofree char *counts = describe_counts(review, &why);

		guest_warn(cli, "changes in %.200s: %s", json_text(review, "path", ""),
			   counts ? counts : why.msg);
	}
	guest_warn(
		cli,
		"they are kept in \"%s\": `%s changes %s` lists them, `%s changes --diff %s` shows them, `%s changes apply %s` brings them here, `%s %s %s` removes them",
		name, itself, name, itself, name, itself, name, itself, deleting(name), name);
	return true;
}
