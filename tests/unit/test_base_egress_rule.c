/* SPDX-License-Identifier: MIT */
#include "test_base.h"

#include "base/egress_rule.h"

static struct egress_rule rule_of(const char *text)
{
	struct egress_rule rule = {0};
	struct error err = {0};

	assert_ok(egress_rule_parse(text, &rule, &err));
	return rule;
}

static bool covers(const char *text, const char *name)
{
	const struct egress_rule rule = rule_of(text);

	return egress_rule_covers(&rule, name, strlen(name));
}

static bool opens(const char *text, uint16_t port)
{
	const struct egress_rule rule = rule_of(text);

	return egress_rule_opens(&rule, port);
}

static void names_are_folded(void **state)
{
	(void)state;
	assert_string_equal(rule_of("PyPI.org").name, "pypi.org");
	assert_string_equal(rule_of("*.XN--80AK6AA92E.com").name, "*.xn--80ak6aa92e.com");
	assert_string_equal(rule_of("_srv.a-b.3com:1").name, "_srv.a-b.3com");
	assert_string_equal(rule_of("localhost").name, "localhost");
	assert_string_equal(rule_of("pypi.org.").name, "pypi.org");
	assert_string_equal(rule_of("*.x.org.:443").name, "*.x.org");
	assert_int_equal(rule_of("ab.c.").name_len, 4);
	assert_int_equal(rule_of("ab.c").name_len, 4);
}

static void what_a_name_covers(void **state)
{
	(void)state;
	assert_true(covers("pypi.org", "pypi.org"));
	assert_false(covers("pypi.org", "www.pypi.org"));
	assert_false(covers("pypi.org", "pypi.or"));
	assert_false(covers("pypi.org", "pypi.orgs"));
	assert_false(covers("pypi.org", "xpypi.org"));
	assert_true(covers("*.x.org", "a.x.org"));
	assert_true(covers("*.x.org", "a.b.x.org"));
	assert_false(covers("*.x.org", "x.org"));
	assert_false(covers("*.x.org", ".x.org"));
	assert_false(covers("*.x.org", "ax.org"));
	assert_false(covers("*.x.org", "a.x.org.evil"));
	assert_false(covers("*.x.org", "org"));
	assert_false(covers("*.x.org", ""));
}

static void ports_are_a_set(void **state)
{
	const struct egress_rule usual = rule_of("a.b"), same = rule_of("A.b:443,80,443"),
				 other = rule_of("a.b:443"), name = rule_of("a.c");

	(void)state;
	assert_true(opens("a.b", 443) && opens("a.b", 80));
	assert_false(opens("a.b", 8443));
	assert_true(opens("a.b:8443,22", 22) && opens("a.b:8443,22", 8443));
	assert_false(opens("a.b:8443,22", 443));
	assert_true(opens("a.b:65535", 65535));
	assert_true(egress_rule_same(&usual, &same));
	assert_false(egress_rule_same(&usual, &other));
	assert_false(egress_rule_same(&usual, &name));
	assert_int_equal(rule_of("a.b:8,7,6,5,4,3,2,1").nports, EGRESS_PORTS_MAX);
}

struct wrong {
	const char *text, *why;
};

#define NO_NAME \
	"' is not a host name: give labels of letters, digits, - and _ with dots between them. A name may begin with \"*.\", as in *.example.org"
#define NO_PORTS "': after the name there must be ports from 1 to 65535, with commas between them"

static void what_is_wrong_is_said(void **state)
{
	static const struct wrong all[] = {
		{"", "'" NO_NAME},
		{".", "'." NO_NAME},
		{"pypi.org..", "'pypi.org.." NO_NAME},
		{".org", "'.org" NO_NAME},
		{"a..b", "'a..b" NO_NAME},
		{"-a.b", "'-a.b" NO_NAME},
		{"a.b-", "'a.b-" NO_NAME},
		{"a b", "'a b" NO_NAME},
		{"*.", "'*." NO_NAME},
		{"*x.org", "'*x.org" NO_NAME},
		{"a.*.org", "'a.*.org" NO_NAME},
		{"*.*.org", "'*.*.org" NO_NAME},
		{"p\xc3\xbcpi.org", "'p\xc3\xbcpi.org" NO_NAME},
		{"[::1]:443", "'[::1]:443" NO_NAME},
		{"*",
		 "'*' stands for every name, which no rule may open: write *.example.org for the names below example.org"},
		{"https://pypi.org/x",
		 "'https://pypi.org/x' is a URL, not a host name: give only the host name"},
		{"pypi.org/simple",
		 "'pypi.org/simple' is not a host name: it has a slash; give only the host name"},
		{"192.0.2.1", "'192.0.2.1' is an address, not a host name: give a host name"},
		{"192.0.2.1:80", "'192.0.2.1:80' is an address, not a host name: give a host name"},
		{"*.1", "'*.1' is an address, not a host name: give a host name"},
		{"a.b:", "'a.b:" NO_PORTS},
		{"a.b:0", "'a.b:0" NO_PORTS},
		{"a.b:080", "'a.b:080" NO_PORTS},
		{"a.b:65536", "'a.b:65536" NO_PORTS},
		{"a.b:4294967297", "'a.b:4294967297" NO_PORTS},
		{"a.b:80,", "'a.b:80," NO_PORTS},
		{"a.b:,80", "'a.b:,80" NO_PORTS},
		{"a.b:80:81", "'a.b:80:81" NO_PORTS},
		{"a.b: 80", "'a.b: 80" NO_PORTS},
		{"a.b:https", "'a.b:https" NO_PORTS},
		{"a.b:443,53",
		 "'a.b:443,53': port 53 cannot be opened by name, only by address: leave port 53 out"},
		{"a.b:1,2,3,4,5,6,7,8,9",
		 "'a.b:1,2,3,4,5,6,7,8,9' has more than 8 ports, the most for one name: give fewer"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		struct egress_rule rule = {.nports = 99};
		struct error err = {0};

		assert_int_equal(egress_rule_parse(all[i].text, &rule, &err), -1);
		assert_string_equal(err.msg, all[i].why);
		assert_code(err, ERR_INVALID);
		assert_int_equal(rule.nports, 99);
	}
}

static void lengths_are_those_of_dns(void **state)
{
	char name[300];
	struct egress_rule rule;
	struct error err = {0};

	(void)state;
	memset(name, 'a', sizeof(name));
	for (size_t i = 63; i < sizeof(name); i += 64)
		name[i] = '.';
	name[EGRESS_NAME_MAX] = '\0';
	assert_ok(egress_rule_parse(name, &rule, &err));
	assert_int_equal(rule.name_len, EGRESS_NAME_MAX);
	name[EGRESS_NAME_MAX] = 'a';
	name[EGRESS_NAME_MAX + 1] = '\0';
	assert_int_equal(egress_rule_parse(name, &rule, &err), -1);
	assert_non_null(strstr(err.msg, "is longer than 253 bytes"));
	name[63] = 'a';
	name[70] = '\0';
	assert_int_equal(egress_rule_parse(name, &rule, &err), -1);
	assert_non_null(strstr(err.msg, "is not a host name"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_folded),	    cmocka_unit_test(what_a_name_covers),
		cmocka_unit_test(ports_are_a_set),	    cmocka_unit_test(what_is_wrong_is_said),
		cmocka_unit_test(lengths_are_those_of_dns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
