/* SPDX-License-Identifier: MIT */
/* Tests the table of connections, and of the addresses that names have. */
#include "test_netgate.h"

#include "base/clock.h"
#include "netgate/flows.h"
#include "netgate/openings.h"
#include "netgate/pins.h"

#define SECOND (1000 * NS_PER_MS)

/* --- connections ----------------------------------------------------------------------------- */

static bool note_flow(struct flows *flows, const struct flow_key *key, bool refused, uint64_t now)
{
	bool is_new = false;

	flows_note(flows, key, refused, now, &is_new);
	return is_new;
}

/* Returns the bucket of the table. */
static unsigned bucket_of_key(const struct flow_key *key)
{
	static struct flows flows;
	unsigned found = FLOW_BUCKETS;

	flows.idle_ns = 1;
	assert_true(note_flow(&flows, key, false, 1));
	for (unsigned i = 0; i < FLOW_BUCKETS; i++)
		if (flows.table[i][0].seen)
			found = i;
	assert_in_range(found, 0, FLOW_BUCKETS - 1);
	flows.table[found][0] = (struct flow){0};
	return found;
}

/* Five connections of one bucket: the fifth replaces the one that was quiet longest, and none goes
 * to another bucket. */
static void a_bucket_holds_four(void **state)
{
	static struct flows flows = {.idle_ns = SECOND};
	struct flow_key keys[FLOW_WAYS + 1], key = {.protocol = 6, .port = 80};
	unsigned n = 0, bucket = 0, used = 0;

	(void)state;
	for (key.address = 1; n <= FLOW_WAYS; key.address++) {
		if (n && bucket_of_key(&key) != bucket)
			continue;
		bucket = bucket_of_key(&key);
		keys[n++] = key;
	}
	for (n = 0; n < FLOW_WAYS; n++)
		assert_true(note_flow(&flows, &keys[n], false, 100 + n));
	assert_false(note_flow(&flows, &keys[0], false, 200));
	assert_true(note_flow(&flows, &keys[FLOW_WAYS], false, 201));
	for (unsigned i = 0; i < FLOW_BUCKETS; i++)
		for (unsigned k = 0; k < FLOW_WAYS; k++)
			used += flows.table[i][k].seen != 0;
	assert_int_equal(used, FLOW_WAYS);
	assert_false(note_flow(&flows, &keys[0], false, 202));
	assert_false(note_flow(&flows, &keys[FLOW_WAYS], false, 203));
	assert_true(note_flow(&flows, &keys[1], false, 204)); /* the quietest went */
}

/* Two keys that differ in one part, and share a bucket by chance. */
static void each_part_makes_another_flow(void **state)
{
	(void)state;
	for (int part = 0; part < 4; part++) {
		static struct flows flows;
		struct flow_key one = {0}, other;

		memset(&flows, 0, sizeof(flows));
		do {
			one.address++;
			other = one;
			other.address += part == 0;
			other.guest_port = part == 1;
			other.port = part == 2;
			other.protocol = part == 3;
		} while (bucket_of_key(&one) != bucket_of_key(&other));
		assert_true(note_flow(&flows, &one, false, 1));
		assert_true(note_flow(&flows, &other, false, 1));
		assert_false(note_flow(&flows, &one, false, 1));
		assert_false(note_flow(&flows, &other, false, 1));
	}
}

static void the_table_of_flows_forgets_the_quietest(void **state)
{
	static struct flows flows = {.idle_ns = 100};
	struct flow_key key = {.protocol = 6, .address = 1, .port = 80};

	(void)state;
	assert_true(note_flow(&flows, &key, false, 1000));
	assert_false(note_flow(&flows, &key, false, 1100));
	assert_true(note_flow(&flows, &key, true, 1100)); /* refused is another thing */
	assert_true(note_flow(&flows, &key, false, 1201));
	for (uint32_t i = 2; i < 100000; i++) {
		struct flow_key other = {.protocol = 6, .address = i, .port = 80};

		note_flow(&flows, &other, false, 1201 + i);
		note_flow(&flows, &key, false, 1201 + i);
	}
	assert_false(note_flow(&flows, &key, false, 101201));
}

