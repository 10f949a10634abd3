/* SPDX-License-Identifier: MIT */
/* Tests what an image says about itself: manifests and configurations, hostile ones too, and what
 * is accepted. */
#include "test_base.h"

#include "artifact/oci_image.h"
#include "artifact/oci_manifests.h"
#include "base/json.h"

#define LAYER "1111111111111111111111111111111111111111111111111111111111111111"
#define ABSENT "2222222222222222222222222222222222222222222222222222222222222222"
#define DIFF_ID "3333333333333333333333333333333333333333333333333333333333333333"
/* Configurations: of an image of one layer, and of one that names none. */
#define PLATFORM "\"architecture\":\"amd64\""
#define AMD64 PLATFORM ",\"rootfs\":{\"type\":\"layers\",\"diff_ids\":[\"sha256:" DIFF_ID "\"]}"

/* Stores config under its digest, or under the named one. */
static void put_config(const struct scratch *s, const char *config, char digest[DIGEST_TEXT])
{
	struct error err = {0};

	if (!*digest)
		assert_ok(digest_bytes(config, strlen(config), digest, &err));
	assert_ok(path_replace_file_at(s->fd, digest, config, strlen(config), 0600, PATH_NO_SYNC,
				       &err));
}

static int read_manifest(const struct scratch *s, const char *manifest, struct oci_image *image,
			 struct error *why)
{
	struct error err = {0};

	assert_ok(path_replace_file_at(s->fd, "manifest.json", manifest, strlen(manifest), 0600,
				       PATH_NO_SYNC, &err));
	assert_ok(path_replace_file_at(s->fd, LAYER, "a layer", 7, 0600, PATH_NO_SYNC, &err));
	return oci_image_read(s->path, ARCHITECTURE_AMD64, image, why);
}

/* Uses a good manifest, of one layer. */
static int read_config(void **state, const char *config, struct oci_image *image, struct error *err)
{
	char digest[DIGEST_TEXT] = "", manifest[512];

	put_config(*state, config, digest);
	snprintf(manifest, sizeof(manifest),
		 "{\"config\":{\"digest\":\"sha256:%s\"},\"layers\":[{\"digest\":\"sha256:" LAYER
		 "\"}]}",
		 digest);
	return read_manifest(*state, manifest, image, err);
}

static void refuses_config(void **state, const char *config, const char *said)
{
	struct oci_image image = {.layer_count = 77};
	struct error err = {0};

	assert_int_equal(read_config(state, config, &image, &err), -1);
	assert_int_equal(image.layer_count, 77);
	if (!strstr(err.msg, said))
		fail_msg("\"%s\" is not in \"%s\"", said, err.msg);
}

static void refuses_manifest(void **state, const char *manifest, const char *said)
{
	struct oci_image image = {.layer_count = 77};
	struct error err = {0};

	assert_int_equal(read_manifest(*state, manifest, &image, &err), -1);
	assert_int_equal(image.layer_count, 77);
	if (!strstr(err.msg, said))
		fail_msg("\"%s\" is not in \"%s\"", said, err.msg);
}

static const char *text_at(const struct oci_image *image, const char *key)
{
	return json_string_value(json_object_get(image->run, key));
}

static void what_runs_in_it_is_taken(void **state)
{
	struct oci_image image = {0};
	struct error err = {0};
	const json_t *env;

	assert_ok(read_config(
		state,
		"{" AMD64 ",\"os\":\"linux\",\"config\":{\"Entrypoint\":[\"sh\",\"-c\"],\"Cmd\":["
		"\"true\"],\"Env\":[\"A=b=c\",\"E=\",\"A=last\"],\"User\":\"1000:1000\","
		"\"WorkingDir\":\"/work\",\"Volumes\":{\"/x\":{}}}}",
		&image, &err));
	assert_int_equal(image.layer_count, 1);
	assert_int_equal(image.bytes, 7);
	assert_string_equal(image.layers[0].sha256, LAYER);
	assert_string_equal(image.layers[0].diff_id, DIFF_ID);
	assert_int_equal(json_array_size(json_object_get(image.run, "entrypoint")), 2);
	assert_int_equal(json_array_size(json_object_get(image.run, "cmd")), 1);
	assert_string_equal(text_at(&image, "user"), "1000:1000");
	assert_string_equal(text_at(&image, "cwd"), "/work");
	env = json_object_get(image.run, "env");
	assert_string_equal(json_string_value(json_object_get(env, "A")), "last");
	assert_string_equal(json_string_value(json_object_get(env, "E")), "");
	oci_image_free(&image);
}

