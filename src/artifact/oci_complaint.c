/* SPDX-License-Identifier: MIT */
#include "artifact/oci_complaint.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "artifact/reader.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"

#define INDEX_BYTES (4u << 20)
#define LISTED_MAX 20
#define TAG "org.opencontainers.image.ref.name"

/* --- the images of a layout or an archive ---------------------------------------------------- */

struct listed {
	struct buf text; /* the tags that were found, like "one, two" */
	const char *asked;
	size_t images, tags;
	char first[256];
	bool found;
};

static int add_tag(struct listed *l, const char *tag, struct error *err)
{
	l->found = l->found || strcmp(tag, l->asked) == 0;
	if (l->tags == 0)
		snprintf(l->first, sizeof(l->first), "%s", tag);
	if (l->tags++ >= LISTED_MAX)
		return 0;
	return buf_printf(&l->text, err, "%s%.100s", l->tags > 1 ? ", " : "", tag);
}

/* Lists the images in an OCI layout. `index` is the contents of the layout's index.json. */
static int list_oci(struct listed *l, const json_t *index, struct error *err)
{
	const json_t *images = json_object_get(index, "manifests"), *image;
	size_t i;

	l->images = json_array_size(images);
	json_array_foreach(images, i, image)
	{
		const char *tag = json_text(json_object_get(image, "annotations"), TAG, NULL);

		if (tag && add_tag(l, tag, err) < 0)
			return -1;
	}
	return 0;
}

/* Lists the images in an archive of `docker save`. `images` is the contents of the archive's
 * manifest.json. */
static int list_docker(struct listed *l, const json_t *images, struct error *err)
{
	const json_t *image, *tag;
	size_t i, j;

	l->images = json_array_size(images);
	json_array_foreach(images, i, image)
	{
		json_array_foreach(json_object_get(image, "RepoTags"), j, tag)
		{
			const char *text = json_string_value(tag);

			if (text && add_tag(l, text, err) < 0)
				return -1;
		}
	}
	return 0;
}

static int list_images(const struct oci_source *source, struct listed *l, struct error *err)
{
	const bool docker = source->transport == DOCKER_ARCHIVE;
	const char *name = docker ? "manifest.json" : "index.json";
	autobuf struct buf text = BUF_INIT(INDEX_BYTES);
	json_auto_t *index = NULL;

	if (source->transport == OCI_LAYOUT) {
		autoclose int dir = path_open_dir(source->bytes, err);

		if (dir < 0 || path_read_file_at(dir, name, &text, err) < 0)
			return -1;
	} else if (reader_take(source->bytes, source->room, name, &text, err) < 0) {
		return -1;
	}
	index = json_load_strict(buf_bytes(&text), text.len, err);
	if (!index)
		return -1;
	return docker ? list_docker(l, index, err) : list_oci(l, index, err);
}

/* Finds out whether skopeo failed because the user named no image and the source has several, or
 * because the source does not have the named image. If so, returns true with err set. */
static bool complain_of_choice(const struct oci_source *source, struct error *err)
{
	const char *at = strstr(source->ref, source->path);
	/* the text after the path in the reference: ":TAG", "@..." or "" */
	const char *tag = at ? at + strlen(source->path) : "";
	struct listed l = {.text = BUF_INIT(0), .asked = *tag == ':' ? tag + 1 : tag};
	struct error unread;
	bool wrong = list_images(source, &l, &unread) == 0 &&
		     (*l.asked ? !l.found && l.tags > 0 && *l.asked != '@' : l.images > 1);
	const char *more = l.tags > LISTED_MAX ? " and more" : "";

	if (wrong && *l.asked)
		error_set(err, ERR_NOT_FOUND, "%s has no image \"%s\" in it: name one of %s%s",
			  source->path, l.asked, buf_string(&l.text), more);
	else if (wrong && l.tags > 0)
		error_set(err, ERR_INVALID,
			  "%s has %zu images in it: name one, as %s:%s; they are %s%s",
			  source->path, l.images, source->path, l.first, buf_string(&l.text), more);
	else if (wrong)
		error_set(
			err, ERR_INVALID,
			"%s has %zu images in it, but none has a tag, so none can be named: give each of them a tag",
			source->path, l.images);
	buf_free(&l.text);
	return wrong;
}

/* --- the platforms of an index --------------------------------------------------------------- */

#define PLATFORM_ROOM 96

struct platforms {
	char listed[LISTED_MAX][PLATFORM_ROOM];
	size_t count;
	bool more;
};

/* Adds a platform, like "linux/arm64/v8". Skips an entry that is not a platform, like the
 * "unknown/unknown" of an attestation. An index can name a platform several times, for example for
 * each version of Windows, but it is added only once. */
