/* SPDX-License-Identifier: MIT */
/* Tests which host the first words of TLS and of HTTP name. */
#include "test_netgate.h"

#include "hello_fixture.h"
#include "netgate/opening.h"

/* Makes a copy of exactly that length, so that the sanitizer sees a read beyond it. */
static enum opening read_copy(enum opening (*read)(struct bytes, struct host_name *),
			      const void *bytes, size_t len, struct host_name *name)
{
	uint8_t *copy = malloc(len ? len : 1);
	enum opening found;

	memcpy(copy, bytes, len);
	*name = (struct host_name){0};
	found = read((struct bytes){copy, len}, name);
	free(copy);
	return found;
}

static enum opening read_hello(struct hello h, struct host_name *name)
{
	return read_copy(client_hello_read, h.bytes, h.len, name);
}

/* --- TLS ------------------------------------------------------------------------------------- */

static void a_hello_names_its_host(void **state)
{
	struct host_name name;

	(void)state;
	assert_int_equal(read_hello(hello_of("PyPI.org", 0), &name), OPENING_NAMED);
	assert_string_equal(name.text, "pypi.org");
	/* As long as post-quantum keys make it, and with words after it. */
	assert_int_equal(read_hello(hello_of("pypi.org", 1300), &name), OPENING_NAMED);
	struct hello h = hello_of("pypi.org", 10);
	memcpy(h.bytes + h.len, "\x14\x03\x03\x00\x01\x01", 6);
	h.len += 6;
	assert_int_equal(read_hello(h, &name), OPENING_NAMED);
}

static void a_hello_in_any_pieces(void **state)
{
	struct host_name name;
	struct hello h = hello_of("pypi.org", 1300);

	(void)state;
	for (size_t len = 0; len < h.len; len++)
		assert_int_equal(read_copy(client_hello_read, h.bytes, len, &name),
				 OPENING_UNFINISHED);
	/* The same in records of each size. */
	for (size_t size = 1; size < 400; size++) {
		struct hello cut = hello_in_records(&h, size);

		assert_int_equal(read_hello(cut, &name), OPENING_NAMED);
		assert_string_equal(name.text, "pypi.org");
		cut.len--;
		assert_int_equal(read_hello(cut, &name), OPENING_UNFINISHED);
	}
}

static void a_hello_without_a_name(void **state)
{
	struct host_name name;
	struct hello h = hello_of(NULL, 20);

	(void)state;
	assert_int_equal(read_hello(h, &name), OPENING_NAMELESS);
	h = hello_without_extensions();
	assert_int_equal(read_hello(h, &name), OPENING_NAMELESS);
}

/* One hello with one change in it. */
static void expect_unreadable(struct hello h, size_t at, uint8_t byte)
{
	struct host_name name;

	h.bytes[at] = byte;
	assert_int_equal(read_hello(h, &name), OPENING_UNREADABLE);
}

static void a_hello_that_lies(void **state)
{
	static const char *const wrong[] = {"pypi.org.", ".org",      "a..b", "a b",
					    "p\x01",	 "pypi.org/", "",     "[::1]"};
	const struct hello h = hello_of("pypi.org", 0);
	struct host_name name;

	(void)state;
	expect_unreadable(h, 0, 0x15);		 /* an alert */
	expect_unreadable(h, 1, 2);		 /* SSL 2 */
	expect_unreadable(h, 5, 2);		 /* a ServerHello */
	expect_unreadable(h, 6, 1);		 /* longer than is waited for */
	expect_unreadable(h, 3, 0x40 | 1);	 /* the record is too */
	expect_unreadable(h, HELLO_SESSION, 33); /* longer than its field */
	expect_unreadable(h, HELLO_SESSION, 200);
	expect_unreadable(h, HELLO_EXTENSIONS + 1, h.bytes[HELLO_EXTENSIONS + 1] + 1);
	expect_unreadable(h, HELLO_EXTENSIONS + 1, h.bytes[HELLO_EXTENSIONS + 1] - 1);
	expect_unreadable(h, HELLO_NAME - 6, h.bytes[HELLO_NAME - 6] + 1);
	expect_unreadable(h, HELLO_NAME - 4, h.bytes[HELLO_NAME - 4] - 1);
	expect_unreadable(h, HELLO_NAME - 3, 1); /* the name of something else */
	expect_unreadable(h, HELLO_NAME - 1, h.bytes[HELLO_NAME - 1] + 1);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_int_equal(read_hello(hello_of(wrong[i], 0), &name), OPENING_UNREADABLE);
	assert_int_equal(read_hello(hello_with_two_names("a.org", "b.org"), &name),
			 OPENING_UNREADABLE);
	/* Another record between two records of it. */
	struct hello cut = hello_in_records(&h, 20);
	expect_unreadable(cut, 25, 0x17);
	/* A record of no bytes, with which a sender could go on for ever. */
	cut.bytes[28] = cut.bytes[29] = 0;
	assert_int_equal(read_hello(cut, &name), OPENING_UNREADABLE);
}

