/* SPDX-License-Identifier: MIT */
#include "api/machine.h"

#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"

#define OF(kind) (1u << MACHINE_##kind)
#define FIELD(field) #field, offsetof(struct microagent_machine, field)

/* How it is seen that a field is set. */
enum form {
	POINTER, /* it is not NULL: a word, or a list of which none is a list too */
	LIST,	 /* there is a word in it */
	NUMBER,
	FLAG
};

static const struct {
	const char *name;
	size_t offset;
	enum form form;
	unsigned kinds;
} fields[] = {
	{FIELD(architecture), POINTER, OF(BASE)},
	{FIELD(accelerator), POINTER, OF(SESSION) | OF(BASE) | OF(TEMPLATE)},
	{FIELD(memory_mib), NUMBER, OF(SESSION) | OF(BASE) | OF(POOL)},
	{FIELD(cpus), NUMBER, OF(SESSION) | OF(BASE) | OF(POOL)},
	{FIELD(network), POINTER, OF(SESSION) | OF(BASE) | OF(POOL)},
	{FIELD(network_interface), POINTER, OF(SESSION) | OF(BASE)},
	{FIELD(allow), LIST, OF(SESSION) | OF(BASE)},
	{FIELD(egress.names), POINTER, OF(SESSION) | OF(BASE)},
	{FIELD(egress.from), POINTER, OF(SESSION) | OF(BASE)},
	{FIELD(egress.sni_off), FLAG, OF(SESSION) | OF(BASE)},
	{FIELD(egress.dry_run), FLAG, OF(SESSION) | OF(BASE)},
	{FIELD(publish), LIST, OF(SESSION)},
	{FIELD(mediation), POINTER, OF(SESSION)},
	{FIELD(mediation_optional), FLAG, OF(SESSION)},
	{FIELD(vsock), LIST, OF(SESSION)},
	{FIELD(disks), LIST, 0},
	{FIELD(shares), LIST, OF(SESSION)},
	{FIELD(share_anyway), FLAG, OF(SESSION)},
	{FIELD(share_git), FLAG, OF(SESSION)},
	{FIELD(rates.disk_bytes), NUMBER, OF(SESSION)},
	{FIELD(rates.disk_ops), NUMBER, OF(SESSION)},
	{FIELD(rates.net_bytes), NUMBER, OF(SESSION)},
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