static void add_platform(struct platforms *p, const json_t *platform)
{
	const char *os = json_text(platform, "os", "");
	const char *architecture = json_text(platform, "architecture", "");
	const char *variant = json_text(platform, "variant", "");
	char text[PLATFORM_ROOM];

	if (!*os || !*architecture || strcmp(architecture, "unknown") == 0)
		return;
	snprintf(text, sizeof(text), "%.24s/%.24s%s%.24s", os, architecture, *variant ? "/" : "",
		 variant);
	for (size_t i = 0; i < p->count; i++)
		if (strcmp(p->listed[i], text) == 0)
			return;
	if (p->count < LISTED_MAX)
		memcpy(p->listed[p->count++], text, sizeof(text));
	else
		p->more = true;
}

/* Returns true if the error means that the source has no image for the wanted platform. In this
 * case, the library containers/image writes "no image found in ..." (ChooseInstance() in
 * internal/manifest/docker_schema2_list.go and oci_index.go). */
bool oci_lacks_platform(const struct error *why)
{
	return strstr(why->msg, "no image found in ") != NULL;
}

bool oci_complain_of_platform(const struct oci_source *source, const struct buf *text,
			      struct error *err)
{
	json_auto_t *index = json_load_strict(buf_bytes(text), text->len, NULL);
	const json_t *images = json_object_get(index, "manifests"), *image;
	autobuf struct buf list = BUF_INIT(0);
	struct platforms has = {0};
	size_t i;

	json_array_foreach(images, i, image)
	{
		add_platform(&has, json_object_get(image, "platform"));
	}
	for (i = 0; i < has.count; i++)
		if (buf_printf(&list, NULL, "%s%s", i ? ", " : "", has.listed[i]) < 0)
			return false;
	if (has.count == 0)
		return false;
	error_set(err, ERR_UNSUPPORTED,
		  "%s has no image for linux/%s, only for %s%s: name another image or architecture",
		  source->ref, architecture_name(source->architecture), buf_string(&list),
		  has.more ? " and more" : "");
	return true;
}

/* --- messages of skopeo ---------------------------------------------------------------------- */

/* Returns MSG from the last line of the form `time="..." level=fatal msg="MSG"`. The caller frees
 * MSG. Returns NULL if there is no such line. */
static char *fatal_message(const char *text)
{
	static const char mark[] = "level=fatal msg=";
	const char *at = strstr(text, mark), *next;
	char *out, *to;
	bool quoted;

	while (at && (next = strstr(at + 1, mark)))
		at = next;
	if (!at)
		return NULL;
	at += strlen(mark);
	quoted = *at == '"';
	to = out = strdup(at);
	if (!out)
		return NULL;
	for (at += quoted; *at && *at != (quoted ? '"' : ' '); at++) {
		bool escaped = quoted && at[0] == '\\' && at[1];

		at += escaped;
		/* An escaped letter, such as \n, means a control byte, and is replaced by a
		 * blank. */
		*to++ = escaped && isalpha((unsigned char)*at) ? ' ' : *at;
	}
	*to = '\0';
	return out;
}

/* Appends the message to `out`, and replaces source->name in the message by the user's name for the
 * image. source->name is the name with which skopeo was called, and the user does not know it. */
static int put_ref(const struct oci_source *source, const char *message, struct buf *out,
		   struct error *err)
{
	size_t len = strlen(source->name);
	const char *at;

	while ((at = strstr(message, source->name))) {
		if (buf_append(out, message, (size_t)(at - message), err) < 0 ||
		    buf_printf(out, err, "%s", source->ref) < 0)
			return -1;
		message = at + len;
	}
	return buf_printf(out, err, "%s", message);
}

/* Returns the message without `Error parsing image name "REF": ` at its beginning, because the
 * caller's message already names REF. */
static const char *without_name(const struct oci_source *source, const char *message)
{
	static const char before[] = "Error parsing image name \"";
	size_t len = strlen(source->name);

	if (strncmp(message, before, strlen(before)) == 0 &&
	    strncmp(message + strlen(before), source->name, len) == 0 &&
	    strncmp(message + strlen(before) + len, "\": ", 3) == 0)
		return message + strlen(before) + len + 3;
	return message;
}

int oci_complain(const struct oci_source *source, struct error *err)
{
	autofree char *message = NULL;
	autobuf struct buf text = BUF_INIT(0);

	if (err && source->path && complain_of_choice(source, err))
		return -1;
	message = err ? fatal_message(err->msg) : NULL;
	if (message && put_ref(source, without_name(source, message), &text, err) == 0)
		error_set(err, err->code, "%s", buf_string(&text));
	return error_prefix(err, "%s", source->ref);
}
