/* SPDX-License-Identifier: MIT */
/* Tests the network of the run config, and a DHCP server that lies. */
#include "test_base.h"

#include <arpa/inet.h>
#include <jansson.h>

#include "guest/machine/dhcp.h"
#include "guest/machine/network.h"
#include "guest/machine/pnp.h"

#define TRANSACTION 0x12345678u

static const uint8_t mac[6] = {2, 0, 0, 0, 0, 1};

static void addresses_are_decoded(void **state)
{
	json_auto_t *object =
		json_pack("{s:s, s:i, s:s, s:[s, s], s:i}", "address", "10.0.2.15", "prefixLength",
			  24, "gateway", "10.0.2.2", "dns", "10.0.2.3", "10.0.2.4", "mtu", 65520);
	struct network n;
	struct error err = {0};
	char text[128];

	(void)state;
	assert_ok(network_decode(object, &n, &err));
	assert_int_equal(n.address.s_addr, htonl(0x0a00020f));
	assert_int_equal(n.netmask.s_addr, htonl(0xffffff00));
	assert_int_equal(n.gateway.s_addr, htonl(0x0a000202));
	assert_int_equal(n.mtu, 65520);
	network_resolv_conf(&n, text, sizeof(text));
	assert_string_equal(text, "nameserver 10.0.2.3\nnameserver 10.0.2.4\noptions edns0\n");
}

static void wrong_addresses_are_refused(void **state)
{
	static const char *const wrong[] = {
		"{}",
		"{\"address\": \"10.0.2.15\"}",
		"{\"address\": \"x\", \"prefixLength\": 24}",
		"{\"address\": \"10.0.2.15\", \"prefixLength\": 33}",
		"{\"address\": \"10.0.2.15\", \"prefixLength\": 24, \"gateway\": \"::1\"}",
		"{\"address\": \"10.0.2.15\", \"prefixLength\": 24, \"dns\": [7]}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		json_auto_t *object = json_loads(wrong[i], 0, NULL);
		struct network n;
		struct error err = {0};

		assert_int_equal(network_decode(object, &n, &err), -1);
		assert_code(err, ERR_INVALID);
	}
}

/* Makes an OFFER or ACK as a server does. Returns its length. */
static size_t answer(uint8_t out[DHCP_MESSAGE_MAX], uint8_t kind)
{
	const uint8_t options[] = {53,	1, kind, 54, 4, 192, 168, 1, 1, 1,    4,  255, 255,
				   255, 0, 0,	 3,  4, 192, 168, 1, 1, 6,    8,  9,   9,
				   9,	9, 8,	 8,  8, 8,   26,  2, 5, 0xdc, 255};
	size_t len = dhcp_make(out, DHCP_DISCOVER, TRANSACTION, mac, NULL);
	const uint32_t address = htonl(0xc0a80164);

	out[0] = 2;
	memcpy(out + 16, &address, 4);
	memset(out + 240, 0, len - 240);
	memcpy(out + 240, options, sizeof(options));
	return 240 + sizeof(options);
}

static void an_offer_is_read(void **state)
{
	uint8_t bytes[DHCP_MESSAGE_MAX];
	size_t len = answer(bytes, DHCP_OFFER);
	struct dhcp_answer got;
	struct error err = {0};

	(void)state;
	assert_ok(dhcp_read(bytes, len, TRANSACTION, mac, &got, &err));
	assert_int_equal(got.kind, DHCP_OFFER);
	assert_int_equal(got.server.s_addr, htonl(0xc0a80101));
	assert_int_equal(got.network.address.s_addr, htonl(0xc0a80164));
	assert_int_equal(got.network.netmask.s_addr, htonl(0xffffff00));
	assert_int_equal(got.network.gateway.s_addr, htonl(0xc0a80101));
	assert_int_equal(got.network.ndns, 2);
	assert_int_equal(got.network.mtu, 1500);
}

static void a_request_names_the_offer(void **state)
{
	uint8_t bytes[DHCP_MESSAGE_MAX], made[DHCP_MESSAGE_MAX];
	size_t len = answer(bytes, DHCP_OFFER);
	struct dhcp_answer offer;
	struct error err = {0};

	(void)state;
	assert_ok(dhcp_read(bytes, len, TRANSACTION, mac, &offer, &err));
	len = dhcp_make(made, DHCP_REQUEST, TRANSACTION, mac, &offer);
	assert_in_range(len, 300, DHCP_MESSAGE_MAX);
	assert_memory_equal(made + 240,
			    "\x35\x01\x03\x32\x04\xc0\xa8\x01\x64\x36\x04\xc0\xa8\x01\x01", 15);
}

/* Cut anywhere, or with any one byte changed: an answer or an error, and never a read beyond the
 * end. */
static void a_server_that_lies(void **state)
{
	uint8_t bytes[DHCP_MESSAGE_MAX];
	size_t whole = answer(bytes, DHCP_ACK);
	struct dhcp_answer got;
	struct error err = {0};

	(void)state;
	for (size_t len = 0; len <= whole; len++) {
		uint8_t *copy = malloc(len ? len : 1);

		memcpy(copy, bytes, len);
		int rc = dhcp_read(copy, len, TRANSACTION, mac, &got, &err);
		if (len < 240)
			assert_int_equal(rc, -1);
		free(copy);
	}
	for (size_t i = 0; i < whole; i++)
		for (unsigned v = 0; v < 256; v++) {
			uint8_t *copy = malloc(whole);

			memcpy(copy, bytes, whole);
			copy[i] = (uint8_t)v;
			if (dhcp_read(copy, whole, TRANSACTION, mac, &got, &err) == 0)
				assert_in_range(got.network.ndns, 0, NETWORK_DNS_MAX);
			free(copy);
		}
}

