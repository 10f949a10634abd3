/* SPDX-License-Identifier: MIT */
#include "api/machine.h"

#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"

#define OF(kind) (1u << MACHINE_##kind)
#define FIELD(field) #field, offsetof(struct microagent_machine, field)

/* How to see whether a field is set. */
enum form {
	POINTER, /* it is not NULL: a word, or a list that counts even when it is empty */
	LIST,	 /* there is a word in it */
	NUMBER,
	FLAG
};

static const struct {
	const char *name;
	size_t offset;
	enum form form;
	unsigned kinds;
	/* The reason why no saved machine, and so no restored one, can have the field. */
	const char *unsaved;
} fields[] = {
	{FIELD(architecture), POINTER, OF(BASE), NULL},
	{FIELD(accelerator), POINTER, OF(SESSION) | OF(BASE) | OF(TEMPLATE), NULL},
	{FIELD(memory_mib), NUMBER, OF(SESSION) | OF(BASE) | OF(POOL), NULL},
	{FIELD(cpus), NUMBER, OF(SESSION) | OF(BASE) | OF(POOL), NULL},
	{FIELD(network), POINTER, OF(SESSION) | OF(BASE) | OF(POOL), NULL},
	{FIELD(network_interface), POINTER, OF(SESSION) | OF(BASE), NULL},
	{FIELD(allow), LIST, OF(SESSION) | OF(BASE), NULL},
	{FIELD(egress.names), POINTER, OF(SESSION) | OF(BASE), NULL},
	{FIELD(egress.from), POINTER, OF(SESSION) | OF(BASE), NULL},
	{FIELD(egress.sni_off), FLAG, OF(SESSION) | OF(BASE), NULL},
	{FIELD(egress.dry_run), FLAG, OF(SESSION) | OF(BASE), NULL},
	{FIELD(publish), LIST, OF(SESSION), "it publishes ports"},
	{FIELD(mediation), POINTER, OF(SESSION), "it has a mediator"},
	{FIELD(mediation_optional), FLAG, OF(SESSION), NULL},
	{FIELD(vsock), LIST, OF(SESSION), "it has vsock ports of the host's"},
	{FIELD(disks), LIST, 0, NULL},
	{FIELD(shares), LIST, OF(SESSION), NULL},
	{FIELD(share_anyway), FLAG, OF(SESSION), NULL},
	{FIELD(share_git), FLAG, OF(SESSION), NULL},
	{FIELD(rates.disk_bytes), NUMBER, OF(SESSION), "its rates are limited"},
	{FIELD(rates.disk_ops), NUMBER, OF(SESSION), "its rates are limited"},
	{FIELD(rates.net_bytes), NUMBER, OF(SESSION), "its rates are limited"},
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
			return error_set(err, ERR_INVALID, "machine.%s: %s has none of its own",
					 fields[i].name, kinds[kind]);
	}
	return 0;
}

const char *machine_unsaved_reason(const struct microagent_machine *machine)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (fields[i].unsaved &&
		    is_set((const char *)machine + fields[i].offset, fields[i].form))
			return fields[i].unsaved;
	return NULL;
}
