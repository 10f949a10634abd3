/* SPDX-License-Identifier: MIT */
#include "test_base.h"

#include <sys/socket.h>

#include "base/ip.h"

static void prefixes_come_back_as_they_were(void **state)
{
	static const char *const right[] = {"0.0.0.0/0", "10.0.0.2/24", "255.255.255.255/32",
					    "::/0",	 "fe80::1/64",	"2001:db8::2/128"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(right); i++) {
		char text[IP_TEXT];
		unsigned bits;
		struct ip ip;

		assert_true(ip_parse_prefix(right[i], &ip, &bits));
		ip_format_prefix(&ip, bits, text);
		assert_string_equal(text, right[i]);
	}
}

static void what_is_none_is_refused(void **state)
{
	static const char *const wrong[] = {
		"",
		"/",
		"10.0.0.2",
		"10.0.0.2/",
		"10.0.0.2/33",
		"10.0.0.2/-1",
		"10.0.0.2/ 1",
		"10.0.0.2/1x",
		"10.0.0.2/0001",
		"10.0.0/8",
		"::/129",
		"::1",
		":::/1",
		"x/1",
		"10.0.0.2/99999999999",
		"1111:1111:1111:1111:1111:1111:1111:1111:1111:1111:1111/8"};
	struct ip ip = {.family = 77};
	unsigned bits = 77;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_false(ip_parse_prefix(wrong[i], &ip, &bits));
	assert_false(ip_from_bytes(AF_INET, "\1\2\3", 3, &ip));
	assert_false(ip_from_bytes(AF_UNIX, "\1\2\3\4", 4, &ip));
	assert_false(ip_from_bytes(AF_UNIX, "", 0, &ip));
	assert_int_equal(ip.family, 77);
	assert_int_equal(bits, 77);
}

static void link_local_ones_are_known(void **state)
{
	struct ip ip;

	(void)state;
	assert_true(ip_parse("fe80::1", &ip) && ip_is_link_local6(&ip));
	assert_true(ip_parse("febf::1", &ip) && ip_is_link_local6(&ip));
	assert_true(ip_parse("fec0::1", &ip) && !ip_is_link_local6(&ip));
	assert_true(ip_parse("254.128.0.1", &ip) && !ip_is_link_local6(&ip));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prefixes_come_back_as_they_were),
		cmocka_unit_test(what_is_none_is_refused),
		cmocka_unit_test(link_local_ones_are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
