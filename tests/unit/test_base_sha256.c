/* SPDX-License-Identifier: MIT */
#include "test_base.h"
#include <setjmp.h>

#include "base/sha256.h"

static void hex_of(struct sha256 *sha, char hex[SHA256_TEXT])
{
	uint8_t digest[SHA256_BYTES];

	sha256_final(sha, digest);
	sha256_hex(digest, hex);
}

/* FIPS 180-4's examples, https://csrc.nist.gov/projects/cryptographic-standards-and-guidelines */
static void known_digests(void **state)
{
	char hex[SHA256_TEXT];
	struct sha256 sha;

	(void)state;
	sha256_init(&sha);
	sha256_update(&sha, "abc", 3);
	hex_of(&sha, hex);
	assert_string_equal(hex,
			    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	sha256_init(&sha);
	hex_of(&sha, hex);
	assert_string_equal(hex,
			    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

static void a_copy_goes_its_own_way(void **state)
{
	char one[SHA256_TEXT], other[SHA256_TEXT], whole[SHA256_TEXT];
	uint8_t bytes[1000];
	struct sha256 sha, copy;

	(void)state;
	memset(bytes, 'x', sizeof(bytes));
	sha256_init(&sha);
	sha256_update(&sha, bytes, 700);
	copy = sha;
	sha256_update(&sha, bytes, 300);
	hex_of(&copy, one);
	hex_of(&sha, other);
	sha256_init(&sha);
	sha256_update(&sha, bytes, sizeof(bytes));
	hex_of(&sha, whole);
	assert_string_equal(other, whole);
	assert_string_not_equal(one, whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(known_digests),
					   cmocka_unit_test(a_copy_goes_its_own_way)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
