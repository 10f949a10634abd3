/* SPDX-License-Identifier: MIT */
/* The identity in a request, which says to which workspace the request belongs. */
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "contract/decode.h"
#include "contract/runtime_id.h"

/* The longest request id in bytes. The id is limited because the identity is repeated in every
 * event, and events.json has many events. */
#define REQUEST_ID_BYTES 512

static const char *const identity_keys[] = {"requestID", "runtimeID", "role", "backend", NULL};
static const char *const role_names[] = {"workload", "enforcer"};

/* Returns true if an id looks like a file that microagent keeps beside a workspace's lock, such as
 * ".lease-ID" (store/internal.h). */
static bool is_like_file_of_ours(const char *id)
{
	size_t letters = *id == '.' ? strspn(id + 1, "abcdefghijklmnopqrstuvwxyz") : 0;

	return letters > 0 && id[1 + letters] == '-';
}

bool runtime_id_taken(const char *id)
{
	static const char *const names[] = {"bases",  "sessions",	  "pool", "archive", "logs",
					    ".locks", ".microagent-state"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(names[i], id))
			return true;
	return is_like_file_of_ours(id);
}

int runtime_id_check(const char *id, const char *what, struct error *err)
{
	if (!path_is_safe_basename(id))
		return error_set(
			err, ERR_INVALID,
			"%s must be a plain name of at most 128 bytes, without slash and backslash and not \".\" or \"..\", and is \"%.200s\"",
			what, id);
	if (runtime_id_taken(id))
		return error_set(
			err, ERR_INVALID,
			"%s \"%s\" is a name that microagent keeps for itself; choose another",
			what, id);
	return 0;
}

int identity_decode(json_t *json, const char *backend, struct identity *out, struct error *err)
{
	struct identity identity = {.json = json};
	size_t role = 0;

	if (!json_is_object(json))
		return error_set(err, ERR_INVALID, "identity must be an object");
	if (json_only_keys(json, "identity", identity_keys, err) < 0 ||
	    decode_text(json, "identity", "requestID", JSON_REQUIRED, &identity.request_id, err) <
		    0)
		return -1;
	if (strlen(identity.request_id) > REQUEST_ID_BYTES)
		return error_set(err, ERR_INVALID,
				 "identity.requestID must be at most %d bytes long",
				 REQUEST_ID_BYTES);
	if (decode_text(json, "identity", "runtimeID", JSON_REQUIRED, &identity.runtime_id, err) <
		    0 ||
	    runtime_id_check(identity.runtime_id, "identity.runtimeID", err) < 0 ||
	    decode_choice(json, "identity", "role", JSON_REQUIRED, role_names,
			  ARRAY_SIZE(role_names), &role, err) < 0 ||
	    decode_text(json, "identity", "backend", JSON_REQUIRED, &identity.backend, err) < 0)
		return -1;
	if (strcmp(identity.backend, backend) != 0)
		return error_set(
			err, ERR_INVALID,
			"identity.backend is \"%.64s\", but this is the supervisor of \"%s\": change the backend, or ask its supervisor",
			identity.backend, backend);
	identity.role = role_names[role];
	*out = identity;
	return 0;
}