/* --- HTTP ------------------------------------------------------------------------------------ */

static enum opening read_head(const char *text, struct host_name *name)
{
	return read_copy(request_head_read, text, strlen(text), name);
}

static void a_request_names_its_host(void **state)
{
	static const char *const right[] = {
		"GET / HTTP/1.1\r\nHost: deb.debian.org\r\n\r\n",
		"GET / HTTP/1.0\r\nA: b\r\nhOsT:\tDeb.Debian.ORG \r\nX: y\r\n\r\nc\nHost: x",
		"POST /a?b HTTP/1.1\r\nHost:deb.debian.org:80\r\n\r\n",
		"OPTIONS * HTTP/1.1\r\nHost: deb.debian.org\r\n\r\n",
		"GET http://deb.debian.org/x HTTP/1.1\r\nHost: deb.debian.org\r\n\r\n",
		"GET HTTP://deb.debian.org:80 HTTP/1.1\r\nHost: deb.debian.org\r\n\r\n",
	};
	struct host_name name;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(right); i++) {
		assert_int_equal(read_head(right[i], &name), OPENING_NAMED);
		assert_string_equal(name.text, "deb.debian.org");
	}
	for (size_t len = 0; len < strlen(right[0]); len++)
		assert_int_equal(read_copy(request_head_read, right[0], len, &name),
				 OPENING_UNFINISHED);
	assert_int_equal(read_head("GET / HTTP/1.1\r\nHost: 192.0.2.1\r\n\r\n", &name),
			 OPENING_NAMED);
	assert_int_equal(read_head("GET / HTTP/1.0\r\n\r\n", &name), OPENING_NAMELESS);
	assert_int_equal(read_head("GET / HTTP/1.0\r\nHosts: a\r\n\r\n", &name), OPENING_NAMELESS);
}

static void a_request_that_lies(void **state)
{
	static const char *const wrong[] = {
		"SSH-2.0-OpenSSH\r\n",
		"\x16\x03\x01",
		"\r\nGET / HTTP/1.1\r\nHost: a.b\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"CONNECT evil.example:443 HTTP/1.1\r\nHost: a.b\r\n\r\n",
		"GET evil.example HTTP/1.1\r\nHost: a.b\r\n\r\n",
		"GET  / HTTP/1.1\r\nHost: a.b\r\n\r\n",
		"GET / HTTP/1.1 \r\nHost: a.b\r\n\r\n",
		"GET / HTTP/0.9\r\nHost: a.b\r\n\r\n",
		"GET /\r\nHost: a.b\r\n\r\n",
		"GET http://evil.example/ HTTP/1.1\r\nHost: a.b\r\n\r\n",
		"GET http://a.b@evil.example/ HTTP/1.1\r\nHost: a.b\r\n\r\n",
		"GET http:///x HTTP/1.1\r\nHost: a.b\r\n\r\n",
		"GET http:// HTTP/1.1\r\nHost: a.b\r\n\r\n",
		"GET https://a.b/ HTTP/1.1\r\nHost: a.b\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a.b\r\nHost: a.b\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a.b\r\nhost: evil.example\r\n\r\n",
		"GET / HTTP/1.1\r\nHost : evil.example\r\nHost: a.b\r\n\r\n",
		"GET / HTTP/1.1\r\nX: y\nHost: evil.example\r\nHost: a.b\r\n\r\n",
		"GET / HTTP/1.1\r\nX: y\rHost: evil.example\r\nHost: a.b\r\n\r\n",
		"GET / HTTP/1.1\r\nX: y\r\n Host: evil.example\r\nHost: a.b\r\n\r\n",
		"GET / HTTP/1.1\r\nX\r\nHost: a.b\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a.b, evil.example\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a.b:80:81\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a.b.\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: \r\n\r\n",
		"GET / HTTP/1.1\r\nHost:\r\n a.b\r\n\r\n",
		"GET / HTTP/1.1\nHost: a.b\n\n",
	};
	static const char nul[] = "GET / HTTP/1.1\r\nX: \0\r\nHost: a.b\r\n\r\n";
	struct host_name name;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		if (read_head(wrong[i], &name) != OPENING_UNREADABLE)
			fail_msg("%s", wrong[i]);
	assert_int_equal(read_copy(request_head_read, nul, sizeof(nul) - 1, &name),
			 OPENING_UNREADABLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hello_names_its_host),   cmocka_unit_test(a_hello_in_any_pieces),
		cmocka_unit_test(a_hello_without_a_name),   cmocka_unit_test(a_hello_that_lies),
		cmocka_unit_test(a_request_names_its_host), cmocka_unit_test(a_request_that_lies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
