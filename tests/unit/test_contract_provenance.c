/* SPDX-License-Identifier: MIT */
/* Tests the names of an image by the records of the cache and of bases. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "contract/provenance.h"

#define DIGEST "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const struct {
	const char *ref, *image_ref, *repository;
} rows[] = {
	{"docker://busybox:1.36", "docker.io/library/busybox:1.36", "docker.io/library/busybox"},
	{"docker://busybox", "docker.io/library/busybox:latest", "docker.io/library/busybox"},
	{"docker://docker.io/busybox:1", "docker.io/library/busybox:1",
	 "docker.io/library/busybox"},
	{"docker://index.docker.io/busybox", "docker.io/library/busybox:latest",
	 "docker.io/library/busybox"},
	{"docker://docker.io/library/busybox:1.36", "docker.io/library/busybox:1.36",
	 "docker.io/library/busybox"},
	{"docker://team/app", "docker.io/team/app:latest", "docker.io/team/app"},
	{"docker://ghcr.io/owner/name:v1", "ghcr.io/owner/name:v1", "ghcr.io/owner/name"},
	{"docker://localhost/app:1", "localhost/app:1", "localhost/app"},
	{"docker://localhost:5000/app", "localhost:5000/app:latest", "localhost:5000/app"},
	{"docker://Host/app", "Host/app:latest", "Host/app"},
	{"docker://127.0.0.1:5000/a/b:2", "127.0.0.1:5000/a/b:2", "127.0.0.1:5000/a/b"},
	/* The digest of a list of several platforms was asked for, and is another one. */
	{"docker://busybox@sha256:00", "docker.io/library/busybox@sha256:00",
	 "docker.io/library/busybox"},
	{"docker://busybox:1@sha256:00", "docker.io/library/busybox:1@sha256:00",
	 "docker.io/library/busybox"},
	/* No program of ours wrote these, and they are read all the same. */
	{"docker://", "docker.io/library/:latest", "docker.io/library/"},
	{"docker:///", "docker.io//:latest", "docker.io//"},
	{"docker://localhost/", "localhost/:latest", "localhost/"},
	{"docker://:@", "docker.io/library/:@", "docker.io/library/"},
	{"", "", ""},
	{"oci:/home/me/layout", "oci:/home/me/layout", "oci:/home/me/layout"},
	{"oci-archive:/a:b.tar:1.0", "oci-archive:/a:b.tar:1.0", "oci-archive:/a:b.tar:1.0"},
	{"busybox", "busybox", "busybox"},
};

static void every_source_has_its_names(void **state)
{
	struct error err = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		json_auto_t *image = provenance_new(rows[i].ref, DIGEST, &err);
		char resolved[256];

		assert_non_null(image);
		snprintf(resolved, sizeof(resolved), "%s@" DIGEST, rows[i].repository);
		assert_string_equal(json_text(image, "imageRef", ""), rows[i].image_ref);
		assert_string_equal(json_text(image, "resolvedRef", ""), resolved);
		assert_string_equal(json_text(image, "imageDigest", ""), DIGEST);
		assert_int_equal(json_object_size(image), 3);
	}
}

/* A request may not contain them. An image with such a path can be used all the same. */
static void control_characters_are_in_no_name(void **state)
{
	struct error err = {0};
	json_auto_t *image = provenance_new("oci:/home/me/a\nb", DIGEST, &err);

	(void)state;
	assert_non_null(image);
	assert_int_equal(json_object_size(image), 1);
	assert_string_equal(json_text(image, "imageDigest", ""), DIGEST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_source_has_its_names),
		cmocka_unit_test(control_characters_are_in_no_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