static void answers_to_others_are_passed_over(void **state)
{
	static const uint8_t other[6] = {2, 0, 0, 0, 0, 2};
	uint8_t bytes[DHCP_MESSAGE_MAX];
	size_t len = answer(bytes, DHCP_ACK);
	struct dhcp_answer got;
	struct error err = {0};

	(void)state;
	assert_int_equal(dhcp_read(bytes, len, TRANSACTION + 1, mac, &got, &err), -1);
	assert_int_equal(dhcp_read(bytes, len, TRANSACTION, other, &got, &err), -1);
	len = answer(bytes, 99);
	assert_int_equal(dhcp_read(bytes, len, TRANSACTION, mac, &got, &err), -1);
	len = answer(bytes, DHCP_ACK);
	bytes[240 + 14] = 0x0f; /* a netmask with a hole */
	assert_int_equal(dhcp_read(bytes, len, TRANSACTION, mac, &got, &err), -1);
}

/* --- what the kernel was told ----------------------------------------------------------------- */

static void resolv_conf_of(const char *pnp, char out[512])
{
	struct network n = {0};

	assert_true(pnp_read(pnp, &n));
	assert_in_range(n.ndns, 0, NETWORK_DNS_MAX);
	network_resolv_conf(&n, out, 512);
}

static void names_of_the_kernels_lease(void **state)
{
	char text[512];

	(void)state;
	resolv_conf_of("#PROTO: DHCP\ndomain lan.example\nnameserver 10.0.2.3\n"
		       "nameserver 10.0.2.4\nbootserver 10.0.2.2\n",
		       text);
	assert_string_equal(
		text,
		"search lan.example\nnameserver 10.0.2.3\nnameserver 10.0.2.4\noptions edns0\n");
	resolv_conf_of("#PROTO: DHCP\n", text);
	assert_string_equal(text, "");
	/* The C library reads three. */
	resolv_conf_of("#PROTO: DHCP\nnameserver 9.9.9.1\nnameserver 9.9.9.2\nnameserver 9.9.9.3\n"
		       "nameserver 9.9.9.4",
		       text);
	assert_string_equal(
		text,
		"nameserver 9.9.9.1\nnameserver 9.9.9.2\nnameserver 9.9.9.3\noptions edns0\n");
}

static void a_kernel_that_has_asked_nobody(void **state)
{
	static const char *const without[] = {"", "#MANUAL\n", "#PROTO:", "nameserver 1.2.3.4\n",
					      "#MANUAL\nnameserver 1.2.3.4\n"};

	(void)state;
	for (size_t i = 0; i < sizeof(without) / sizeof(*without); i++) {
		struct network n = {.ndns = 7, .domain = "untouched"};

		assert_false(pnp_read(without[i], &n));
		assert_int_equal(n.ndns, 7);
		assert_string_equal(n.domain, "untouched");
	}
}

static void names_that_are_none_are_left_out(void **state)
{
	char domain[600], text[512];

	(void)state;
	resolv_conf_of(
		"#PROTO: DHCP\ndomain a b\nnameserver 1.2.3\nnameserver \nnameserver  1.2.3.4\n"
		"nameserver 1.2.3.4 5\nnameserver 4.3.2.1\n",
		text);
	assert_string_equal(text, "nameserver 4.3.2.1\noptions edns0\n");
	resolv_conf_of("#PROTO: DHCP\ndomain \ndomain x;options\ndomain \x1b[2J\n", text);
	assert_string_equal(text, "");
	for (size_t len = 250; len < 260; len++) {
		snprintf(domain, sizeof(domain), "#PROTO: DHCP\ndomain %0*d\n", (int)len, 0);
		resolv_conf_of(domain, text);
		assert_int_equal(strlen(text) > 0, len < NETWORK_DOMAIN);
	}
}

/* As of a_server_that_lies. */
static void a_lease_that_lies(void **state)
{
	static const char whole[] = "#PROTO: DHCP\ndomain lan.example\nnameserver 10.0.2.3\n"
				    "nameserver 10.0.2.4\nbootserver 10.0.2.2\n";
	char text[512];
	struct network n;

	(void)state;
	for (size_t i = 0; i < sizeof(whole); i++)
		for (unsigned v = 0; v < 256; v++) {
			char *copy = malloc(sizeof(whole));

			memcpy(copy, whole, sizeof(whole));
			copy[i] = i + 1 < sizeof(whole) ? (char)v : '\0';
			n = (struct network){0};
			if (pnp_read(copy, &n))
				network_resolv_conf(&n, text, sizeof(text));
			assert_in_range(n.ndns, 0, NETWORK_DNS_MAX);
			free(copy);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_are_decoded),
		cmocka_unit_test(wrong_addresses_are_refused),
		cmocka_unit_test(an_offer_is_read),
		cmocka_unit_test(a_request_names_the_offer),
		cmocka_unit_test(a_server_that_lies),
		cmocka_unit_test(answers_to_others_are_passed_over),
		cmocka_unit_test(names_of_the_kernels_lease),
		cmocka_unit_test(a_kernel_that_has_asked_nobody),
		cmocka_unit_test(names_that_are_none_are_left_out),
		cmocka_unit_test(a_lease_that_lies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