static void what_is_null_or_empty_is_absent(void **state)
{
	struct oci_image image = {0};
	struct error err = {0};

	assert_ok(read_config(state,
			      "{" AMD64
			      ",\"config\":{\"Entrypoint\":null,\"Cmd\":[],\"Env\":null,\"User\":"
			      "\"\",\"WorkingDir\":null}}",
			      &image, &err));
	assert_int_equal(json_object_size(image.run), 0);
	oci_image_free(&image);
	assert_ok(read_config(state, "{" AMD64 ",\"config\":null}", &image, &err));
	oci_image_free(&image);
	assert_ok(read_config(state, "{" AMD64 "}", &image, &err));
	oci_image_free(&image);
}

static void a_configuration_of_other_types_is_refused(void **state)
{
	refuses_config(state, "[]", "the document is not a JSON object");
	refuses_config(state, "", "configuration");
	refuses_config(state, "{} {}", "configuration");
	refuses_config(state, "{" AMD64 ",\"config\":[]}", "config must be an object");
	refuses_config(state, "{" AMD64 ",\"config\":{\"Entrypoint\":\"sh\"}}",
		       "config.Entrypoint");
	refuses_config(state, "{" AMD64 ",\"config\":{\"Cmd\":[\"a\",7]}}", "config.Cmd[1]");
	refuses_config(state, "{" AMD64 ",\"config\":{\"Cmd\":[\"a\\u0000b\"]}}", "NUL");
	refuses_config(state, "{" AMD64 ",\"config\":{\"Env\":{}}}", "config.Env");
	refuses_config(state, "{" AMD64 ",\"config\":{\"Env\":[\"=b\"]}}", "config.Env[0]");
	refuses_config(state, "{" AMD64 ",\"config\":{\"Env\":[\"A=b\",\"none\"]}}",
		       "config.Env[1]");
	refuses_config(state, "{" AMD64 ",\"config\":{\"User\":7}}", "config.User");
	refuses_config(state, "{" AMD64 ",\"config\":{\"User\":\"a\\nroot\"}}", "config.User");
	refuses_config(state, "{" AMD64 ",\"config\":{\"User\":\"a\\u001bc\"}}",
		       "config.User must be text without control characters");
	refuses_config(state, "{" AMD64 ",\"config\":{\"WorkingDir\":\"/a\\u007f\"}}",
		       "config.WorkingDir must be text without control characters");
	refuses_config(state, "{" AMD64 ",\"config\":{\"WorkingDir\":\"rel\"}}",
		       "config.WorkingDir");
	refuses_config(state, "{" AMD64 ",\"os\":\"windows\"}", "windows");
	refuses_config(state, "{\"architecture\":\"s390x\"}", "s390x");
	refuses_config(state, "{\"architecture\":7}", "architecture");
	/* It is no image for whatever is asked. */
	refuses_config(state, "{\"os\":\"linux\"}", "configuration: architecture is required");
	refuses_config(state, "{\"architecture\":null}", "configuration: architecture");
}

/* A text that begins like one, and has a string that ends at len. */
static void fill_config(char *text, size_t room, const char *begin, size_t len)
{
	memset(text, 'u', room);
	memcpy(text, begin, strlen(begin));
	memcpy(text + len, "\"}}", 4);
}

