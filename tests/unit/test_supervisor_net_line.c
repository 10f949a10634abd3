/* SPDX-License-Identifier: MIT */
/* Tests lines of netgate as events, and texts that are no such line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "supervisor/live/net_line.h"

static const struct {
	const char *line, *name;
	bool warning;
	const char *data; /* with its keys sorted */
} lines[] = {
	{"tcp 10.0.2.15:40000 -> 192.0.2.1:443", "net.connect", false,
	 "{\"from\":\"10.0.2.15:40000\",\"protocol\":\"tcp\",\"to\":\"192.0.2.1:443\"}"},
	{"tcp 10.0.2.15:40000 -> 192.0.2.1:443 -", "net.connect", false,
	 "{\"from\":\"10.0.2.15:40000\",\"name\":\"-\",\"protocol\":\"tcp\","
	 "\"to\":\"192.0.2.1:443\"}"},
	{"tcp 10.0.2.15:40000 -> 192.0.2.1:443 pypi.org", "net.connect", false,
	 "{\"from\":\"10.0.2.15:40000\",\"name\":\"pypi.org\",\"protocol\":\"tcp\",\"to\":\"192.0."
	 "2."
	 "1:443\"}"},
	{"tcp 10.0.2.15:40000 -> 192.0.2.1:443 refused", "net.refused", true,
	 "{\"from\":\"10.0.2.15:40000\",\"protocol\":\"tcp\",\"to\":\"192.0.2.1:443\"}"},
	{"icmp 10.0.2.15 -> 192.0.2.1 would refuse", "net.would-refuse", true,
	 "{\"from\":\"10.0.2.15\",\"protocol\":\"icmp\",\"to\":\"192.0.2.1\"}"},
	{"tls 10.0.2.15:40000 -> 192.0.2.1:443 evil.example refused", "net.refused", true,
	 "{\"from\":\"10.0.2.15:40000\",\"name\":\"evil.example\",\"protocol\":\"tls\",\"to\":"
	 "\"192.0.2.1:443\"}"},
	{"http 10.0.2.15:40000 -> 192.0.2.1:80 - would refuse", "net.would-refuse", true,
	 "{\"from\":\"10.0.2.15:40000\",\"name\":\"-\",\"protocol\":\"http\",\"to\":\"192.0.2.1:"
	 "80\"}"},
	{"dns pypi.org A", "net.resolve", false, "{\"name\":\"pypi.org\",\"type\":\"A\"}"},
	{"dns evil.example AAAA refused", "net.name-refused", true,
	 "{\"name\":\"evil.example\",\"type\":\"AAAA\"}"},
	{"dns refused TYPE65 would refuse", "net.would-refuse", true,
	 "{\"name\":\"refused\",\"type\":\"TYPE65\"}"},
	{"dns evil.example TYPE65535 refused", "net.name-refused", true,
	 "{\"name\":\"evil.example\",\"type\":\"TYPE65535\"}"},
	{"7 connections more were not listed", "net.unlisted", true,
	 "{\"connections\":7,\"line\":\"7 connections more were not listed\"}"},
	{"", "net.unlisted", true, "{\"connections\":0,\"line\":\"\"}"},
	{" refused", "net.unlisted", true, "{\"connections\":0,\"line\":\" refused\"}"},
	{"dns pypi.org", "net.unlisted", true, "{\"connections\":0,\"line\":\"dns pypi.org\"}"},
	{"dns a A b", "net.unlisted", true, "{\"connections\":0,\"line\":\"dns a A b\"}"},
	{"tcp a -> b c d", "net.unlisted", true, "{\"connections\":0,\"line\":\"tcp a -> b c d\"}"},
	{"tcp a => b", "net.unlisted", true, "{\"connections\":0,\"line\":\"tcp a => b\"}"},
};

static void each_kind_of_line(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct net_event event = net_line_read(lines[i].line);
		char *text = json_dumps(event.data, JSON_COMPACT | JSON_SORT_KEYS);

		assert_string_equal(event.name, lines[i].name);
		assert_int_equal(event.warning, lines[i].warning);
		assert_string_equal(text, lines[i].data);
		free(text);
		json_decref(event.data);
	}
}

/* Bytes of a filter that was taken over. */
static void no_line_at_all(void **state)
{
	char line[512];
	struct net_event event;

	(void)state;
	memset(line, 'a', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\0';
	memcpy(line, "dns ", 4);
	event = net_line_read(line);
	assert_string_equal(event.name, "net.unlisted");
	json_decref(event.data);
	event = net_line_read("tcp \xff\xfe -> \x1b[2J refused");
	assert_string_equal(event.name, "net.unlisted");
	assert_non_null(event.data);
	json_decref(event.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kind_of_line),
		cmocka_unit_test(no_line_at_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
