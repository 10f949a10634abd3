/* SPDX-License-Identifier: MIT */
/* Tests the texts that people write for names that nat may reach: words, our lists, and files of
 * them. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/egress.h"
#include "base/json.h"
#include "contract/request.h"

static void wrong_words(void **state)
{
	static const struct {
		const char *word, *why;
	} cases[] = {
		{"https://pypi.org", "is a URL, not a host name"},
		{"https://pypi.org/simple", "is a URL, not a host name"},
		{"pypi.org/simple", "it has a slash"},
		{"192.0.2.1", "\"192.0.2.1\" is an address, not a name: write the prefix "
			      "192.0.2.1/32; a private address belongs in config.network.allow"},
		{"192.0.2.1/8", "it has a slash"},
		{"192.0.2.1:443", "is an address"},
		{"0.0.0.0/0", "0.0.0.0/0 is the prefix of all addresses"},
		{"127.0.0.1/32", "is the guest's own loopback"},
		{"169.254.0.0/16", "is link-local"},
		{"10.0.0.0/8",
		 "10.0.0.0/8 is not on the public internet, and stays blocked even "
		 "when it is listed: if it is private, config.network.allow opens it"},
		{"192.168.7.0/24", "is not on the public internet"},
		{"100.64.1.1/32", "is not on the public internet"},
		{"*", "stands for every name"},
		{"a.*.org", "is not a host name"},
		{"pypi.org..", "is not a host name"},
		{".", "is not a host name"},
		{"", "is not a host name"},
		{"pypi.org:", "ports from 1 to 65535"},
		{"pypi.org:443,", "ports from 1 to 65535"},
		{"pypi.org:https", "ports from 1 to 65535"},
		{"a.org:1,2,3,4,5,6,7,8,9", "more than 8 ports"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct error err = {0};

		if (microagent_check_egress(cases[i].word, &err) == 0)
			fail_msg("%s is taken", cases[i].word);
		assert_int_equal(err.code, ERR_INVALID);
		if (!strstr(err.msg, cases[i].why))
			fail_msg("%s: %s", cases[i].word, err.msg);
	}
}

static json_t *network_of(const struct microagent_egress *egress, struct error *err)
{
	json_t *network = json_pack("{s:s}", "mode", "nat");

	if (egress_put(network, egress, err) == 0)
		return network;
	json_decref(network);
	return NULL;
}

/* The contract accepts all of it. */
static void our_lists(void **state)
{
	const char *const names[] = {"pypi.org:443", "198.51.100.0/24", NULL};
	const char *const from[] = {"npm", "pypi", "debian", "github", NULL};
	const struct microagent_egress egress = {.names = names, .from = from, .dry_run = true};
	struct error err = {0};
	json_t *network = network_of(&egress, &err);
	json_t *decoded = network_decode(network, &err), *list;

	(void)state;
	assert_non_null(decoded);
	list = json_object_get(decoded, "egress");
	assert_true(json_array_size(json_object_get(list, "names")) > 10);
	assert_string_equal(json_string_value(json_array_get(json_object_get(list, "names"), 0)),
			    "pypi.org:443");
	assert_int_equal(json_array_size(json_object_get(list, "prefixes")), 1);
	assert_true(json_is_true(json_object_get(list, "dryRun")));
	json_decref(decoded);
	json_decref(network);
}

static void nothing_is_asked_for(void **state)
{
	const struct microagent_egress egress = {0};
	struct error err = {0};
	json_t *network = network_of(&egress, &err);

	(void)state;
	assert_null(json_object_get(network, "egress"));
	json_decref(network);
}

/* A program that lists reachable hosts, and finds none, has not said that all may be reached. */
static void nobody_is_asked_for(void **state)
{
	const char *const none[] = {NULL};
	const struct microagent_egress lists[] = {{.names = none}, {.from = none}};

	(void)state;
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		struct error err = {0};
		json_t *network = network_of(&lists[i], &err);
		json_t *decoded = network_decode(network, &err);
		json_t *egress = json_object_get(decoded, "egress");

		assert_non_null(egress);
		assert_null(json_object_get(egress, "names"));
		assert_null(json_object_get(egress, "prefixes"));
		json_decref(decoded);
		json_decref(network);
	}
}

