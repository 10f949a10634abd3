/* SPDX-License-Identifier: MIT */
/* Finds what a guest has changed in the directories that are shared with it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/api.h"
#include "api/share_word.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/path.h"
#include "store/record_digest.h"
#include "store/share/autorun.h"
#include "store/share/rules.h"

/* Searches one directory, and appends an object with the result to `shares`. If the directory
 * cannot be searched, the object has the reason. */
static int append_search(json_t *shares, const char *path, bool direct, int64_t since_ns,
			 struct error *err)
{
	/* A directory that holds keys is searched too (`anyway`): the guest already has this
	 * directory, so the search gives the guest no more access. */
	const struct share_wish wish = {
		.path = path, .read_only = true, .anyway = true, .direct = direct};
	struct autorun_found found = {0};
	json_auto_t *row = json_object();
	struct error why = {0};
	autoclose int dir = share_open_to_copy(&wish, &why);
	bool searched = dir >= 0 && autorun_find(dir, since_ns, &found, &why) == 0;
	char since[25];

	clock_rfc3339(since_ns, since);
	if (json_put(row, "files", searched ? found.files : json_array(), err) < 0 ||
	    json_put(row, "path", json_string_lossy(path, strlen(path)), err) < 0 ||
	    json_put_string(row, "since", since, err) < 0 ||
	    (found.more && json_put(row, "more", json_true(), err) < 0) ||
	    (found.incomplete && json_put(row, "incomplete", json_true(), err) < 0) ||
	    (!searched &&
	     json_put(row, "error", json_string_lossy(why.msg, strlen(why.msg)), err) < 0))
		return -1;
	return json_array_append(shares, row) < 0 ? error_errno(err, ENOMEM, "share") : 0;
}

static int store_changes(json_t **changes, json_t *shares, struct error *err)
{
	json_t *answer = json_pack("{s:O}", "shares", shares);

	if (!answer)
		return error_errno(err, ENOMEM, "changes");
	*changes = answer;
	return 0;
}

int microagent_autorun_files(const char *share, int64_t since_ns, json_t **changes,
			     struct error *err)
{
	json_auto_t *shares = json_array();
	auto_share_word struct share_word word = {0};

	if (share_word_parse(share, &word, err) < 0)
		return -1;
	autofree char *path = path_absolute(word.dir, err);
	if (!path ||
	    (strcmp(word.mode, "rw") == 0 && append_search(shares, path, false, since_ns, err) < 0))
		return -1;
	return store_changes(changes, shares, err);
}

static bool is_listed(const json_t *shares, const char *path)
{
	const json_t *row;
	size_t i;

	json_array_foreach(shares, i, row)
	{
		if (strcmp(json_text(row, "path", ""), path) == 0)
			return true;
	}
	return false;
}

/* Searches those directories of a record's list to which the guest may write. A directory that is
 * in two records is searched only once. */
static int append_all(json_t *shares, const json_t *listed, int64_t since_ns, struct error *err)
{
	const json_t *share;
	size_t i;

	json_array_foreach(listed, i, share)
	{
		const char *path = json_text(share, "path", "");

		if (strcmp(json_text(share, "mode", "rw"), "ro") != 0 && !is_listed(shares, path) &&
		    append_search(shares, path, json_is_true(json_object_get(share, "direct")),
				  since_ns, err) < 0)
			return -1;
	}
	return 0;
}

static int search_workspace(const struct workspace *ws, json_t *shares, struct error *err)
{
	/* session.json also has the directories that a running session was given. */
	static const char *const records[] = {"workspace.json", "session.json"};
	struct error why = {0};

	for (size_t i = 0; i < ARRAY_SIZE(records); i++) {
		json_auto_t *record = workspace_read_accepted(ws, records[i], &why);
		const json_t *config = json_object_get(record, "config");
		int64_t made_ns;

		if (!record && why.code == ERR_NOT_FOUND && i > 0)
			continue;
		if (!record)
			return error_copy(err, &why);
		made_ns = clock_of_rfc3339(json_text(record, "createdAt", ""));
		if (append_all(shares, json_object_get(config ? config : record, "shares"),
			       made_ns < 0 ? 0 : made_ns, err) < 0)
			return -1;
	}
	return 0;
}

int microagent_shared_changes(struct microagent *agent, const char *name, json_t **changes,
			      struct error *err)
{
	json_auto_t *shares = json_array();
	struct open_workspace existing = {0};
	int status;

	if (open_workspace_named(agent, name, &existing, err) < 0)
		return -1;
	status = search_workspace(&existing.ws, shares, err);
	open_workspace_close(&existing);
	return status < 0 ? -1 : store_changes(changes, shares, err);
}
