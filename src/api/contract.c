/* SPDX-License-Identifier: MIT */
/* The contract document, with each backend's own word about itself. */
#include "contract/contract.h"

#include "api/api.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "contract/fields.h"

/* A list that a supervisor printed, or an empty one. */
static int copy_list(json_t *entry, const json_t *said, const char *key, struct error *err)
{
	json_t *list = json_object_get(said, key);

	return json_put(entry, key, json_is_array(list) ? json_incref(list) : json_array(), err);
}

/* Without an executable, or with one that is none of ours, a backend does nothing here. */
static json_t *support_of(const struct contract_backend *backend, struct error *err)
{
	struct error ignored;
	autofree char *path = backend_find_supervisor(backend, &ignored);
	json_auto_t *said = path ? supervisor_capabilities(path, &ignored) : NULL;
	json_auto_t *entry = json_object();

	if (json_put(entry, "available", json_boolean(said != NULL), err) < 0 ||
	    json_put_string(entry, "system", backend->system, err) < 0 ||
	    copy_list(entry, said, "commands", err) < 0 ||
	    copy_list(entry, said, "networks", err) < 0 ||
	    copy_list(entry, said, "features", err) < 0 ||
	    copy_list(entry, said, "refusals", err) < 0)
		return NULL;
	return steal_ptr(&entry);
}

json_t *microagent_contract(struct error *err)
{
	json_auto_t *support = json_object();

	for (const struct contract_backend *row = contract_backends; row->name; row++) {
		json_t *entry = support_of(row, err);

		if (!entry || json_put(support, row->name, entry, err) < 0)
			return NULL;
	}
	return contract_json(steal_ptr(&support), err);
}
