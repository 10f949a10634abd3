/* SPDX-License-Identifier: MIT */
#include "mcp/tools.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "mcp/schema.h"
#include "mcp/sessions.h"
#include "microagent_session.h"

/* clang-format off */ /* one tool in each row */
static const struct mcp_tool tools[] = {
	{"run", "Run one command in a new machine",
	 "Boots a new virtual machine, runs one command in it, and destroys it. Nothing stays. For several commands that belong together make a session.",
	 0, .reaches_out = true, .run = tool_run},
	{"session_create", "Make a session",
	 "A virtual machine that stays until session_destroy, for exec and files. Its disk is a clone of a prepared base.",
	 TOOL_OF_BASE, .reaches_out = true, .run = tool_session_create},
	{"session_list", "List the sessions",
	 "The sessions that may be used, and their states.",
	 TOOL_OF_SESSION, .read_only = true, .idempotent = true, .run = tool_session_list},
	{"session_status", "Look at a session",
	 "The state of a session.",
	 TOOL_OF_SESSION, .read_only = true, .idempotent = true, .run = tool_session_status},
	{"exec", "Run a command in a session",
	 "Runs a command, waits for its end, and returns its output. Files and processes that it leaves are there for the next one.",
	 TOOL_OF_SESSION, .reaches_out = true, .run = tool_exec},
	{"write_file", "Write a file in a session",
	 "Makes a file in the guest, or replaces one. Its directory must exist.",
	 TOOL_OF_SESSION, .idempotent = true, .run = tool_write_file},
	{"read_file", "Read a file in a session",
	 "A file of the guest, or a part of it.",
	 TOOL_OF_SESSION, .read_only = true, .idempotent = true, .run = tool_read_file},
	{"list_files", "List a directory in a session",
	 "The entries of a directory of the guest.",
	 TOOL_OF_SESSION, .read_only = true, .idempotent = true, .run = tool_list_files},
	{"copy_in", "Copy from the host into a session",
	 "Copies a file or a directory from the directory that the person has named into the guest.",
	 TOOL_OF_SESSION | TOOL_OF_FILES, .idempotent = true, .run = tool_copy_in},
	{"copy_out", "Copy from a session to the host",
	 "Copies a file or a directory of the guest into the directory that the person has named; a file that is there is replaced.",
	 TOOL_OF_SESSION | TOOL_OF_FILES, .destructive = true, .idempotent = true,
	 .run = tool_copy_out},
	{"session_fork", "Fork a session",
	 "Makes new sessions that go on from where this one is, with its processes and files.",
	 TOOL_OF_BASE | TOOL_OF_TEMPLATE, .run = tool_session_fork},
	{"session_destroy", "Destroy a session",
	 "Ends its machine and removes its disk; nothing of it stays but its audit log.",
	 TOOL_OF_SESSION, .destructive = true, .idempotent = true, .run = tool_session_destroy},
	{"audit", "Read a session's audit log",
	 "What the host has recorded of a session: commands, connections, faults.",
	 TOOL_OF_SESSION, .read_only = true, .idempotent = true, .run = tool_audit},
};
/* clang-format on */

static const struct mcp_tool *tool_named(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(tools); i++)
		if (strcmp(tools[i].name, name) == 0)
			return &tools[i];
	return NULL;
}

int mcp_check_tool(const char *name, struct error *err)
{
	char all[400] = "";

	if (tool_named(name))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(tools); i++) {
		size_t used = strlen(all);

		snprintf(all + used, sizeof(all) - used, "%s%s", i ? ", " : "", tools[i].name);
	}
	return error_set(err, ERR_INVALID, "there is no tool \"%.60s\": name one of %s", name, all);
}

/* --- the list of the tools that are offered -------------------------------------------------- */

/* Checks that the bases exist. A missing base is a mistake of the person who started the server. So
 * the person must learn of it before a model uses the server. Sets *has_template if one of the
 * bases is warm. */
static int look_at_bases(const struct mcp_options *options, bool *has_template, struct error *err)
{
	struct microagent *agent = mcp_open_agent(options, err);
	int status = agent ? 0 : -1;

	for (const char *const *base = options->bases; status == 0 && base && *base; base++) {
		json_auto_t *shown = microagent_base_show(agent, *base, err);

		*has_template = *has_template || json_object_get(shown, "template");
		status = shown ? 0 : -1;
	}
	microagent_close(agent);
	return status;
}

