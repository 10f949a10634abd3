/* SPDX-License-Identifier: MIT */
/* Refuses fields of an OCI config: walks through the config, and treats each field as the table of
 * fields (fields.c) demands. rules.c refuses values that the decoded config may not have. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "oci/config/fields.h"
#include "oci/config/read.h"

struct place {
	char path[OCI_PATH];  /* the JSON path in the document, such as "mounts[3].source" */
	char field[OCI_PATH]; /* the path in the form of oci_field.path, such as
			       * "mounts[].source" */
};

static bool is_empty(const json_t *value)
{
	const char *key;
	json_t *item;
	size_t i;

	json_object_foreach((json_t *)(uintptr_t)value, key, item)
	{
		if (!is_empty(item))
			return false;
	}
	json_array_foreach(value, i, item)
	{
		if (!is_empty(item))
			return false;
	}
	if (json_is_string(value))
		return json_string_length(value) == 0;
	return !json_is_true(value) && !json_is_real(value) && json_integer_value(value) == 0;
}

static int walk_field(const struct place *place, const json_t *value, const struct oci_notes *notes,
		      struct error *err)
{
	const struct oci_field *field = oci_field_find(place->field);
	const char *key, *dot = *place->path ? "." : "";
	struct place below;
	json_t *item;
	size_t i;

	if (field) {
		if (is_empty(value))
			return 0;
		if (field->verdict == OCI_REFUSED)
			return error_set(err, ERR_UNSUPPORTED, "%s is not supported: %s; %s",
					 place->path, field->text, field->next);
		if (field->verdict == OCI_IGNORED)
			oci_note(notes, field->warned, "%s is ignored: %s", place->path,
				 field->text);
		return 0;
	}
	json_object_foreach((json_t *)(uintptr_t)value, key, item)
	{
		/* Skips a key with one of these characters: no known field has such a key, but the
		 * path of the key could be equal to a known field's path. Also skips a key whose
		 * path is too long, since no known field has such a long path. */
		if (strpbrk(key, ".[]*") ||
		    snprintf(below.path, OCI_PATH, "%s%s%s", place->path, dot, key) >= OCI_PATH ||
		    snprintf(below.field, OCI_PATH, "%s%s%s", place->field, dot, key) >= OCI_PATH)
			continue;
		if (walk_field(&below, item, notes, err) < 0)
			return -1;
	}
	json_array_foreach(value, i, item)
	{
		if (snprintf(below.path, OCI_PATH, "%s[%zu]", place->path, i) >= OCI_PATH ||
		    snprintf(below.field, OCI_PATH, "%s[]", place->field) >= OCI_PATH)
			continue;
		if (walk_field(&below, item, notes, err) < 0)
			return -1;
	}
	return 0;
}

int oci_fields_check_below(const json_t *value, const char *path, const struct oci_notes *notes,
			   struct error *err)
{
	struct place place;

	snprintf(place.path, OCI_PATH, "%s", path);
	snprintf(place.field, OCI_PATH, "%s", path);
	return walk_field(&place, value, notes, err);
}

/* Gives a note about each annotation whose name begins with OCI_ANNOTATIONS but is unknown. The
 * specification does not allow an error for an unknown annotation. Without a note, a user would
 * believe that a misspelt annotation has an effect. */
static void note_unknown_annotations(const json_t *annotations, const struct oci_notes *notes)
{
	static const char *const known[] = {OCI_MEMORY_ANNOTATION, OCI_CPUS_ANNOTATION,
					    OCI_KERNEL_ANNOTATION, OCI_PROPAGATION_ANNOTATION,
					    OCI_ROOTFS_ANNOTATION};
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)annotations, name, value)
	{
		size_t i = 0;

		while (i < ARRAY_SIZE(known) && strcmp(known[i], name) != 0)
			i++;
		if (strncmp(name, OCI_ANNOTATIONS, strlen(OCI_ANNOTATIONS)) == 0 &&
		    i == ARRAY_SIZE(known))
			oci_note(
				notes, true,
				"annotations.%.128s is ignored: there is no such annotation; microagent-oci(8) lists those that there are",
				name);
	}
}

/* Checks that the version of the specification is 1.x. The specification promises that meanings do
 * not change within 1.x. */
static int check_version(const json_t *document, struct error *err)
{
	const char *version = json_text(document, "ociVersion", NULL);

	/* Accepts a missing version here, since the decoder reports it. */
	if (!version)
		return 0;
	if (version[0] == '1' && version[1] == '.' && version[2] >= '0' && version[2] <= '9')
		return 0;
	return error_set(
		err, ERR_UNSUPPORTED,
		"ociVersion %s is not supported: this program knows the versions from 1.0.0 to those before 2.0.0; use an engine that writes one of these",
		version);
}

int oci_fields_check(const json_t *document, const struct oci_notes *notes, struct error *err)
{
	note_unknown_annotations(json_object_get(document, "annotations"), notes);
	if (oci_fields_check_below(document, "", notes, err) < 0)
		return -1;
	return check_version(document, err);
}
