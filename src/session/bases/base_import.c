/* SPDX-License-Identifier: MIT */
/* An image of the OCI or of Docker for a base: microagent-artifact puts it into the cache, where
 * the next base of the same one finds it. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "channel/artifact_run.h"
#include "session/bases/base_making.h"

/* Names of images have small letters alone, and end as their architecture says, which a base's does
 * not: so it is no end of one. */
static void image_name(const struct making *m, char *out, size_t size)
{
	snprintf(out, size, "%s-base", m->base.name);
	for (char *c = out; *c; c++)
		*c = (char)tolower((unsigned char)*c);
}

static void tell_import(const struct microagent_base_spec *spec)
{
	char text[512];

	snprintf(text, sizeof(text), "importing %s", spec->oci);
	if (spec->said)
		spec->said(spec->data, MICROAGENT_BASE_DOING, text);
}

int base_import(struct making *m, struct error *err)
{
	const char *words[9] = {"image-import", "--arch", architecture_name(m->architecture)};
	const struct artifact_wait wait = {m->spec->cancel, m->agent->wait_fn, m->agent->wait_data};
	char name[BASE_NAME_MAX + 8], size[24];
	size_t n = 3;

	image_name(m, name, sizeof(name));
	if (m->spec->size_mib) {
		snprintf(size, sizeof(size), "%" PRId64, m->spec->size_mib);
		words[n++] = "--size";
		words[n++] = size;
	}
	words[n++] = "--";
	words[n++] = name;
	words[n] = m->spec->oci;
	tell_import(m->spec);
	if (artifact_run(words, &wait, NULL, err) < 0)
		return error_prefix(err, "%s", m->spec->oci);
	return cache_image_find(name, m->architecture, &m->image, err);
}
