/* SPDX-License-Identifier: MIT */
#include "artifact/oci_image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "base/utf8.h"

#define DOCUMENT_BYTES (4u << 20)
#define LAYERS_MAX 1024
/* The largest lengths in bytes of the user and of the working directory in a config
 * (contract/config_workload.c). An image with longer values is refused, because no workspace could
 * be made from it. */
#define USER_BYTES 255
#define CWD_BYTES 4095

void oci_image_free(struct oci_image *image)
{
	free(image->layers);
	json_decref(image->run);
	*image = (struct oci_image){0};
}

/* Parses a digest of the form "sha256:<64 digits>". */
static int parse_digest(const char *text, const char *what, char out[DIGEST_TEXT],
			struct error *err)
{
	if (strncmp(text, "sha256:", 7) != 0 || strlen(text + 7) != DIGEST_TEXT - 1 ||
	    strspn(text + 7, "0123456789abcdef") != DIGEST_TEXT - 1)
		return error_set(
			err, ERR_UNSUPPORTED,
			"%s must be a SHA-256 digest, \"sha256:\" and 64 digits of 0-9 and a-f, and is \"%.100s\"",
			what, text);
	memcpy(out, text + 7, DIGEST_TEXT);
	return 0;
}

/* The media types of manifests, configurations and layers of files:
 * https://github.com/opencontainers/image-spec/blob/main/media-types.md and
 * https://distribution.github.io/distribution/spec/manifest-v2-2/. The bytes of a layer decide
 * whether it is compressed, and not its media type, because layers in Docker's archives are often
 * not compressed although their media types say so. */
static const char *const manifest_types[] = {
	"application/vnd.oci.image.manifest.v1+json",
	"application/vnd.docker.distribution.manifest.v2+json",
	NULL,
};
static const char *const config_types[] = {
	"application/vnd.oci.image.config.v1+json",
	"application/vnd.docker.container.image.v1+json",
	NULL,
};
static const char *const layer_types[] = {
	"application/vnd.oci.image.layer.v1.tar",
	"application/vnd.oci.image.layer.v1.tar+gzip",
	"application/vnd.oci.image.layer.v1.tar+zstd",
	"application/vnd.oci.image.layer.nondistributable.v1.tar",
	"application/vnd.oci.image.layer.nondistributable.v1.tar+gzip",
	"application/vnd.oci.image.layer.nondistributable.v1.tar+zstd",
	"application/vnd.docker.image.rootfs.diff.tar",
	"application/vnd.docker.image.rootfs.diff.tar.gzip",
	"application/vnd.docker.image.rootfs.diff.tar.zstd",
	"application/vnd.docker.image.rootfs.foreign.diff.tar",
	"application/vnd.docker.image.rootfs.foreign.diff.tar.gzip",
	NULL,
};

/* Checks the media type of an object. A missing media type is allowed, because the specification of
 * the OCI does not demand it in a manifest. */
static int check_media_type(const json_t *object, const char *what, const char *const *types,
			    struct error *err)
{
	const char *type = NULL;

	if (json_get_string(object, what, "mediaType", JSON_OPTIONAL, &type, err) < 0)
		return -1;
	for (; type && *types; types++)
		if (strcmp(type, *types) == 0)
			return 0;
	if (!type)
		return 0;
	return error_set(
		err, ERR_UNSUPPORTED,
		"%s%smediaType is \"%.100s\", which is not the type of an image: name another image",
		what, *what ? "." : "", type);
}

static int take_descriptor(const json_t *object, const char *what, const char *const *types,
			   char sha256[DIGEST_TEXT], struct error *err)
{
	const char *digest = NULL;
	char named[48];

	snprintf(named, sizeof(named), "%s.digest", what);
	if (json_get_string(object, what, "digest", JSON_REQUIRED, &digest, err) < 0 ||
	    check_media_type(object, what, types, err) < 0)
		return -1;
	return parse_digest(digest, named, sha256, err);
}

/* Checks that the size of a stored file is the size in its descriptor. This check is needed because
 * skopeo compares the digests of all files, but the size only of the configuration. */
static int check_stored_size(const json_t *descriptor, const char *what, uint64_t actual,
			     struct error *err)
{
	int64_t said = (int64_t)actual;

	if (json_get_int(descriptor, what, "size", JSON_OPTIONAL, 0, INT64_MAX, &said, err) < 0)
		return -1;
	return (uint64_t)said == actual
		       ? 0
		       : error_set(
				 err, ERR_INVALID,
				 "%s has %llu bytes, but its manifest says that its size is %lld: fetch or make the image again",
				 what, (unsigned long long)actual, (long long)said);
}

/* Reads a JSON document and computes its digest. Sets *bytes to the length of the document in
 * bytes; `bytes` may be NULL. */