static bool is_asked_for(const struct mcp_options *options, const char *name)
{
	for (const char *const *tool = options->tools; tool && *tool; tool++)
		if (strcmp(*tool, name) == 0)
			return true;
	return false;
}

/* Limits an argument to the values in `words`, which the person who started the server has named.
 * Removes the argument if there are no such values. */
static void narrow_to(json_t *properties, const char *name, const char *const *words)
{
	json_t *property = json_object_get(properties, name), *list;

	if (!words) {
		json_object_del(properties, name);
		return;
	}
	list = json_array();
	for (; *words; words++)
		json_array_append_new(list, json_string(*words));
	json_object_set_new(property, "enum", list);
}

static void narrow_below(json_t *properties, const char *name, int64_t most)
{
	json_t *property = json_object_get(properties, name);

	if (most == 0)
		json_object_del(properties, name);
	else
		json_object_set_new(property, "maximum", json_integer(most));
}

static json_t *described_tool(const struct mcp_options *options, const json_t *definitions,
			      const struct mcp_tool *tool, struct error *err)
{
	char name[64];
	bool nat = options->network && strcmp(options->network, "nat") == 0;
	json_t *input, *properties, *output = schema_whole(definitions, tool->name, err);

	snprintf(name, sizeof(name), "%s_arguments", tool->name);
	input = output ? schema_whole(definitions, name, err) : NULL;
	if (!input) {
		json_decref(output);
		return NULL;
	}
	properties = json_object_get(input, "properties");
	if (tool->run == tool_run)
		narrow_to(properties, "image", options->images);
	if (tool->run == tool_session_create) {
		narrow_to(properties, "base", options->bases);
		narrow_below(properties, "memoryMiB", options->memory_mib);
		narrow_below(properties, "cpus", options->cpus);
	}
	if (!nat)
		json_object_del(properties, "network");
	return json_pack("{s:s, s:s, s:s, s:o, s:o, s:{s:b, s:b, s:b, s:b}}", "name", tool->name,
			 "title", tool->title, "description", tool->description, "inputSchema",
			 input, "outputSchema", output, "annotations", "readOnlyHint",
			 tool->read_only, "destructiveHint", tool->destructive, "idempotentHint",
			 tool->idempotent, "openWorldHint", tool->reaches_out && nat);
}

json_t *tools_offered(const struct mcp_options *options, struct error *err)
{
	json_auto_t *definitions = schema_definitions(err), *offered = json_array();
	bool has_template = false;
	unsigned met = 0; /* the things that this server has, as bits of enum tool_need */

	if (look_at_bases(options, &has_template, err) < 0)
		return NULL;
	if (options->bases)
		met |= TOOL_OF_SESSION | TOOL_OF_BASE;
	if (options->sessions)
		met |= TOOL_OF_SESSION;
	if (options->files)
		met |= TOOL_OF_FILES;
	if (has_template)
		met |= TOOL_OF_TEMPLATE;
	for (size_t i = 0; definitions && i < ARRAY_SIZE(tools); i++) {
		bool named = is_asked_for(options, tools[i].name);
		unsigned lacking = tools[i].needs & ~met;
		json_t *tool;

		/* If a person has asked for a tool by name, the error says why the tool cannot be
		 * offered. */
		if (lacking && named) {
			error_set(err, ERR_INVALID, "the tool %s cannot be offered: %s",
				  tools[i].name,
				  lacking & TOOL_OF_BASE ? "no base is given"
				  : lacking & TOOL_OF_SESSION
					  ? "neither a base nor a session is given"
				  : lacking & TOOL_OF_FILES ? "no directory is given"
							    : "none of the bases is warm");
			return NULL;
		}
		if (lacking || (options->tools && !named))
			continue;
		tool = described_tool(options, definitions, &tools[i], err);
		if (!tool || json_array_append_new(offered, tool) < 0)
			return NULL;
	}
	return definitions ? steal_ptr(&offered) : NULL;
}

const struct mcp_tool *tool_find(const json_t *offered, const char *name)
{
	const json_t *tool;
	size_t i;

	json_array_foreach(offered, i, tool) if (strcmp(json_text(tool, "name", ""), name) ==
						 0) return tool_named(name);
	return NULL;
}
