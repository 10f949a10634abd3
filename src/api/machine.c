/* SPDX-License-Identifier: MIT */
#include "api/machine.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/json.h"
#include "channel/words.h"
#include "contract/config_fields.h"

/* The kinds of machine that have a field besides workspaces, which have all of them. */
enum {
	OF_WORKSPACE = 0,
	OF_SESSION = 1u << MACHINE_SESSION,
	OF_BASE = 1u << MACHINE_BASE,
	OF_TEMPLATE = 1u << MACHINE_TEMPLATE,
	OF_POOL = 1u << MACHINE_POOL
};

/* How to find out whether a field is set, by the type of the field. */
enum form {
	POINTER, /* a pointer, which is set if it is not NULL: a word, or a list that counts even if
		  * it is empty */
	LIST,	 /* a list that is set if it has at least one word */
	NUMBER,
	FLAG
};

#define FIELD(field) #field, offsetof(struct microagent_machine, field)
/* The form of a field as its type says it. */
#define FORM(field) \
	_Generic(((struct microagent_machine *)NULL)->field, const char *: POINTER,    \
		 const char *const *: LIST, int64_t: NUMBER, bool: FLAG)
#define ROW(field, kinds)                                    \
	{                                                    \
		FIELD(field), FORM(field), kinds, NULL, NULL \
	}
#define MACHINE_FIELD(kinds, KIND, field, key, ...) {FIELD(field), FORM(field), kinds, NULL, key},

static const struct {
	const char *name;
	size_t offset;
	enum form form;
	unsigned kinds;
	/* The reason why a machine with this field cannot be saved, and so cannot be restored. NULL
	 * if it can be saved, or if the row of config_fields has the reason. */
	const char *unsaved;
	/* The member of a request's config into which the value of this field is put unchanged;
	 * "a.b" is the member b of the member a. NULL: the config has no member with the unchanged
	 * value. */
	const char *config;
} fields[] = {
#include "contract/config_fields.def"
	ROW(architecture, OF_BASE),
	ROW(network, OF_SESSION | OF_BASE | OF_POOL),
	ROW(network_interface, OF_SESSION | OF_BASE),
	ROW(allow, OF_SESSION | OF_BASE),
	{FIELD(egress.names), POINTER, OF_SESSION | OF_BASE, NULL, NULL},
	{FIELD(egress.from), POINTER, OF_SESSION | OF_BASE, NULL, NULL},
	ROW(egress.sni_off, OF_SESSION | OF_BASE),
	ROW(egress.dry_run, OF_SESSION | OF_BASE),
	{FIELD(publish), LIST, OF_SESSION, "it publishes ports", NULL},
	{FIELD(mediation), POINTER, OF_SESSION, "it has a mediator", NULL},
	ROW(mediation_optional, OF_SESSION),
	{FIELD(vsock), LIST, OF_SESSION, "it has vsock ports of the host", NULL},
	ROW(disks, OF_WORKSPACE),
	ROW(shares, OF_SESSION),
	ROW(share_anyway, OF_SESSION),
	ROW(share_git, OF_SESSION),
	{FIELD(rates.disk_bytes), NUMBER, OF_SESSION, "its rates are limited",
	 "limits.diskBytesPerSecond"},
	{FIELD(rates.disk_ops), NUMBER, OF_SESSION, "its rates are limited",
	 "limits.diskOpsPerSecond"},
	{FIELD(rates.net_bytes), NUMBER, OF_SESSION, "its rates are limited",
	 "limits.netBytesPerSecond"},
};

static const char *const kinds[] = {
	[MACHINE_SESSION] = "a session",
	[MACHINE_BASE] = "a base",
	[MACHINE_TEMPLATE] = "a template",
	[MACHINE_POOL] = "a pool",
};

static bool is_set(const void *field, enum form form)
{
	const char *const *words;

	switch (form) {
	case POINTER:
		return *(const void *const *)field != NULL;
	case LIST:
		words = *(const char *const *const *)field;
		return words && words[0];
	case NUMBER:
		return *(const int64_t *)field != 0;
	case FLAG:
		return *(const bool *)field;
	}
	return false;
}

int machine_check(const struct microagent_machine *machine, enum machine_kind kind,
		  struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		const void *field = (const char *)machine + fields[i].offset;

		if (!(fields[i].kinds & 1u << kind) && is_set(field, fields[i].form))
			return error_set(err, ERR_INVALID,
					 "machine.%s: %s does not have this setting: leave it out",
					 fields[i].name, kinds[kind]);
	}
	return 0;
}

/* Finds the object in `config` that has the member `key`, and sets *member to the last component of
 * `key`. Makes the object if it does not exist. Returns NULL with err set on failure. */
static json_t *object_of_key(json_t *config, const char *key, const char **member,
			     struct error *err)
{
	const char *dot = strchr(key, '.');
	char name[32];
	json_t *object;

	*member = dot ? dot + 1 : key;
	if (!dot)
		return config;
	snprintf(name, sizeof(name), "%.*s", (int)(dot - key), key);
	object = json_object_get(config, name);
	if (object)
		return object;
	return json_put(config, name, json_object(), err) < 0 ? NULL
							      : json_object_get(config, name);
}

static int put_member(json_t *object, const char *member, const void *field, enum form form,
		      struct error *err)
{
	json_t *words;

	switch (form) {
	case POINTER:
		return json_put_string(object, member, *(const char *const *)field, err);
	case LIST:
		words = words_json(*(const char *const *const *)field, err);
		return words ? json_put(object, member, words, err) : -1;
	case NUMBER:
		return json_put(object, member, json_integer(*(const int64_t *)field), err);
	case FLAG:
		return json_put(object, member, json_true(), err);
	}
	return 0;
}

int machine_put(json_t *config, const struct microagent_machine *machine, struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		const void *field = (const char *)machine + fields[i].offset;
		const char *member;
		json_t *object;

		if (!fields[i].config || !is_set(field, fields[i].form))
			continue;
		object = object_of_key(config, fields[i].config, &member, err);
		if (!object || put_member(object, member, field, fields[i].form, err) < 0)
			return -1;
	}
	return 0;
}

int machine_check_saved(const struct microagent_machine *machine, struct error *err)
{
	json_auto_t *config = json_object();

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (fields[i].unsaved &&
		    is_set((const char *)machine + fields[i].offset, fields[i].form))
			return error_set(err, ERR_CONFLICT, "%s", fields[i].unsaved);
	if (!config)
		return error_errno(err, ENOMEM, "machine");
	if (machine_put(config, machine, err) < 0)
		return -1;
	for (const struct config_field *field = config_fields; field->key; field++)
		if (field->saved == SAVED_WITHOUT && json_object_get(config, field->key))
			return error_set(err, ERR_CONFLICT, "it has %s", field->unsaved);
	return 0;
}
