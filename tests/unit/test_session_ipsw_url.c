/* SPDX-License-Identifier: MIT */
/* Tests from where a restore image may be fetched, and addresses that only look so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "session/macos/ipsw_url.h"

static void apples_own_are_taken(void **state)
{
	static const char *const rows[][2] = {
		{"https://updates.cdn-apple.com/2022FallFCS/fullrestores/012-92188/"
		 "2C38BCD1-2BFF-4A10-B358-94E8E28BE805/UniversalMac_13.0_22A380_Restore.ipsw",
		 "UniversalMac_13.0_22A380_Restore.ipsw"},
		{"https://a.b.cdn-apple.com/x.ipsw", "x.ipsw"},
		{"https://UPDATES.CDN-Apple.com/x.ipsw", "x.ipsw"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char name[IPSW_NAME_MAX + 1] = "";
		struct error err = {0};

		if (ipsw_url_check(rows[i][0], name, &err) < 0)
			fail_msg("%s", err.msg);
		assert_string_equal(name, rows[i][1]);
	}
}

static const char *const hosts[] = {
	"https://cdn-apple.com/x.ipsw",
	"https://.cdn-apple.com/x.ipsw",
	"https://evil-cdn-apple.com/x.ipsw",
	"https://x.evil-cdn-apple.com/x.ipsw",
	"https://x.cdn-apple.com.evil.org/x.ipsw",
	"https://x.cdn-apple.com./x.ipsw",
	"https://x..cdn-apple.com/x.ipsw",
	"https://x.cdn-apple.com@evil.org/x.ipsw",
	"https://user@x.cdn-apple.com/x.ipsw",
	"https://evil.org\\@x.cdn-apple.com/x.ipsw",
	"https://evil.org#.cdn-apple.com/x.ipsw",
	"https://evil.org?.cdn-apple.com/x.ipsw",
	"https://evil.org/.cdn-apple.com/x.ipsw",
	"https://x.cdn-apple.com:443/x.ipsw",
	"https://x.cdn-apple.com:8443/x.ipsw",
	"https://x%2ecdn-apple.com/x.ipsw",
	"https://evil.org%2f.cdn-apple.com/x.ipsw",
	"https://[::1].cdn-apple.com/x.ipsw",
	"https://x\xe3\x80\x82"
	"cdn-apple.com/x.ipsw",
	"https://x .cdn-apple.com/x.ipsw",
	"https://x.cdn-apple.com\t/x.ipsw",
	"https://17.0.0.1/x.ipsw",
	"https:///x.ipsw",
	"https://",
};
static const char *const schemes[] = {
	"http://x.cdn-apple.com/x.ipsw",
	"ftp://x.cdn-apple.com/x.ipsw",
	"file:///x.ipsw",
	"HTTPS://x.cdn-apple.com/x.ipsw",
	" https://x.cdn-apple.com/x.ipsw",
	"-https://x.cdn-apple.com/x.ipsw",
};
static const char *const paths[] = {
	"https://x.cdn-apple.com",
	"https://x.cdn-apple.com/",
	"https://x.cdn-apple.com/.ipsw",
	"https://x.cdn-apple.com/x.dmg",
	"https://x.cdn-apple.com/x.ipsw?y",
	"https://x.cdn-apple.com/x.ipsw#y",
	"https://x.cdn-apple.com/a/../x.ipsw",
	"https://x.cdn-apple.com/a//x.ipsw",
	"https://x.cdn-apple.com/%2e%2e/x.ipsw",
	"https://x.cdn-apple.com/[1-9]/x.ipsw",
	"https://x.cdn-apple.com/{a,b}/x.ipsw",
	"https://x.cdn-apple.com/a b/x.ipsw",
	"https://x.cdn-apple.com/\r\nHost: evil.org/x.ipsw",
};

static void others_are_refused(void **state)
{
	const struct {
		const char *const *urls;
		size_t count;
		const char *words;
	} tables[] = {{hosts, ARRAY_SIZE(hosts), "only from Apple's own hosts"},
		      {schemes, ARRAY_SIZE(schemes), "only by https"},
		      {paths, ARRAY_SIZE(paths), "must end with /NAME.ipsw"}};

	(void)state;
	for (size_t t = 0; t < ARRAY_SIZE(tables); t++)
		for (size_t i = 0; i < tables[t].count; i++) {
			char name[IPSW_NAME_MAX + 1] = "untouched";
			struct error err = {0};

			if (ipsw_url_check(tables[t].urls[i], name, &err) == 0)
				fail_msg("%s is taken", tables[t].urls[i]);
			assert_int_equal(err.code, ERR_INVALID);
			assert_string_equal(name, "untouched");
			if (!strstr(err.msg, tables[t].words))
				fail_msg("%s: %s", tables[t].urls[i], err.msg);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(apples_own_are_taken),
		cmocka_unit_test(others_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
