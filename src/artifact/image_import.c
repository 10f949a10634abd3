/* SPDX-License-Identifier: MIT */
/*
 * The command image-import makes a disk from an image of the OCI or of Docker. The tool skopeo
 * fetches the image, as the user who runs this command. The layers are put together in memory.
 * Owners, modes and attributes are set only in the finished file system, so this program needs no
 * right to change owners on the host.
 *
 * An image is identified by the digest of its manifest, which names the stored layers. If the cache
 * has the same image under another name, the new entry is a hard link to that image's file. If the
 * cache has it under this name, nothing is done. The digest of each layer is computed while the
 * layer is unpacked, and must be the digest in the image's configuration.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "artifact/digest.h"
#include "artifact/image.h"
#include "artifact/layer.h"
#include "artifact/oci_image.h"
#include "artifact/oci_source.h"
#include "artifact/progress.h"
#include "artifact/reader.h"
#include "artifact/rootfs.h"
#include "artifact/tool.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"
#include "store/cache.h"

#define KIND "oci"
#define MIB (UINT64_C(1) << 20)
/* The largest size of a record in bytes. Programs that read the cache accept larger records. */
#define RECORD_BYTES 60000
#define FIXED_TIME 1577836800
/* The number of bytes that are added to the size of the contents. These bytes are space for the
 * tables of the file system, and for the guest. */
#define FREE_BYTES (UINT64_C(1) << 30)
#define DEFAULT_MAX (UINT64_C(4) << 30)
#define SIZE_MIN_MIB 128
#define SIZE_MAX_MIB (UINT64_C(16) << 20)
#define JOURNAL_MIB 64
#define JOURNAL_SMALL_MIB 8
#define BYTES_PER_INODE 16384
#define INODE_BYTES 256

struct import {
	const char *name; /* the name of the entry in the cache */
	uint64_t size;	  /* the size of the disk in bytes; 0: the default */
	struct oci_source source;
	struct place place;
};

static int take_size(const char *text, uint64_t *out, struct error *err)
{
	char *end = NULL;
	unsigned long long mib;

	*out = 0;
	if (!text)
		return 0;
	errno = 0;
	mib = strtoull(text, &end, 10);
	if (errno || *end || !*text || *text == '-' || mib < SIZE_MIN_MIB || mib > SIZE_MAX_MIB)
		return error_set(err, ERR_INVALID,
				 "--size must be %d to %llu MiB, and is \"%.40s\"", SIZE_MIN_MIB,
				 (unsigned long long)SIZE_MAX_MIB, text);
	*out = mib * MIB;
	return 0;
}

/*
 * Computes the digest of everything that decides the bytes of the disk. In earlier versions, the
 * recipe began with "import 1" and contained only the digest of the configuration, and layers were
 * not compared with the configuration. So an entry with such a recipe does not count as this image.
 */
static int import_recipe(const struct import *import, const char *manifest_sha256,
			 char out[DIGEST_TEXT], struct error *err)
{
	autobuf struct buf text = BUF_INIT(0);

	if (buf_printf(&text, err, "import 2 %s %" PRIu64, manifest_sha256, import->size) < 0)
		return -1;
	return digest_bytes(buf_bytes(&text), text.len, out, err);
}

/* --- the disk -------------------------------------------------------------------------------- */

static uint64_t inodes_for(uint64_t size, uint64_t files)
{
	uint64_t usual = size / BYTES_PER_INODE, needed = files + files / 4 + 4096;

	return needed > usual ? needed : usual;
}

/* The size and the number of inodes of the disk that a reader asks for. */
struct shape {
	uint64_t size, inodes;
};

static uint64_t max_bytes(const struct import *import)
{
	return import->size ? import->size : DEFAULT_MAX;
}

/* Returns how many bytes skopeo may store. The image's bytes are counted twice, because skopeo
 * first unpacks an archive, and then stores its layers. */
static uint64_t fetch_room(const struct import *import)
{
	uint64_t unpacked = rootfs_most_unpacked(max_bytes(import));
	uint64_t most = limit_get(LIMIT_IMAGE_FETCH_BYTES);

	return unpacked > most / 2 ? most : 2 * unpacked;
}

static unsigned journal_for(uint64_t size)
{
	return size < FREE_BYTES ? JOURNAL_SMALL_MIB : JOURNAL_MIB;
}

static int choose_shape(const struct import *import, const struct rootfs *fs, struct shape *out,
			struct error *err)
{
	uint64_t size = import->size, inodes, needed;

