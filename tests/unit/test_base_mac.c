/* SPDX-License-Identifier: MIT */
#include "test_base.h"

#include "base/mac.h"

static void an_address_is_read(void **state)
{
	static const uint8_t right[MAC_BYTES] = {0x52, 0x54, 0x00, 0xab, 0xCD, 0xff};
	uint8_t mac[MAC_BYTES];

	(void)state;
	assert_true(mac_parse("52:54:00:ab:CD:fF", mac));
	assert_memory_equal(mac, right, sizeof(mac));
}

static void what_is_no_address_is_refused(void **state)
{
	static const char *const wrong[] = {
		"",
		"52:54:00:12:34",
		"52:54:00:12:34:5",
		"52:54:00:12:34:567",
		"52:54:00:12:34:56:",
		"52-54-00-12-34-56",
		"52:54:00:12:3:456",
		"52:54:00:12:34:5g",
		" 2:54:00:12:34:56",
		"0x:54:00:12:34:56",
		"52:54:00:12:34,a=",
	};
	uint8_t mac[MAC_BYTES] = {77};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_false(mac_parse(wrong[i], mac));
	assert_int_equal(mac[0], 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address_is_read),
		cmocka_unit_test(what_is_no_address_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