static json_t *read_oci_document(int dir, const char *name, char sha256[DIGEST_TEXT],
				 uint64_t *bytes, struct error *err)
{
	autobuf struct buf text = BUF_INIT(DOCUMENT_BYTES);
	json_auto_t *document = NULL;

	if (path_read_file_at(dir, name, &text, err) < 0 ||
	    digest_bytes(buf_bytes(&text), text.len, sha256, err) < 0)
		return NULL;
	document = json_load_strict(buf_bytes(&text), text.len, err);
	if (document && !json_is_object(document)) {
		error_set(
			err, ERR_INVALID,
			"the document is not a JSON object, so the image is damaged: fetch or make the image again");
		return NULL;
	}
	if (document && bytes)
		*bytes = text.len;
	return document ? json_incref(document) : NULL;
}

/* Returns a member of the object. Returns NULL if the member is missing, or if its value is null,
 * because programs in Go write null for a missing member. */
static json_t *member(const json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);

	return json_is_null(value) ? NULL : value;
}

static bool has_no_nul(const json_t *value)
{
	return json_is_string(value) &&
	       strlen(json_string_value(value)) == json_string_length(value);
}

static int take_words(const json_t *config, const char *key, json_t *run, const char *as,
		      struct error *err)
{
	json_t *words = member(config, key);

	if (!json_array_size(words))
		return words && !json_is_array(words)
			       ? error_set(err, ERR_INVALID,
					   "the image's config.%s must be an array", key)
			       : 0;
	for (size_t i = 0; i < json_array_size(words); i++)
		if (!has_no_nul(json_array_get(words, i)))
			return error_set(err, ERR_INVALID,
					 "the image's config.%s[%zu] must be a string without NUL",
					 key, i);
	return json_put(run, as, json_incref(words), err);
}

/* Converts the environment from ["A=b"] to {"A":"b"}. If several entries have the same name, the
 * last one counts. */
static int take_env(const json_t *config, json_t *run, struct error *err)
{
	json_auto_t *env = json_object();
	json_t *list = member(config, "Env");

	if (list && !json_is_array(list))
		return error_set(err, ERR_INVALID, "the image's config.Env must be an array");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *item = json_array_get(list, i);
		const char *text = json_string_value(item);
		const char *value = text ? strchr(text, '=') : NULL;

		if (!has_no_nul(item) || !value || value == text)
			return error_set(err, ERR_INVALID,
					 "the image's config.Env[%zu] must be NAME=VALUE", i);
		autofree char *name = strndup(text, (size_t)(value - text));
		if (!name)
			return error_errno(err, ENOMEM, "image");
		if (json_put_string(env, name, value + 1, err) < 0)
			return -1;
	}
	return json_object_size(env) ? json_put(run, "env", json_incref(env), err) : 0;
}

static int take_config_text(const json_t *config, const char *key, json_t *run, const char *as,
			    size_t most, struct error *err)
{
	const json_t *value = member(config, key);
	const char *text = json_string_value(value);

	if (!value || (text && !*text))
		return 0;
	if (!has_no_nul(value) || text_has_control(text))
		return error_set(err, ERR_INVALID,
				 "the image's config.%s must be text without control characters",
				 key);
	if (strlen(text) > most)
		return error_set(err, ERR_INVALID,
				 "the image's config.%s must be at most %zu bytes long", key, most);
	return json_put_string(run, as, text, err);
}

static int take_run(const json_t *document, struct oci_image *image, struct error *err)
{
	const json_t *config = member(document, "config");
	const char *text;

	image->run = json_object();
	if (!image->run)
		return error_errno(err, ENOMEM, "image");
	if (config && !json_is_object(config))
		return error_set(err, ERR_INVALID, "the image's config must be an object");
	if (take_words(config, "Entrypoint", image->run, "entrypoint", err) < 0 ||
	    take_words(config, "Cmd", image->run, "cmd", err) < 0 ||
	    take_env(config, image->run, err) < 0 ||
	    take_config_text(config, "User", image->run, "user", USER_BYTES, err) < 0 ||
	    take_config_text(config, "WorkingDir", image->run, "cwd", CWD_BYTES, err) < 0)
		return -1;
	text = json_text(image->run, "cwd", NULL);
	if (text && *text != '/')
		return error_set(err, ERR_INVALID,
				 "the image's config.WorkingDir must be an absolute path");
	return 0;
}

static int check_platform(const json_t *document, enum architecture wanted, struct error *err)
{
	const char *here = architecture_name(wanted);
	const char *architecture = NULL, *os = "linux";

	/* The member "architecture" is required in a configuration:
	 * https://github.com/opencontainers/image-spec/blob/main/config.md */
	if (json_get_string(document, "", "architecture", JSON_REQUIRED, &architecture, err) < 0 ||
	    json_get_string(document, "", "os", JSON_OPTIONAL, &os, err) < 0)
		return error_prefix(err, "configuration");
	if (strcmp(os, "linux") == 0 && strcmp(architecture, here) == 0)
		return 0;
	return error_set(err, ERR_UNSUPPORTED,
			 "the image is for %.32s on %.32s, not for linux on %s: name another image",
			 os, architecture, here);
}

