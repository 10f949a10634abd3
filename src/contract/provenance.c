/* SPDX-License-Identifier: MIT */
#include "contract/provenance.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/utf8.h"

#define REGISTRY_PREFIX "docker://"
#define DEFAULT_REGISTRY "docker.io"
#define OLD_DEFAULT_REGISTRY "index.docker.io"
#define DEFAULT_OWNER "library/"
#define DEFAULT_TAG ":latest"

/* The parts of a name such as "ghcr.io/owner/name:tag@sha256:...". The pointers point into the text
 * that was split. */
struct image_name {
	const char *registry; /* the registry; NULL: the name has no registry */
	int registry_len;
	const char *path; /* "owner/name" */
	int path_len;
	const char *version; /* ":tag", "@sha256:..." or both; "": the name has no version */
};

/* Returns true if the first part of a path is a registry, like "localhost:5000" in
 * "localhost:5000/name". */
static bool is_registry(const char *word, size_t len)
{
	bool has_capital = false;

	for (size_t i = 0; i < len; i++) {
		if (word[i] == '.' || word[i] == ':')
			return true;
		has_capital = has_capital || isupper((unsigned char)word[i]);
	}
	return has_capital || (len == strlen("localhost") && memcmp(word, "localhost", len) == 0);
}

static bool has_registry(const struct image_name *name, const char *registry)
{
	return name->registry_len == (int)strlen(registry) &&
	       memcmp(name->registry, registry, strlen(registry)) == 0;
}

static struct image_name split_image_name(const char *text)
{
	struct image_name name = {.path = text};
	const char *slash = strchr(text, '/'), *end = strchr(text, '@');

	if (slash && is_registry(text, (size_t)(slash - text))) {
		name.registry = text;
		name.registry_len = (int)(slash - text);
		name.path = slash + 1;
	}
	if (!end)
		end = text + strlen(text);
	for (const char *at = name.path; at < end; at++) {
		if (*at == ':')
			end = at;
	}
	name.path_len = (int)(end - name.path);
	name.version = end;
	return name;
}

/* Appends the repository of a name, with its registry: "docker.io/library/busybox". */
static int add_repository(struct buf *out, const struct image_name *name, struct error *err)
{
	bool is_default = !name->registry || has_registry(name, OLD_DEFAULT_REGISTRY) ||
			  has_registry(name, DEFAULT_REGISTRY);
	bool has_owner = memchr(name->path, '/', (size_t)name->path_len) != NULL;

	if (!is_default)
		return buf_printf(out, err, "%.*s/%.*s", name->registry_len, name->registry,
				  name->path_len, name->path);
	return buf_printf(out, err, DEFAULT_REGISTRY "/%s%.*s", has_owner ? "" : DEFAULT_OWNER,
			  name->path_len, name->path);
}

/* Adds imageRef and resolvedRef to `image`. Adds nothing if `ref` has control characters, because
 * `ref` could not be shown. */
static int put_image_refs(json_t *image, const char *ref, const char *digest, struct error *err)
{
	autobuf struct buf named = BUF_INIT(0), resolved = BUF_INIT(0);
	size_t prefix = strlen(REGISTRY_PREFIX);
	const char *shown = ref;

	if (text_has_control(ref))
		return 0;
	if (strncmp(ref, REGISTRY_PREFIX, prefix) == 0) {
		const struct image_name name = split_image_name(ref + prefix);

		if (add_repository(&named, &name, err) < 0 ||
		    buf_printf(&named, err, "%s", *name.version ? name.version : DEFAULT_TAG) < 0 ||
		    add_repository(&resolved, &name, err) < 0 ||
		    buf_printf(&resolved, err, "@%s", digest) < 0)
			return -1;
		shown = buf_string(&named);
	} else if (buf_printf(&resolved, err, "%s@%s", ref, digest) < 0) {
		return -1;
	}
	if (json_put_string(image, "imageRef", shown, err) < 0)
		return -1;
	return json_put_string(image, "resolvedRef", buf_string(&resolved), err);
}

json_t *provenance_new(const char *ref, const char *digest, struct error *err)
{
	json_auto_t *image = json_object();

	if (put_image_refs(image, ref, digest, err) < 0 ||
	    json_put_string(image, "imageDigest", digest, err) < 0)
		return NULL;
	return steal_ptr(&image);
}
