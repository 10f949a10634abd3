/* SPDX-License-Identifier: MIT */
/* Tests responses of Firecracker's API: whole, in pieces, and invalid ones. */
#include "test_base.h"

#include "backend/firecracker/http.h"

#define FRONT "Server: Firecracker API\r\nConnection: keep-alive\r\n"
#define BODY_MAX 64

static int take(const char *text, struct http_response *out, struct error *err)
{
	return http_take((const uint8_t *)text, strlen(text), BODY_MAX, out, err);
}

static void an_answer_without_a_body(void **state)
{
	struct http_response r;
	struct error err = {0};

	(void)state;
	assert_int_equal(take("HTTP/1.1 204 \r\n" FRONT "\r\nHTTP/", &r, &err), 1);
	assert_int_equal(r.status, 204);
	assert_int_equal(r.body_len, 0);
	assert_int_equal(r.used, strlen("HTTP/1.1 204 \r\n" FRONT "\r\n"));
	assert_int_equal(take("HTTP/1.0 204\r\n\r\n", &r, &err), 1);
}

static void every_piece_of_an_answer_is_waited_for(void **state)
{
	static const char whole[] = "HTTP/1.1 400 Bad Request\r\n" FRONT
				    "content-length:  21 \r\n\r\n{\"fault_message\":\"no\"}";
	struct http_response r;
	struct error err = {0};

	(void)state;
	for (size_t n = 0; n < sizeof(whole) - 2; n++)
		assert_int_equal(http_take((const uint8_t *)whole, n, BODY_MAX, &r, &err), 0);
	assert_int_equal(take(whole, &r, &err), 1);
	assert_int_equal(r.status, 400);
	assert_int_equal(r.body_len, 21);
	assert_memory_equal(r.body, "{\"fault_message\":", 17);
}

static void what_is_none_is_refused(void **state)
{
	static const char *const none[] = {
		"hello\r\n\r\n",
		"HTTP/2 200 OK\r\n\r\n",
		"HTTP/1.1 20 OK\r\n\r\n",
		"HTTP/1.1 2000\r\n\r\n",
		"HTTP/1.1  200\r\n\r\n",
		"HTTP/1.1 200 OK\r\nno header\r\n\r\n",
		"HTTP/1.1 200 OK\r\n: x\r\n\r\n",
		"HTTP/1.1 200 OK\r\nA B: x\r\n\r\n",
		"HTTP/1.1 200 OK\nContent-Length: 2\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 1x\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
		"HTTP/1.1 200 OK\r\nContent-Length: 9999999999\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 65\r\n\r\n",
		"HTTP/1.1 204 \r\nContent-Length: 2\r\n\r\n{}",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
	};
	struct http_response r;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
		struct error err = {0};

		if (take(none[i], &r, &err) != -1)
			fail_msg("accepted: %s", none[i]);
		assert_code(err, ERR_IO);
	}
}

static void headers_have_an_end(void **state)
{
	autofree char *text = malloc(HTTP_HEAD_MAX + 1);
	struct http_response r;
	struct error err = {0};

	(void)state;
	memset(text, 'a', HTTP_HEAD_MAX);
	memcpy(text, "HTTP/1.1 200 OK\r\nA: ", 20);
	text[HTTP_HEAD_MAX] = '\0';
	assert_int_equal(http_take((const uint8_t *)text, HTTP_HEAD_MAX - 1, BODY_MAX, &r, &err),
			 0);
	assert_int_equal(take(text, &r, &err), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_without_a_body),
		cmocka_unit_test(every_piece_of_an_answer_is_waited_for),
		cmocka_unit_test(what_is_none_is_refused),
		cmocka_unit_test(headers_have_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