static void a_call_is_another_connection(void **state)
{
	static struct flows flows = {.idle_ns = 100};
	struct flow_key key = {.protocol = 6, .address = 1, .sequence = 5}, other = key;

	(void)state;
	other.port = 1;
	assert_true(note_flow(&flows, &key, false, 1));
	assert_false(note_flow(&flows, &key, false, 1));
	key.sequence++;
	assert_true(note_flow(&flows, &key, false, 1));
	assert_false(note_flow(&flows, &key, false, 1));
	flows_end(&flows, &other);
	assert_false(note_flow(&flows, &key, false, 1));
	flows_end(&flows, &key);
	assert_true(note_flow(&flows, &key, false, 1));
	assert_false(note_flow(&flows, &key, false, 1));
	/* When a rule ends, its connections end too. */
	for (struct flow *f = flows.table[0]; f < flows.table[FLOW_BUCKETS]; f++)
		f->state = f->seen ? FLOW_SHUT : FLOW_TOLD;
	assert_true(note_flow(&flows, &key, false, 1));
	/* A connection that is not TCP has no such number. */
	key.protocol = 17;
	assert_true(note_flow(&flows, &key, false, 1));
	key.sequence++;
	assert_false(note_flow(&flows, &key, false, 1));
}

static void what_a_name_opened_stays(void **state)
{
	static struct flows flows = {.idle_ns = 100, .tcp_idle_ns = 10000};
	struct flow_key tcp_key = {.protocol = 6, .address = 1, .port = 443}, udp_key = tcp_key;
	bool is_new;

	(void)state;
	udp_key.protocol = 17;
	assert_null(flows_find(&flows, &tcp_key, 1));
	flows_note(&flows, &tcp_key, true, 1, &is_new)->state = FLOW_TOLD;
	flows_note(&flows, &tcp_key, false, 1, &is_new)->state = FLOW_TOLD;
	assert_null(flows_find(&flows, &tcp_key, 1));
	flows_note(&flows, &tcp_key, false, 1, &is_new)->state = FLOW_OPEN;
	flows_note(&flows, &udp_key, false, 1, &is_new)->state = FLOW_OPEN;
	/* A flood of other connections takes no place of these. */
	for (uint32_t i = 2; i < 100000; i++) {
		struct flow_key other = {.protocol = 6, .address = i, .port = 80};

		flows_note(&flows, &other, i & 1, 50, &is_new);
	}
	assert_non_null(flows_find(&flows, &udp_key, 101));
	assert_null(flows_find(&flows, &udp_key, 202));
	assert_non_null(flows_find(&flows, &tcp_key, 10001));
	assert_non_null(flows_find(&flows, &tcp_key, 20001));
	assert_null(flows_find(&flows, &tcp_key, 30002));
}

static void a_rule_takes_its_connections_along(void **state)
{
	static struct flows flows = {.idle_ns = 100, .tcp_idle_ns = 100};
	struct flow_key one = {.protocol = 6, .address = 1}, other = {.protocol = 6, .address = 2},
			told = {.protocol = 6, .address = 3};
	struct flow *f;
	bool is_new;

	(void)state;
	f = flows_note(&flows, &one, false, 1, &is_new);
	f->state = FLOW_OPEN;
	f->rule = 0;
	f = flows_note(&flows, &other, false, 1, &is_new);
	f->state = FLOW_OPEN;
	f->rule = 7;
	flows_note(&flows, &told, false, 1, &is_new);
	flows_shut(&flows, 0);
	assert_int_equal(flows_find(&flows, &one, 1)->state, FLOW_SHUT);
	assert_int_equal(flows_find(&flows, &other, 1)->state, FLOW_OPEN);
	assert_null(flows_find(&flows, &told, 1));
}

/* --- their first words ----------------------------------------------------------------------- */