	if (!size) {
		size = (rootfs_bytes(fs) + FREE_BYTES + MIB - 1) & ~(MIB - 1);
		size = size > DEFAULT_MAX ? DEFAULT_MAX : size;
	}
	inodes = inodes_for(size, rootfs_count(fs));
	/* `needed` is the sum of the bytes for the contents and for the tables of the file
	 * system. */
	needed = rootfs_bytes(fs) + rootfs_bytes(fs) / 64 + inodes * INODE_BYTES +
		 journal_for(size) * MIB + size / 256 + 4 * MIB;
	if (needed > size) {
		error_set(
			err, ERR_INVALID,
			"the image does not fit: it needs a disk of %llu MiB, but the disk would have %llu MiB",
			(unsigned long long)((needed + needed / 16) / MIB + 1),
			(unsigned long long)(size / MIB));
		return error_reason(err, REASON_IMAGE_TOO_SMALL, "");
	}
	*out = (struct shape){size, inodes};
	return 0;
}

/* Returns true if a later layer has the same bytes as layer i. Programs that build images make such
 * layers in steps that change nothing. */
static bool comes_again(const struct oci_image *image, size_t i)
{
	for (size_t j = i + 1; j < image->layer_count; j++)
		if (strcmp(image->layers[i].sha256, image->layers[j].sha256) == 0)
			return true;
	return false;
}

static int apply_layer(const struct oci_image *image, size_t i, struct rootfs *fs, uint64_t done,
		       struct error *err)
{
	const struct oci_layer *layer = &image->layers[i];
	char name[sizeof(OCI_FETCHED) + DIGEST_TEXT], diff_id[DIGEST_TEXT];
	autoclose int fd = -1;

	snprintf(name, sizeof(name), OCI_FETCHED "/%s", layer->sha256);
	fd = open(name, O_RDONLY | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return error_errno(err, errno, "%s", name);
	if (layer_apply(fs, fd, done, image->bytes, diff_id, err) < 0)
		return -1;
	if (strcmp(diff_id, layer->diff_id) != 0)
		return error_set(
			err, ERR_INVALID,
			"the contents of the layer have the digest sha256:%s, but the image's configuration names sha256:%s: fetch the image again, or ask its maker",
			diff_id, layer->diff_id);
	/* Removes the layer's file, unless a later layer needs it. */
	if (!comes_again(image, i) && unlink(name) < 0)
		return error_errno(err, errno, "%s", name);
	return 0;
}

static int apply_layers(const struct oci_image *image, struct rootfs *fs, struct error *err)
{
	/* the path, in the guest, of the file from which the agent reads the default user */
	static const char user_file[] = "/etc/microagent/user";
	const char *cwd = json_text(image->run, "cwd", NULL);
	const char *user = json_text(image->run, "user", NULL);
	autobuf struct buf line = BUF_INIT(0);
	uint64_t done = 0;

	progress_stage("unpacking the layers");
	for (size_t i = 0; i < image->layer_count; i++) {
		if (apply_layer(image, i, fs, done, err) < 0)
			return error_prefix(err, "layer %zu of %zu", i + 1, image->layer_count);
		done += image->layers[i].bytes;
	}
	/* The files that this program itself adds are the uppermost layer. */
	rootfs_next_layer(fs);
	if (cwd && rootfs_make_dir(fs, cwd, err) < 0)
		return -1;
	if (!user)
		return rootfs_hide(fs, user_file, err);
	if (buf_printf(&line, err, "%s\n", user) < 0)
		return -1;
	return rootfs_add(fs, user_file, S_IFREG | 0644, 0, buf_string(&line), err);
}

/* --- the record ------------------------------------------------------------------------------ */

/* Returns the members of the record that only imported images have. */
static json_t *new_extra(const struct import *import, const struct oci_image *image,
			 struct error *err)
{
	json_auto_t *extra = json_deep_copy(image->run);
	json_auto_t *source = json_object();
	char digest[DIGEST_TEXT + 8];
	autofree char *text = NULL;

