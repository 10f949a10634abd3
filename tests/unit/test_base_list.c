/* SPDX-License-Identifier: MIT */
/* Tests the intrusive list. */
#include "base/list.h"
#include "test_base.h"

struct item {
	int number;
	struct list_link link;
};

static void assert_numbers(const struct list *list, const char *expected)
{
	char text[64] = "";
	struct item *item;

	list_each (item, list, link)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%d", item->number);
	assert_string_equal(text, expected);
}

static void put_in_order(void **state)
{
	struct item items[] = {{.number = 1}, {.number = 2}, {.number = 3}, {.number = 4}};
	struct list list;

	(void)state;
	list_init(&list);
	assert_true(list_is_empty(&list));
	assert_null(list_first(&list, struct item, link));
	list_add(&list, &items[1].link);
	list_add(&list, &items[2].link);
	list_add_first(&list, &items[0].link);
	assert_numbers(&list, "123");
	list_add_before(&items[2].link, &items[3].link);
	assert_numbers(&list, "1243");
	assert_ptr_equal(list_first(&list, struct item, link), &items[0]);
}

static void taken_out_once(void **state)
{
	struct item items[] = {{.number = 1}, {.number = 2}, {.number = 3}};
	struct list list;

	(void)state;
	list_init(&list);
	list_remove(&items[0].link); /* it is in none */
	for (size_t i = 0; i < ARRAY_SIZE(items); i++)
		list_add(&list, &items[i].link);
	list_remove(&items[1].link);
	assert_false(list_has(&items[1].link));
	assert_numbers(&list, "13");
	list_remove(&items[1].link);
	list_remove(&items[2].link);
	list_remove(&items[0].link);
	assert_true(list_is_empty(&list));
	list_add(&list, &items[1].link);
	assert_numbers(&list, "2");
}

static void the_one_in_hand_may_go(void **state)
{
	struct item *items[3], *item;
	struct list list;
	int seen = 0;

	(void)state;
	list_init(&list);
	for (int i = 0; i < 3; i++) {
		items[i] = calloc(1, sizeof(*items[i]));
		items[i]->number = i;
		list_add(&list, &items[i]->link);
	}
	list_each (item, &list, link) {
		assert_int_equal(item->number, seen++);
		list_remove(&item->link);
		free(item);
	}
	assert_int_equal(seen, 3);
	assert_true(list_is_empty(&list));
}

static void a_loop_may_be_left(void **state)
{
	struct item items[] = {{.number = 1}, {.number = 2}, {.number = 3}};
	struct item *item;
	struct list list;
	int seen = 0;

	(void)state;
	list_init(&list);
	for (size_t i = 0; i < ARRAY_SIZE(items); i++)
		list_add(&list, &items[i].link);
	list_each (item, &list, link) {
		seen++;
		if (item->number == 2)
			break;
	}
	assert_int_equal(seen, 2);
	assert_int_equal(item->number, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(put_in_order),
		cmocka_unit_test(taken_out_once),
		cmocka_unit_test(the_one_in_hand_may_go),
		cmocka_unit_test(a_loop_may_be_left),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