static void absurd_sizes_are_refused(void **state)
{
	const size_t len = (4 << 20) + 2, depth = 100000;
	autofree char *text = malloc(len + 100);

	fill_config(text, len + 99, "{" AMD64 ",\"config\":{\"User\":\"", 500);
	refuses_config(state, text, "config.User must be at most 255 bytes long");
	fill_config(text, len + 99, "{" AMD64 ",\"config\":{\"WorkingDir\":\"/", 5000);
	refuses_config(state, text, "config.WorkingDir must be at most 4095 bytes long");
	memset(text, ' ', len);
	memcpy(text, "{}", 2);
	text[len] = '\0';
	refuses_config(state, text, "configuration");
	memset(text, '[', depth);
	text[depth] = '\0';
	refuses_config(state, text, "configuration");
}

static void a_configuration_is_the_one_of_its_digest(void **state)
{
	char digest[DIGEST_TEXT] = ABSENT;

	put_config(*state, "{}", digest);
	refuses_manifest(state, "{\"config\":{\"digest\":\"sha256:" ABSENT "\"},\"layers\":[]}",
			 "the image is damaged, because its configuration has the digest sha256:");
}

static void a_manifest_of_other_types_is_refused(void **state)
{
	char digest[DIGEST_TEXT] = "", text[600];

	refuses_manifest(state, "", "manifest");
	refuses_manifest(state, "[]", "the document is not a JSON object");
	refuses_manifest(state, "{}", "config");
	refuses_manifest(state, "{\"config\":7,\"layers\":[]}", "config");
	refuses_manifest(state, "{\"config\":{},\"layers\":[]}", "digest");
	refuses_manifest(state, "{\"config\":{\"digest\":\"sha256:" ABSENT "\"}}", "layers");
	refuses_manifest(state, "{\"config\":{\"digest\":\"sha256:" ABSENT "\"},\"layers\":{}}",
			 "layers");
	refuses_manifest(state, "{\"config\":{\"digest\":\"sha256:" ABSENT "\"},\"layers\":[]}",
			 "configuration");
	/* An index, nested or not, has neither. */
	refuses_manifest(state,
			 "{\"mediaType\":\"application/vnd.oci.image.index.v1+json\","
			 "\"manifests\":[{\"digest\":\"sha256:" ABSENT "\"}]}",
			 "config");
	refuses_manifest(state, "{\"config\":{\"digest\":\"sha512:" ABSENT "\"},\"layers\":[]}",
			 "must be a SHA-256 digest");
	put_config(*state, "{" AMD64 "}", digest);
	snprintf(text, sizeof(text),
		 "{\"config\":{\"digest\":\"sha256:%s\"},\"layers\":[{\"digest\":\"sha256:" ABSENT
		 "\"}]}",
		 digest);
	refuses_manifest(state, text, "manifest: layers[0]: " ABSENT);
	snprintf(text, sizeof(text),
		 "{\"config\":{\"digest\":\"sha256:%s\"},\"layers\":[{\"digest\":\"../../etc/"
		 "passwd\""
		 "}]}",
		 digest);
	refuses_manifest(state, text, "must be a SHA-256 digest");
}