static int take_layers(int dir, const json_t *layers, struct oci_image *image, struct error *err)
{
	size_t count = json_array_size(layers);
	struct stat st;

	if (count > LAYERS_MAX)
		return error_set(
			err, ERR_INVALID,
			"the image has more than %d layers, the most that microagent takes: make one with fewer",
			LAYERS_MAX);
	image->layers = calloc(count + 1, sizeof(*image->layers));
	if (!image->layers)
		return error_errno(err, ENOMEM, "image");
	image->layer_count = count;
	for (size_t i = 0; i < count; i++) {
		const json_t *descriptor = json_array_get(layers, i);
		struct oci_layer *layer = &image->layers[i];
		char what[48];

		snprintf(what, sizeof(what), "layers[%zu]", i);
		if (take_descriptor(descriptor, what, layer_types, layer->sha256, err) < 0)
			return -1;
		if (fstatat(dir, layer->sha256, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return error_errno(err, errno, "%s: %s", what, layer->sha256);
		layer->bytes = (uint64_t)st.st_size;
		image->bytes += layer->bytes;
		if (S_ISREG(st.st_mode) &&
		    check_stored_size(descriptor, what, layer->bytes, err) < 0)
			return -1;
	}
	return 0;
}

/* Copies the digests of the layers' unpacked contents from the configuration. These digests
 * identify the layers, so two images with the same configuration have the same contents:
 * https://github.com/opencontainers/image-spec/blob/main/config.md */
static int take_diff_ids(const json_t *config, struct oci_image *image, struct error *err)
{
	const char *type = "layers";
	const json_t *list;
	json_t *rootfs = NULL;

	if (json_get_object(config, "", "rootfs", JSON_REQUIRED, &rootfs, err) < 0 ||
	    json_get_string(rootfs, "rootfs", "type", JSON_OPTIONAL, &type, err) < 0)
		return -1;
	list = member(rootfs, "diff_ids");
	if (list && !json_is_array(list))
		return error_set(err, ERR_INVALID, "the image's rootfs.diff_ids must be an array");
	if (strcmp(type, "layers") != 0)
		return error_set(err, ERR_UNSUPPORTED,
				 "the image's rootfs.type must be \"layers\", and is \"%.32s\"",
				 type);
	if (json_array_size(list) != image->layer_count)
		return error_set(
			err, ERR_INVALID,
			"rootfs.diff_ids names %zu layers, but the manifest has %zu: the image is damaged; fetch or make it again",
			json_array_size(list), image->layer_count);
	for (size_t i = 0; i < image->layer_count; i++) {
		const char *text = json_string_value(json_array_get(list, i));
		char what[48];

		snprintf(what, sizeof(what), "rootfs.diff_ids[%zu]", i);
		if (parse_digest(text ? text : "", what, image->layers[i].diff_id, err) < 0)
			return -1;
	}
	return 0;
}

static int take_manifest(int dir, const json_t *manifest, struct oci_image *image,
			 json_t **config_descriptor, struct error *err)
{
	json_t *layers = NULL;

	if (json_get_object(manifest, "", "config", JSON_REQUIRED, config_descriptor, err) < 0 ||
	    json_get_array(manifest, "", "layers", JSON_REQUIRED, &layers, err) < 0)
		return -1;
	/* A program could read a manifest with the member "manifests" as an index, and so see
	 * another image (CVE-2021-41190). */
	if (json_object_get(manifest, "manifests"))
		return error_set(
			err, ERR_INVALID,
			"the document has both \"manifests\" and \"layers\", so programs could read it as different images: make the image again");
	if (check_media_type(manifest, "", manifest_types, err) < 0 ||
	    take_descriptor(*config_descriptor, "config", config_types, image->config_sha256, err) <
		    0)
		return -1;
	return take_layers(dir, layers, image, err);
}

static int read_image(int dir, enum architecture architecture, struct oci_image *image,
		      struct error *err)
{
	json_auto_t *manifest = read_oci_document(dir, "manifest.json", image->sha256, NULL, err);
	json_auto_t *config = NULL;
	json_t *about = NULL;
	char actual[DIGEST_TEXT];
	uint64_t bytes = 0;

	if (!manifest || take_manifest(dir, manifest, image, &about, err) < 0)
		return error_prefix(err, "manifest");
	config = read_oci_document(dir, image->config_sha256, actual, &bytes, err);
	if (!config)
		return error_prefix(err, "configuration");
	if (strcmp(actual, image->config_sha256) != 0)
		return error_set(
			err, ERR_INVALID,
			"the image is damaged, because its configuration has the digest sha256:%s by name, but sha256:%s by its contents: fetch or make the image again",
			image->config_sha256, actual);
	if (check_stored_size(about, "configuration", bytes, err) < 0 ||
	    check_platform(config, architecture, err) < 0)
		return -1;
	return take_diff_ids(config, image, err) < 0 || take_run(config, image, err) < 0
		       ? error_prefix(err, "configuration")
		       : 0;
}

int oci_image_read(const char *dir, enum architecture architecture, struct oci_image *out,
		   struct error *err)
{
	autoclose int fd = path_open_dir(dir, err);
	struct oci_image image = {0};

	if (fd < 0)
		return -1;
	if (read_image(fd, architecture, &image, err) < 0) {
		oci_image_free(&image);
		return -1;
	}
	*out = image;
	return 0;
}
