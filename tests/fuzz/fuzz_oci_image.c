/* SPDX-License-Identifier: MIT */
/*
 * Manifest and configuration of an image as a hostile registry may write them, in the directory
 * that skopeo leaves. What is read from them is whole and within its bounds, or an error says why
 * not. The input is the manifest, a line "---", and the configuration. In the manifest CONFIG
 * stands for the digest of the configuration, and LAYER for the digest of a layer that exists;
 * otherwise few inputs would get far. In the configuration LAYER stands for that digest too. The
 * manifest is also read as an index, for its platforms and manifests.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "artifact/oci_complaint.h"
#include "artifact/oci_image.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "fuzz_directory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LAYER_BYTES 7
static const char layer[] = "1111111111111111111111111111111111111111111111111111111111111111";
static void append(struct buf *out, const void *data, size_t len)
{
	if (buf_append(out, data, len, NULL) < 0)
		abort();
}

static void put(int dir, const char *name, const struct buf *text)
{
	if (path_replace_file_at(dir, name, buf_bytes(text), text->len, 0600, PATH_NO_SYNC, NULL) <
	    0)
		abort();
}

/* Returns the text with "CONFIG" and "LAYER" replaced. config is "" in the configuration itself. */
static void fill_in(struct buf *out, const uint8_t *data, size_t size, const char *config)
{
	for (size_t i = 0; i < size; i++) {
		if (size - i >= 6 && memcmp(data + i, "CONFIG", 6) == 0) {
			append(out, config, strlen(config));
			i += 5;
		} else if (size - i >= 5 && memcmp(data + i, "LAYER", 5) == 0) {
			append(out, layer, 64);
			i += 4;
		} else {
			append(out, data + i, 1);
		}
	}
}

static void check_text(const json_t *run, const char *key)
{
	const json_t *value = json_object_get(run, key);

	if (value && (!json_is_string(value) || !*json_string_value(value) ||
		      strlen(json_string_value(value)) != json_string_length(value) ||
		      strpbrk(json_string_value(value), "\r\n")))
		abort();
}

static void check_words(const json_t *words)
{
	const json_t *word;
	size_t i;

	if (words && json_array_size(words) == 0)
		abort();
	json_array_foreach(words, i, word) if (!json_is_string(word) ||
					       strlen(json_string_value(word)) !=
						       json_string_length(word)) abort();
}

static void check(const struct oci_image *image)
{
	const char *name;
	json_t *value;

	if (image->layer_count > 1024 || image->bytes != LAYER_BYTES * image->layer_count ||
	    !json_is_object(image->run))
		abort();
	for (size_t i = 0; i < image->layer_count; i++)
		if (strcmp(image->layers[i].sha256, layer) != 0 ||
		    strspn(image->layers[i].diff_id, "0123456789abcdef") != DIGEST_TEXT - 1)
			abort();
	check_words(json_object_get(image->run, "entrypoint"));
	check_words(json_object_get(image->run, "cmd"));
	check_text(image->run, "user");
	check_text(image->run, "cwd");
	json_object_foreach(json_object_get(image->run, "env"), name,
			    value) if (!*name || strchr(name, '=') || !json_is_string(value))
		abort();
}

/* Reads what a source has under an image's name, before anything is fetched. */
static void check_named(const struct buf *text)
{
	struct oci_manifests list = {.count = 77};
	struct error err = {0};

	if (oci_manifests_read(text, ARCHITECTURE_AMD64, &list, &err) < 0) {
		if (!err.msg[0] || list.count != 77)
			abort();
		return;
	}
	if (list.count > OCI_MANIFESTS_MAX)
		abort();
	for (size_t i = 0; i < list.count; i++)
		if (!oci_manifests_have(&list, list.sha256[i]))
			abort();
}

static void check_index(const struct buf *text)
{
	const struct oci_source source = {.ref = (char *)(uintptr_t) "docker://x",
					  .architecture = ARCHITECTURE_ARM64};
	struct error err = {0};

	if (oci_complain_of_platform(&source, text, &err) != (err.code == ERR_UNSUPPORTED))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char cut[] = "\n---\n";
	const uint8_t *middle = memmem(data, size, cut, 5);
	size_t first = middle ? (size_t)(middle - data) : size;
	autobuf struct buf config = BUF_INIT(0), manifest = BUF_INIT(0);
	struct oci_image image = {.layer_count = 77};
	char sha256[DIGEST_TEXT];
	struct error err = {0};
	int dir = fuzz_directory();

	if (path_replace_file_at(dir, layer, "a layer", LAYER_BYTES, 0600, PATH_NO_SYNC, NULL) < 0)
		abort();
	if (middle)
		fill_in(&config, middle + 5, size - first - 5, "");
	if (digest_bytes(buf_bytes(&config), config.len, sha256, &err) < 0)
		abort();
	fill_in(&manifest, data, first, sha256);
	put(dir, "manifest.json", &manifest);
	check_index(&manifest);
	check_named(&manifest);
	put(dir, sha256, &config);
	if (oci_image_read(fuzz_base, ARCHITECTURE_AMD64, &image, &err) == 0) {
		check(&image);
		oci_image_free(&image);
	} else if (!err.msg[0] || image.layer_count != 77 || image.run) {
		abort();
	}
	path_remove_tree_at(dir, sha256, NULL);
	return 0;
}