	snprintf(digest, sizeof(digest), "sha256:%s", image->sha256);
	if (!extra || json_put_string(source, "ref", import->source.ref, err) < 0 ||
	    json_put_string(source, "digest", digest, err) < 0 ||
	    json_put(extra, "source", json_incref(source), err) < 0)
		return NULL;
	text = json_line(extra, err);
	if (text && strlen(text) > RECORD_BYTES) {
		error_set(
			err, ERR_INVALID,
			"the image's command and environment are longer than %d bytes together, the most that microagent records: use an image whose command and environment are shorter",
			RECORD_BYTES);
		return NULL;
	}
	return text ? json_incref(extra) : NULL;
}

/* --- unpacking in a reader ------------------------------------------------------------------- */

struct unpacking {
	const struct import *import;
	const struct oci_image *image;
	struct ext4_spec ext4;
};

static int unpack_import(void *data, struct buf *out, struct error *err)
{
	struct unpacking *u = data;
	autoclose int contents = place_subdir(&u->import->place, "data", err);
	auto_rootfs struct rootfs *fs = NULL;
	const struct rootfs_bounds bounds = {.bytes = max_bytes(u->import),
					     .count = limit_get(LIMIT_IMAGE_FILES),
					     .text = limit_get(LIMIT_IMAGE_TEXT_BYTES)};
	struct shape shape;

	(void)out;
	if (contents < 0)
		return -1;
	fs = rootfs_new(contents, FIXED_TIME, &bounds, err);
	if (!fs || apply_layers(u->image, fs, err) < 0 ||
	    choose_shape(u->import, fs, &shape, err) < 0 ||
	    reader_ask(&shape, sizeof(shape), err) < 0)
		return -1;
	return ext4_write(&u->ext4, fs, IMAGE_FILE, err);
}

/* Makes the disk with the size that the reader asks for. A hostile image may have taken over the
 * reader, so the size is checked first. */
static int make_disk(void *data, const void *asked, size_t len, struct error *err)
{
	struct unpacking *u = data;
	const struct import *import = u->import;
	autofree char *file = place_scratch(&import->place, IMAGE_FILE, err);
	struct shape shape;

	if (!file)
		return -1;
	if (len != sizeof(shape))
		return error_set(
			err, ERR_INTERNAL,
			"the process that reads the image asked for a disk of a wrong size: this is a bug, or the image is made to attack its reader; it is not imported");
	memcpy(&shape, asked, sizeof(shape));
	if (shape.size > max_bytes(import) || (import->size && shape.size != import->size) ||
	    shape.inodes > inodes_for(shape.size, limit_get(LIMIT_IMAGE_FILES)))
		return error_set(
			err, ERR_INTERNAL,
			"the process that reads the image asked for a disk of a wrong size: this is a bug, or the image is made to attack its reader; it is not imported");
	u->ext4.size = shape.size;
	u->ext4.inodes = shape.inodes;
	u->ext4.journal_mib = journal_for(shape.size);
	return ext4_make_empty(&u->ext4, file, err);
}

static int unpack_and_publish(const struct import *import, const struct oci_image *image,
			      struct error *err)
{
	json_auto_t *extra = new_extra(import, image, err);
	struct image_spec spec = {.name = import->name,
				  .kind = KIND,
				  .extra = extra,
				  .architecture = import->source.architecture};
	struct unpacking unpacking = {.import = import, .image = image};
	const struct reader_work work = {.read = unpack_import,
					 .serve = make_disk,
					 .data = &unpacking,
					 .from = -1,
					 .dir = import->place.scratch_fd};
	autofree char *file = place_scratch(&import->place, IMAGE_FILE, err);
	const char *sha256 = image->config_sha256;
	char uuid[37], recipe[DIGEST_TEXT];

	snprintf(uuid, sizeof(uuid), "%.8s-%.4s-4%.3s-8%.3s-%.12s", sha256, sha256 + 8, sha256 + 13,
		 sha256 + 17, sha256 + 20);
	unpacking.ext4 = (struct ext4_spec){.label = "root", .uuid = uuid, .time = FIXED_TIME};
	if (!extra || import_recipe(import, image->sha256, recipe, err) < 0 || !file ||
	    reader_run(&work, NULL, err) < 0 || ext4_fsck(&unpacking.ext4, file, err) < 0)
		return -1;
	spec.ext4 = unpacking.ext4;
	return image_enter(&import->place, &spec, recipe, err);
}

static int fetch_and_unpack(const struct import *import, const struct oci_manifests *named,
			    struct error *err)
{
	auto_oci_image struct oci_image image = {0};
	autofree char *fetched = place_scratch(&import->place, OCI_FETCHED, err);
	const char *ref = import->source.ref;