static void a_configuration_names_each_layer(void **state)
{
	refuses_config(state, "{" PLATFORM "}", "configuration: rootfs is required");
	refuses_config(state, "{" PLATFORM ",\"rootfs\":{}}",
		       "rootfs.diff_ids names 0 layers, but the manifest has 1");
	refuses_config(state, "{" PLATFORM ",\"rootfs\":{\"diff_ids\":null}}",
		       "rootfs.diff_ids names 0 layers, but the manifest has 1");
	refuses_config(state, "{" PLATFORM ",\"rootfs\":{\"diff_ids\":{}}}",
		       "rootfs.diff_ids must be an array");
	refuses_config(state, "{" PLATFORM ",\"rootfs\":{\"type\":\"tree\",\"diff_ids\":[]}}",
		       "rootfs.type must be \"layers\", and is \"tree\"");
	refuses_config(state, "{" PLATFORM ",\"rootfs\":{\"diff_ids\":[]}}",
		       "rootfs.diff_ids names 0 layers, but the manifest has 1");
	refuses_config(state,
		       "{" PLATFORM ",\"rootfs\":{\"diff_ids\":[\"sha256:" DIFF_ID
		       "\",\"sha256:" DIFF_ID "\"]}}",
		       "rootfs.diff_ids names 2 layers, but the manifest has 1");
	refuses_config(state, "{" PLATFORM ",\"rootfs\":{\"diff_ids\":[7]}}",
		       "rootfs.diff_ids[0] must be a SHA-256 digest");
	refuses_config(
		state, "{" PLATFORM ",\"rootfs\":{\"diff_ids\":[\"sha256:333\"]}}",
		"rootfs.diff_ids[0] must be a SHA-256 digest, \"sha256:\" and 64 digits of 0-9 and a-f, and is \"sha256:333\"");
}

static void what_is_no_image_is_refused_by_its_type(void **state)
{
	char digest[DIGEST_TEXT] = "", text[800];
	static const struct {
		const char *manifest, *config, *layer, *said;
	} wrong[] = {
		{"\"mediaType\":\"application/vnd.oci.image.index.v1+json\",", "", "",
		 "manifest: mediaType is \"application/vnd.oci.image.index.v1+json\", which is not the "
		 "type of an image"},
		{"\"manifests\":[],", "", "",
		 "manifest: the document has both \"manifests\" and \"layers\""},
		{"", ",\"mediaType\":\"application/vnd.cncf.helm.config.v1+json\"", "",
		 "manifest: config.mediaType is \"application/vnd.cncf.helm.config.v1+json\""},
		{"", "", ",\"mediaType\":\"application/vnd.in-toto+json\"",
		 "manifest: layers[0].mediaType is \"application/vnd.in-toto+json\""},
		{"", "", ",\"mediaType\":7", "layers[0].mediaType must be a string"},
		{"", ",\"size\":5", "",
		 "configuration has 138 bytes, but its manifest says that its size is 5"},
		{"", "", ",\"size\":8",
		 "layers[0] has 7 bytes, but its manifest says that its size is 8"},
		{"", "", ",\"size\":-1", "layers[0].size"},
	};

	put_config(*state, "{" AMD64 "}", digest);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		snprintf(text, sizeof(text),
			 "{%s\"config\":{\"digest\":\"sha256:%s\"%s},\"layers\":[{\"digest\":"
			 "\"sha256:" LAYER "\"%s}]}",
			 wrong[i].manifest, digest, wrong[i].config, wrong[i].layer);
		refuses_manifest(state, text, wrong[i].said);
	}
}

static void layers_are_bounded(void **state)
{
	autobuf struct buf text = BUF_INIT(0);
	struct error err = {0};

	assert_ok(buf_printf(&text, &err,
			     "{\"config\":{\"digest\":\"sha256:" ABSENT "\"},\"layers\":["));
	for (int i = 0; i < 1025; i++)
		assert_ok(buf_printf(&text, &err, "%s{\"digest\":\"sha256:" LAYER "\"}",
				     i ? "," : ""));
	assert_ok(buf_printf(&text, &err, "]}"));
	refuses_manifest(state, buf_string(&text), "more than 1024 layers");
}

/* --- what a source has under an image's name ------------------------------------------------- */

static int read_named(const char *text, struct oci_manifests *out, struct error *err)
{
	autobuf struct buf bytes = BUF_INIT(0);

	assert_int_equal(buf_append(&bytes, text, strlen(text), err), 0);
	return oci_manifests_read(&bytes, ARCHITECTURE_AMD64, out, err);
}

