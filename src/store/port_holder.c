/* SPDX-License-Identifier: MIT */
#include "store/port_holder.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/platform/process.h"
#include "contract/kind.h"
#include "store/taken.h"

struct search {
	const json_t *forward;
	struct port_holder *out;
};

static bool is_ipv6(const char *host)
{
	return strchr(host, ':') != NULL;
}

static bool is_every_address(const char *host)
{
	return strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0;
}

/* Returns true if the port of `wanted` cannot be published while the port of `published` is
 * published. Two machines can publish the same port at different addresses of one address family. A
 * published port is also reserved in the other address family (descriptor_guard_port()). */
static bool shuts_out(const json_t *published, const json_t *wanted)
{
	const char *has = json_text(published, "host", ""), *host = json_text(wanted, "host", "");

	if (!json_equal(json_object_get(published, "hostPort"),
			json_object_get(wanted, "hostPort")))
		return false;
	return is_ipv6(has) != is_ipv6(host) || is_every_address(has) || is_every_address(host) ||
	       strcmp(has, host) == 0;
}

json_t *port_holder_entry(const struct workspace *ws, const json_t *forward)
{
	struct error ignored;
	json_auto_t *record = workspace_read(ws, "workspace.json", &ignored);
	const json_t *network = json_object_get(json_object_get(record, "config"), "network");
	json_t *published;
	size_t i;

	json_array_foreach(json_object_get(network, "portForwards"), i, published)
	{
		if (shuts_out(published, forward))
			return json_incref(published);
	}
	return NULL;
}

static bool look_at_ports(const struct workspace *ws, struct search *search)
{
	json_t *published = port_holder_entry(ws, search->forward);
	char name[KIND_NAME_ROOM];

	if (!published)
		return false;
	kind_name(ws->id, name);
	snprintf(search->out->workspace, sizeof(search->out->workspace), "%s of %.300s", name,
		 ws->dir->path);
	search->out->published = published;
	return true;
}

/* Returns true if the workspace has a living machine that holds the port. Opens no state directory
 * of another user. */
static bool look_into(const char *state_dir, const char *id, struct search *search)
{
	struct state_dir dir = {.fd = -1};
	struct workspace ws = {.fd = -1};
	struct error ignored;
	bool found = false;

	if (state_dir_open(state_dir, false, &dir, &ignored) < 0)
		return false;
	if (workspace_open(&dir, id, false, &ws, &ignored) == 0) {
		found = ws.fd >= 0 && lease_is_held(&ws) && look_at_ports(&ws, search);
		workspace_close(&ws);
	}
	state_dir_close(&dir);
	return found;
}

static int is_holder(pid_t pid, void *data)
{
	char label[PATH_MAX] = "", *slash;

	if (pid == getpid() || !live_supervisor_is(pid, label, sizeof(label)))
		return 0;
	slash = strrchr(label, '/');
	if (!slash || slash == label)
		return 0;
	*slash = '\0';
	return look_into(label, slash + 1, data);
}

bool port_holder_find(const json_t *forward, struct port_holder *out)
{
	struct search search = {.forward = forward, .out = out};

	return process_each(is_holder, &search, NULL) > 0;
}