static void places_are_given_back(void **state)
{
	static struct openings openings = {.patience_ns = 100};
	static struct flow flows[OPENINGS_MAX + 2];

	(void)state;
	for (unsigned i = 0; i < OPENINGS_MAX; i++)
		assert_non_null(openings_of(&openings, &flows[i], 10 + i));
	assert_int_equal(openings.used, OPENINGS_MAX);
	assert_ptr_equal(openings_of(&openings, &flows[3], 99), &openings.of[3]);
	assert_null(openings_of(&openings, &flows[OPENINGS_MAX], 110));
	openings_release(&openings, &flows[5]);
	openings_release(&openings, &flows[5]);
	assert_int_equal(openings.used, OPENINGS_MAX - 1);
	assert_ptr_equal(openings_of(&openings, &flows[OPENINGS_MAX], 110), &openings.of[5]);
	/* The oldest has been held too long, and knows that it has lost its place. */
	assert_ptr_equal(openings_of(&openings, &flows[5], 111), &openings.of[0]);
	assert_int_equal(flows[0].slot, 0);
	assert_int_equal(openings.used, OPENINGS_MAX);
	openings_release(&openings, &flows[0]);
	assert_int_equal(openings.used, OPENINGS_MAX);
	/* A connection whose place in the table another has taken holds nothing. */
	flows[9] = (struct flow){.seen = 1};
	assert_ptr_equal(openings_of(&openings, &flows[OPENINGS_MAX + 1], 20), &openings.of[9]);
	assert_int_equal(openings.used, OPENINGS_MAX);
}

static void words_again_are_the_same(void **state)
{
	static struct held_opening held = {.len = 4, .bytes = "abcd"};
	const uint8_t *words = (const uint8_t *)"abcdef";

	(void)state;
	assert_true(opening_agrees(&held, 0, (struct bytes){words, 4}));
	assert_true(opening_agrees(&held, 0, (struct bytes){words, 6}));
	assert_true(opening_agrees(&held, 2, (struct bytes){words + 2, 3}));
	assert_false(opening_agrees(&held, 1, (struct bytes){words, 1}));
	assert_false(opening_agrees(&held, 3, (struct bytes){words + 4, 2}));
	assert_true(opening_agrees(&held, 4, (struct bytes){words, 6}));
}

/* --- addresses of names ---------------------------------------------------------------------- */

static struct names names;
static struct pins pins;

static int pins_setup(void **state)
{
	struct egress_rule rule;

	(void)state;
	memset(&names, 0, sizeof(names));
	memset(&pins, 0, sizeof(pins));
	assert_int_equal(egress_rule_parse("a.org", &rule, NULL), 0);
	assert_int_equal(names_add(&names, &rule), 0);
	assert_int_equal(egress_rule_parse("*.b.org:8443", &rule, NULL), 0);
	assert_int_equal(names_add(&names, &rule), 1);
	return 0;
}

static struct host_name host_of(const char *text)
{
	struct host_name name;

	assert_true(host_name_take(&name, (struct bytes){(const uint8_t *)text, strlen(text)}));
	return name;
}

static void the_list_of_names(void **state)
{
	struct host_name a = host_of("a.org"), below = host_of("x.y.b.org");
	struct egress_rule rule;

	(void)state;
	assert_int_equal(names_next(&names, &a, 0), 0);
	assert_int_equal(names_next(&names, &a, 1), -1);
	assert_int_equal(names_next(&names, &below, 0), 1);
	assert_int_equal(egress_rule_parse("y.b.org", &rule, NULL), 0);
	assert_int_equal(names_remove(&names, &rule), -1);
	assert_int_equal(egress_rule_parse("A.org:443,80", &rule, NULL), 0);
	assert_int_equal(names_add(&names, &rule), 0); /* it is there */
	assert_int_equal(names_remove(&names, &rule), 0);
	assert_int_equal(names_next(&names, &a, 0), -1);
	for (int i = 0; i < EGRESS_NAMES_MAX - 1; i++) {
		char text[32];

		snprintf(text, sizeof(text), "n%d.org", i);
		assert_int_equal(egress_rule_parse(text, &rule, NULL), 0);
		assert_true(names_add(&names, &rule) >= 0);
	}
	assert_int_equal(egress_rule_parse("one.more", &rule, NULL), 0);
	assert_int_equal(names_add(&names, &rule), -1);
}

