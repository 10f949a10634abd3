/* SPDX-License-Identifier: MIT */
/*
 * Prints the possible values of options and arguments. The tables have a word for each kind of
 * value, like "IMAGE". Names are read directly from the state directory and the cache: no process
 * is started, no record is written, and no guest is asked.
 */
#include <string.h>

#include "base/architecture.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "cli/complete/complete.h"
#include "cli/host/profile.h"
#include "contract/fields.h"
#include "microagent.h"
#include "microagent_session.h"
#include "session/names.h"
#include "store/cache.h"

typedef void offer_fn(const struct completion *c);

/* Prints a line that asks the shell to complete names of files itself. */
static void offer_files(const struct completion *c)
{
	fputs(":files\n", c->out);
}

static void offer_dirs(const struct completion *c)
{
	fputs(":dirs\n", c->out);
}

static void offer_name(const struct completion *c, const char *name, const char *about)
{
	complete_word(c, name, strlen(name), about);
}

static void offer_with(const struct completion *c, const char *name, const char *behind,
		       const char *about)
{
	char word[256];

	snprintf(word, sizeof(word), "%s%s", name, behind);
	offer_name(c, word, about);
}

/* --- names from the state directory ----------------------------------------------------------- */

/* Offers the names in the list, each followed by the text `behind`. Drops the reference to the
 * list. */
static void offer_names(const struct completion *c, json_t *names, const char *behind,
			const char *about)
{
	const json_t *name;
	size_t i;

	json_array_foreach(names, i, name)
	{
		offer_with(c, json_string_value(name), behind, about);
	}
	json_decref(names);
}

static void offer_live_sessions(const struct completion *c, const char *behind)
{
	offer_names(c, names_of_sessions(c->state_dir), behind, "session");
}

static void offer_items(const struct completion *c, const json_t *items, const char *key)
{
	const json_t *item;
	size_t i;

	json_array_foreach(items, i, item)
	{
		offer_name(c, json_text(item, key, ""), NULL);
	}
}

typedef json_t *list_fn(struct microagent *agent, struct error *err);

static json_t *ask_list(const struct completion *c, list_fn *list)
{
	struct microagent *agent = microagent_open(c->state_dir, NULL);
	json_t *answer = agent ? list(agent, NULL) : NULL;

	microagent_close(agent);
	return answer;
}

/* Offers the names of sessions. For a command on audit logs, also offers the names of destroyed
 * sessions. */
static void offer_sessions(const struct completion *c)
{
	json_auto_t *answer = NULL;

	if (!c->command || c->command->check_name != microagent_audit_check_name) {
		offer_live_sessions(c, "");
		return;
	}
	answer = ask_list(c, microagent_audit_list);
	offer_items(c, json_object_get(answer, "audits"), "session");
}

/* Offers the names of workspaces and sessions, since a command on a workspace accepts a session
 * too. */
static void offer_places_with(const struct completion *c, const char *behind)
{
	offer_names(c, names_of_workspaces(c->state_dir), behind, "workspace");
	offer_live_sessions(c, behind);
}

static void offer_workspaces(const struct completion *c)
{
	offer_places_with(c, "");
}

/* Offers "NAME:" for each workspace and session. The user then types a path of the guest. */
static void offer_places(const struct completion *c)
{
	offer_places_with(c, ":");
}

static void offer_artifacts(const struct completion *c)
{
	struct microagent *agent = microagent_open(c->state_dir, NULL);
	json_auto_t *artifacts = NULL;

	if (agent && microagent_artifacts(agent, c->args[c->count - 1], &artifacts, NULL) == 0)
		offer_items(c, json_object_get(artifacts, "egress"), "name");
	microagent_close(agent);
}

static void offer_snapshots(const struct completion *c)
{
	offer_names(c, names_of_snapshots(c->state_dir, c->args[0]), "", NULL);
}

static void offer_versions(const struct completion *c)
{
	json_auto_t *answer = ask_list(c, microagent_base_list);

	offer_items(c, json_object_get(answer, "bases"), "name");
}

