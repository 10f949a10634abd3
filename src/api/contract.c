/* SPDX-License-Identifier: MIT */
/* Makes the document of `microagent contract`: what each backend says about itself. */
#include "contract/contract.h"

#include <errno.h>
#include <string.h>

#include "api/api.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "contract/fields.h"

/* The text of backends.json: {BACKEND: {commands, networks, features, refusals}}. Each entry is
 * what the supervisor of this backend printed when this library was built. The file is written by
 * `make lists`. */
extern const char stored_backends[];

/* Puts the list said[key] into `entry`. If `said` has no such list, puts an empty list. */
static int copy_list(json_t *entry, const json_t *said, const char *key, struct error *err)
{
	json_t *list = json_object_get(said, key);

	return json_put(entry, key, json_is_array(list) ? json_incref(list) : json_array(), err);
}

static json_t *trials_of(const struct contract_backend *backend, struct error *err)
{
	json_auto_t *list = json_array();

	for (const struct contract_trial *trial = backend->trials; trial->what; trial++) {
		json_auto_t *item = json_object();

		if (json_put(item, "real", json_boolean(trial->real), err) < 0 ||
		    json_put_string(item, "what", trial->what, err) < 0)
			return NULL;
		if (json_array_append(list, item) < 0) {
			error_errno(err, ENOMEM, "contract");
			return NULL;
		}
	}
	return steal_ptr(&list);
}

/* Returns a JSON object that says what a backend supports. If this host has the backend's
 * supervisor, its output is used and not the stored entry, because the supervisor may have another
 * version than this library. */
static json_t *support_of(const struct contract_backend *backend, const json_t *stored,
			  struct error *err)
{
	struct error ignored;
	autofree char *path = backend_find_supervisor(backend, &ignored);
	json_auto_t *said = path ? supervisor_capabilities(path, &ignored) : NULL;
	const json_t *lists = said ? said : json_object_get(stored, backend->name);
	json_auto_t *entry = json_object();

	if (json_put(entry, "available", json_boolean(said != NULL), err) < 0 ||
	    json_put_string(entry, "system", backend->system, err) < 0 ||
	    json_put_string(entry, "stability", backend->experimental ? "experimental" : "stable",
			    err) < 0 ||
	    json_put(entry, "triedOn", trials_of(backend, err), err) < 0 ||
	    copy_list(entry, lists, "commands", err) < 0 ||
	    copy_list(entry, lists, "networks", err) < 0 ||
	    copy_list(entry, lists, "features", err) < 0 ||
	    copy_list(entry, lists, "refusals", err) < 0)
		return NULL;
	return steal_ptr(&entry);
}

json_t *microagent_contract(struct error *err)
{
	json_auto_t *stored = json_load_strict(stored_backends, strlen(stored_backends), err);
	json_auto_t *support = json_object();

	if (!stored)
		return NULL;
	for (const struct contract_backend *row = contract_backends; row->name; row++) {
		json_t *entry = support_of(row, stored, err);

		if (!entry || json_put(support, row->name, entry, err) < 0)
			return NULL;
	}
	return contract_json(steal_ptr(&support), err);
}
