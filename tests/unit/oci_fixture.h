/* SPDX-License-Identifier: MIT */
/* Makes a config.json from the differences that a test gives. Include it after cmocka.h. */
#ifndef OCI_FIXTURE_H
#define OCI_FIXTURE_H

#include <jansson.h>
#include <string.h>

#include "oci/config/config.h"

#define OCI_LEAST                                                                   \
	"{\"ociVersion\":\"1.0.2\",\"root\":{\"path\":\"rootfs\"},"                 \
	"\"process\":{\"args\":[\"sh\"],\"cwd\":\"/\"},\"linux\":{\"namespaces\":[" \
	"{\"type\":\"pid\"},{\"type\":\"network\"},{\"type\":\"ipc\"},{\"type\":\"mount\"}]}}"

static inline json_t *oci_parse(const char *text)
{
	struct error err = {0};
	json_t *value = oci_load(text, strlen(text), &err);

	if (!value)
		fail_msg("%s: %s", text, err.msg);
	return value;
}

/* Returns the least config, with the members of the object more put over its own. */
static inline json_t *oci_document(const char *more)
{
	json_t *document = oci_parse(OCI_LEAST);
	json_auto_t *over = oci_parse(more);

	assert_int_equal(json_object_update_recursive(document, over), 0);
	return document;
}

#endif
