/* SPDX-License-Identifier: MIT */
/* Makes the random bytes from which a restored guest makes the identity of its machine. Each call
 * makes new bytes, so two machines never get the same identity. */
#include <stdio.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/platform/system.h"
#include "supervisor/live/control_message.h"

#define ENTROPY_BYTES 64

/* Makes a random UUID by RFC 9562, version 4, like the kernel's boot id and machine-id(5). */
static int draw_uuid(uint8_t id[16], struct error *err)
{
	if (random_bytes(id, 16, err) < 0)
		return -1;
	id[6] = (uint8_t)((id[6] & 0x0f) | 0x40);
	id[8] = (uint8_t)((id[8] & 0x3f) | 0x80);
	return 0;
}

static int put_uuid(json_t *renew, const char *key, bool dashes, struct error *err)
{
	char text[40], *to = text;
	uint8_t id[16];

	if (draw_uuid(id, err) < 0)
		return -1;
	for (size_t i = 0; i < sizeof(id); i++) {
		if (dashes && (i == 4 || i == 6 || i == 8 || i == 10))
			*to++ = '-';
		to += snprintf(to, 3, "%02x", id[i]);
	}
	return json_put_string(renew, key, text, err);
}

static int put_entropy(json_t *renew, struct error *err)
{
	uint8_t bytes[ENTROPY_BYTES];
	autofree char *text = NULL;

	if (random_bytes(bytes, sizeof(bytes), err) < 0)
		return -1;
	text = base64_encode(bytes, sizeof(bytes), err);
	return text ? json_put_string(renew, "entropy", text, err) : -1;
}

int control_put_renew(json_t *message, struct error *err)
{
	json_auto_t *renew = json_object();

	if (put_entropy(renew, err) < 0 || put_uuid(renew, "bootId", true, err) < 0 ||
	    put_uuid(renew, "machineId", false, err) < 0)
		return -1;
	return json_put(message, "renew", json_incref(renew), err);
}