/* Offers each base by its name alone, and by its name with each version. The name alone means the
 * newest version. In the list the versions of one base are neighbours. */
static void offer_bases(const struct completion *c)
{
	json_auto_t *answer = ask_list(c, microagent_base_list);
	const json_t *base;
	char last[256] = "", name[256];
	size_t i;

	json_array_foreach(json_object_get(answer, "bases"), i, base)
	{
		const char *full = json_text(base, "name", "");
		const char *version = strrchr(full, '-');

		snprintf(name, sizeof(name), "%.*s", version ? (int)(version - full) : 0, full);
		if (strcmp(name, last) != 0)
			offer_name(c, name, "its newest version");
		offer_name(c, full, NULL);
		memcpy(last, name, sizeof(last));
	}
}

static void offer_pools(const struct completion *c)
{
	json_auto_t *answer = ask_list(c, microagent_pool_status);

	offer_items(c, json_object_get(answer, "pools"), "base");
}

/* --- names from this host and from this program ----------------------------------------------- */

/* Offers files if the word looks like a path. Most options that accept a name in the cache also
 * accept a path with a '/' in it. */
static void offer_path(const struct completion *c)
{
	if (strpbrk(c->typed, "/~"))
		offer_files(c);
}

static void offer_kernels(const struct completion *c)
{
	struct cache_kernels list = {0};

	if (cache_kernels(&list, NULL) < 0)
		return;
	for (size_t i = 0; i < list.count; i++)
		offer_name(c, list.items[i].name, kernel_kind_name(list.items[i].kind));
	cache_kernels_free(&list);
	offer_path(c);
}

static void offer_images(const struct completion *c)
{
	struct cache_images list = {0};

	if (cache_images(&list, NULL) < 0)
		return;
	for (size_t i = 0; i < list.count; i++)
		offer_name(c, list.items[i].name, list.items[i].source);
	cache_images_free(&list);
	offer_path(c);
}

static void offer_backends(const struct completion *c)
{
	for (const struct contract_backend *row = contract_backends; row->name; row++)
		offer_name(c, row->name, row->system);
}

static void offer_architectures(const struct completion *c)
{
	for (int i = 0; i < ARCHITECTURE_COUNT; i++)
		offer_name(c, architecture_name((enum architecture)i), NULL);
}

static void offer_profiles(const struct completion *c)
{
	for (const struct profile *p = profiles; p->name; p++)
		offer_name(c, p->name, NULL);
}

static void offer_commands(const struct completion *c)
{
	const struct cli_command *group = c->count == 1 ? cli_find(cli_commands, c->args[0]) : NULL;

	if (c->count == 0)
		complete_commands(c, cli_commands);
	else if (group && group->sub)
		complete_commands(c, group->sub);
}

static const struct {
	const char *kind;
	offer_fn *offer;
} kinds[] = {
	{"ARCH", offer_architectures}, {"ARTIFACT", offer_artifacts}, {"BACKEND", offer_backends},
	{"BASE", offer_bases},	       {"BASE-vN", offer_versions},   {"COMMAND", offer_commands},
	{"DIR", offer_dirs},	       {"FILE", offer_files},	      {"IMAGE", offer_images},
	{"KERNEL", offer_kernels},     {"NAME", offer_workspaces},    {"NAME:/PATH", offer_places},
	{"POOL", offer_pools},	       {"PROFILE", offer_profiles},   {"PROGRAM", offer_files},
	{"REF", offer_files},	       {"SCRIPT", offer_files},	      {"SESSION", offer_sessions},
	{"SNAPSHOT", offer_snapshots}, {"SOURCE", offer_files},	      {"TARGET", offer_files},
};

void complete_kind(const struct completion *c, const char *kind, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strlen(kinds[i].kind) == len && strncmp(kinds[i].kind, kind, len) == 0)
			kinds[i].offer(c);
}