static void an_image_is_named_by_its_manifests(void **state)
{
	static const char manifest[] = "{\"layers\":[]}";
	struct oci_manifests list = {0};
	struct error err = {0};
	char digest[DIGEST_TEXT];

	(void)state;
	assert_ok(digest_bytes(manifest, strlen(manifest), digest, &err));
	assert_ok(read_named(manifest, &list, &err));
	assert_int_equal(list.count, 1);
	assert_true(oci_manifests_have(&list, digest));
	assert_false(oci_manifests_have(&list, LAYER));
	/* Of an index, the manifests that may be for this architecture. */
	assert_ok(read_named("{\"manifests\":[{\"digest\":\"sha256:" LAYER
			     "\",\"platform\":{\"os\":\"linux\",\"architecture\":\"arm64\"}},{"
			     "\"digest\":\"sha256:" ABSENT
			     "\",\"platform\":{\"os\":\"linux\",\"architecture\":\"amd64\"}},"
			     "{\"digest\":\"sha256:" DIFF_ID "\"},{\"digest\":\"sha512:11\"},7]}",
			     &list, &err));
	assert_int_equal(list.count, 2);
	assert_true(oci_manifests_have(&list, ABSENT) && oci_manifests_have(&list, DIFF_ID));
	list.count = 77;
	assert_int_equal(read_named("no JSON", &list, &err), -1);
	assert_int_equal(list.count, 77);
}

static void an_index_is_bounded(void **state)
{
	autobuf struct buf text = BUF_INIT(0);
	struct oci_manifests list = {0};
	struct error err = {0};

	(void)state;
	assert_ok(buf_printf(&text, &err, "{\"manifests\":["));
	for (int i = 0; i < OCI_MANIFESTS_MAX + 1; i++)
		assert_ok(buf_printf(&text, &err, "%s{\"digest\":\"sha256:" LAYER "\"}",
				     i ? "," : ""));
	assert_ok(buf_printf(&text, &err, "]}"));
	assert_int_equal(read_named(buf_string(&text), &list, &err), -1);
	assert_string_equal(
		err.msg,
		"the image's index has more than 64 images for linux, the most that microagent reads: name another image");
}

static void a_digest_in_a_name_is_held(void **state)
{
	autobuf struct buf text = BUF_INIT(0);
	struct error err = {0};
	char digest[DIGEST_TEXT], name[128];

	(void)state;
	assert_ok(buf_printf(&text, &err, "a manifest"));
	assert_ok(digest_bytes("a manifest", 10, digest, &err));
	snprintf(name, sizeof(name), "docker://x/y:1@sha256:%s", digest);
	assert_ok(oci_manifests_check_name(name, &text, &err));
	assert_ok(oci_manifests_check_name("docker://x/y:1", &text, &err));
	assert_int_equal(oci_manifests_check_name("docker://x/y@sha256:" LAYER, &text, &err), -1);
	assert_code(err, ERR_INVALID);
	assert_non_null(strstr(err.msg, digest));
	/* With more characters after the digest it is another name. */
	strcat(name, "0");
	assert_int_equal(oci_manifests_check_name(name, &text, &err), -1);
}

#define scratch_test(fn) cmocka_unit_test_setup_teardown(fn, scratch_make, scratch_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(what_runs_in_it_is_taken),
		scratch_test(what_is_null_or_empty_is_absent),
		scratch_test(a_configuration_of_other_types_is_refused),
		scratch_test(absurd_sizes_are_refused),
		scratch_test(a_configuration_is_the_one_of_its_digest),
		scratch_test(a_manifest_of_other_types_is_refused),
		scratch_test(a_configuration_names_each_layer),
		scratch_test(what_is_no_image_is_refused_by_its_type),
		scratch_test(layers_are_bounded),
		cmocka_unit_test(an_image_is_named_by_its_manifests),
		cmocka_unit_test(an_index_is_bounded),
		cmocka_unit_test(a_digest_in_a_name_is_held),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