	if (!fetched || oci_source_fetch(&import->source, import->place.scratch, err) < 0)
		return -1;
	if (oci_image_read(fetched, import->source.architecture, &image, err) < 0)
		return error_prefix(err, "%s", ref);
	if (oci_source_check_manifest(&import->source, image.sha256, err) < 0)
		return -1;
	if (!oci_manifests_have(named, image.sha256))
		return error_set(err, ERR_UNAVAILABLE,
				 "%s has changed while it was fetched: try again", ref);
	return unpack_and_publish(import, &image, err) < 0 ? error_prefix(err, "%s", ref) : 0;
}

/* Prints that the image "is imported". `before` is the entry that had this name before the import.
 * If this entry was another image, the answer says that it was replaced. */
static int answer_import(const struct artifact_options *opts, const struct import *import,
			 const struct cache_image *before, struct error *err)
{
	autobuf struct buf done = BUF_INIT(0);
	struct cache_image now = {0};
	bool other;

	if (cache_image_find(import->name, ARCHITECTURE_COUNT, &now, err) < 0)
		return -1;
	other = *before->sha256 && strcmp(before->sha256, now.sha256) != 0;
	cache_image_free(&now);
	if (buf_printf(&done, err, "is imported") < 0)
		return -1;
	if (other && buf_printf(&done, err, "; it replaces another of that name, from %s (%.12s)",
				before->source ? before->source : "elsewhere", before->sha256) < 0)
		return -1;
	return image_answer(opts, import->name, buf_string(&done), err);
}

/* If the cache has the same image under another name, makes the new entry by a hard link. Returns 1
 * if the entry was made, 0 if the cache does not have the image, or -1 with err set. `named` has
 * the manifests that identify the image. */
static int link_twin(const struct import *import, const struct oci_manifests *named,
		     struct error *err)
{
	const struct image_spec spec = {.name = import->name,
					.architecture = import->source.architecture};
	char recipe[DIGEST_TEXT];

	for (size_t i = 0; i < named->count; i++) {
		if (import_recipe(import, named->sha256[i], recipe, err) < 0)
			return -1;
		if (image_has_twin(&spec, recipe))
			return image_link_twin(&import->place, &spec, recipe, import->source.ref,
					       err) < 0
				       ? -1
				       : 1;
	}
	return 0;
}

/* Returns 1 if the entry with this name was made from one of the manifests in `named`, 0 if not, or
 * -1 with err set. */
static int is_imported(const struct import *import, const struct oci_manifests *named,
		       struct error *err)
{
	char recipe[DIGEST_TEXT];

	for (size_t i = 0; i < named->count; i++) {
		if (import_recipe(import, named->sha256[i], recipe, err) < 0)
			return -1;
		if (image_is_built(import->name, import->source.architecture, recipe))
			return 1;
	}
	return 0;
}

static int import_new(const struct artifact_options *opts, struct import *import, struct error *err)
{
	struct oci_manifests named = {0};
	struct cache_image before = {0};
	int result;

	if (oci_source_prepare(&import->source, import->place.scratch_fd, import->place.scratch,
			       err) < 0 ||
	    oci_source_look(&import->source, import->place.scratch, &named, err) < 0)
		return -1;
	result = opts->rebuild ? 0 : is_imported(import, &named, err);
	if (result < 0)
		return -1;
	if (result > 0)
		return image_answer(opts, import->name, "is there already", err);
	(void)cache_image_find(import->name, ARCHITECTURE_COUNT, &before, NULL);
	result = opts->rebuild ? 0 : link_twin(import, &named, err);
	if (result == 0)
		result = fetch_and_unpack(import, &named, err);
	if (result >= 0)
		result = answer_import(opts, import, &before, err);
	cache_image_free(&before);
	return result;
}

int artifact_image_import(const struct artifact_options *opts, struct error *err)
{
	static const char *const tools[] = {"skopeo", "mke2fs", "e2fsck", NULL};
	struct import import = {0};
	autobuf struct buf what = BUF_INIT(0);
	enum architecture architecture;
	autofree char *name = NULL;
	int result;

	if (opts->word_count != 2)
		return error_set(err, ERR_INVALID,
				 "give a name for the new image, and the image to import");
	if (artifact_architecture(opts, architecture_of_host(), &architecture, err) < 0 ||
	    cache_image_check_name(opts->words[0], architecture, err) < 0 ||
	    !(name = cache_entry_name(opts->words[0], architecture, err)) ||
	    take_size(opts->size, &import.size, err) < 0 ||
	    buf_printf(&what, err, "image-%s", name) < 0 ||
	    oci_source_find(opts->words[1], fetch_room(&import), &import.source, err) < 0)
		return -1;
	import.name = name;
	import.source.unconfined = opts->unconfined;
	import.source.architecture = architecture;
	result = tool_require("image import", tools, err);
	if (result == 0)
		result = place_open(CACHE_IMAGES, buf_string(&what), &import.place, err);
	if (result == 0)
		result = import_new(opts, &import, err);
	place_close(&import.place);
	oci_source_free(&import.source);
	return result;
}