static void a_pin_opens_until_its_time(void **state)
{
	struct host_name a = host_of("a.org"), b = host_of("x.b.org");

	(void)state;
	pins_add(&pins, 1, 0, &a, 100);
	pins_add(&pins, 1, 1, &b, 200);
	assert_int_equal(pins_find(&pins, &names, 1, 443, NULL, 99), 0);
	assert_int_equal(pins_find(&pins, &names, 1, 443, NULL, 100), -1);
	assert_int_equal(pins_find(&pins, &names, 1, 8443, NULL, 199), 1);
	assert_int_equal(pins_find(&pins, &names, 1, 22, NULL, 1), -1);
	assert_int_equal(pins_find(&pins, &names, 2, 443, NULL, 1), -1);
	assert_int_equal(pins_find(&pins, &names, 1, 8443, &a, 1), -1);
	assert_int_equal(pins_find(&pins, &names, 1, 443, &a, 1), 0);
	/* Renewed: the later end counts. */
	pins_add(&pins, 1, 0, &a, 90);
	assert_int_equal(pins_find(&pins, &names, 1, 443, &a, 99), 0);
	pins_add(&pins, 1, 0, &a, 150);
	assert_int_equal(pins_find(&pins, &names, 1, 443, &a, 149), 0);
	assert_int_equal(pins.used, 2);
	pins_drop(&pins, 1);
	assert_int_equal(pins_find(&pins, &names, 1, 8443, NULL, 1), -1);
	assert_int_equal(pins_find(&pins, &names, 1, 443, NULL, 1), 0);
}

static void the_oldest_pin_makes_room(void **state)
{
	struct host_name a = host_of("a.org");

	(void)state;
	for (uint32_t i = 1; i <= PINS_MAX; i++)
		pins_add(&pins, i, 0, &a, 100);
	pins_add(&pins, 1, 0, &a, 100);
	for (uint32_t i = PINS_MAX + 1; i <= PINS_MAX + 1000; i++)
		pins_add(&pins, i, 0, &a, 100);
	assert_int_equal(pins_find(&pins, &names, 1, 443, NULL, 1), 0);
	for (uint32_t i = 2; i <= PINS_MAX + 1000; i++)
		assert_int_equal(pins_find(&pins, &names, i, 443, NULL, 1), i <= 1001 ? -1 : 0);
	pins_drop(&pins, 0);
	for (uint32_t i = 1; i <= PINS_MAX + 1000; i++)
		assert_int_equal(pins_find(&pins, &names, i, 443, NULL, 1), -1);
	/* All places are free again. */
	for (uint32_t i = 1; i <= PINS_MAX; i++)
		pins_add(&pins, i, 0, &a, 100);
	for (uint32_t i = 1; i <= PINS_MAX; i++)
		assert_int_equal(pins_find(&pins, &names, i, 443, NULL, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bucket_holds_four),
		cmocka_unit_test(each_part_makes_another_flow),
		cmocka_unit_test(the_table_of_flows_forgets_the_quietest),
		cmocka_unit_test(a_call_is_another_connection),
		cmocka_unit_test(what_a_name_opened_stays),
		cmocka_unit_test(a_rule_takes_its_connections_along),
		cmocka_unit_test(places_are_given_back),
		cmocka_unit_test(words_again_are_the_same),
		cmocka_unit_test_setup(the_list_of_names, pins_setup),
		cmocka_unit_test_setup(a_pin_opens_until_its_time, pins_setup),
		cmocka_unit_test_setup(the_oldest_pin_makes_room, pins_setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