static void write_list(char path[32], const char *text, size_t len)
{
	int fd;

	snprintf(path, 32, "/tmp/egress-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), (ssize_t)len);
	close(fd);
}

static void a_file(void **state)
{
	static const char text[] =
		"\xef\xbb\xbf# what we build with\n\n  pypi.org  \r\n*.example.org:8443 # ours\n"
		"198.51.100.0/24";
	char path[32];
	const char *const from[] = {path, NULL};
	const struct microagent_egress egress = {.from = from};
	struct error err = {0};
	json_t *network, *list;

	(void)state;
	write_list(path, text, sizeof(text) - 1);
	network = network_of(&egress, &err);
	assert_non_null(network);
	list = json_object_get(network, "egress");
	assert_int_equal(json_array_size(json_object_get(list, "names")), 2);
	assert_string_equal(json_string_value(json_array_get(json_object_get(list, "names"), 1)),
			    "*.example.org:8443");
	assert_int_equal(json_array_size(json_object_get(list, "prefixes")), 1);
	json_decref(network);
	unlink(path);
}

/* A byte order mark is ignored at the beginning, also before a name, and nowhere else. */
static void a_file_of_another_editor(void **state)
{
	char path[32];
	const char *const from[] = {path, NULL};
	const struct microagent_egress egress = {.from = from};
	struct error err = {0};
	json_t *network, *list;

	(void)state;
	write_list(path, "\xef\xbb\xbfpypi.org\r\n", 13);
	network = network_of(&egress, &err);
	list = json_object_get(json_object_get(network, "egress"), "names");
	assert_string_equal(json_string_value(json_array_get(list, 0)), "pypi.org");
	json_decref(network);
	unlink(path);
	write_list(path, "\xef\xbb\xbf\xef\xbb\xbfpypi.org", 14);
	assert_null(network_of(&egress, &err));
	assert_non_null(strstr(err.msg, "is not a host name"));
	unlink(path);
}

/* An empty file is a list without names, and not a missing list. */
static void an_empty_file(void **state)
{
	char path[32];
	const char *const from[] = {path, NULL};
	const struct microagent_egress egress = {.from = from};
	struct error err = {0};
	json_t *network;

	(void)state;
	write_list(path, "", 0);
	network = network_of(&egress, &err);
	assert_true(json_is_object(json_object_get(network, "egress")));
	json_decref(network);
	unlink(path);
}

static void wrong_lists(void **state)
{
	static const char nul[] = "pypi.org\0x";
	char path[32], want[96];
	const char *word = "rubygems";
	const char *const from[] = {path, NULL};
	const char *const none[] = {word, NULL};
	const char *const absent[] = {"/nowhere/at/all", NULL};
	struct microagent_egress egress = {.from = none};
	struct error err = {0};

	(void)state;
	assert_null(network_of(&egress, &err));
	assert_non_null(strstr(err.msg,
			       "there is no list \"rubygems\": give npm, pypi, debian or "
			       "github, or the path of a file of names, with a '/' in it"));
	egress.from = absent;
	assert_null(network_of(&egress, &err));
	assert_string_equal(err.msg, "egress.from: /nowhere/at/all: No such file or directory");
	egress.from = from;
	write_list(path, "pypi.org\nhttps://pypi.org\n", 26);
	snprintf(want, sizeof(want), "%s:2: 'https://pypi.org' is a URL", path);
	assert_null(network_of(&egress, &err));
	assert_non_null(strstr(err.msg, want));
	unlink(path);
	write_list(path, nul, sizeof(nul) - 1);
	assert_null(network_of(&egress, &err));
	assert_non_null(strstr(err.msg, "is not a list of names"));
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrong_words),
		cmocka_unit_test(our_lists),
		cmocka_unit_test(nothing_is_asked_for),
		cmocka_unit_test(nobody_is_asked_for),
		cmocka_unit_test(a_file),
		cmocka_unit_test(a_file_of_another_editor),
		cmocka_unit_test(an_empty_file),
		cmocka_unit_test(wrong_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
