/* SPDX-License-Identifier: MIT */
/*
 * A list whose links are parts of its members. So adding a member allocates no memory, and a member
 * can be removed by a caller that does not know the list.
 *
 *   struct call { struct list_link link; ... };
 *   struct list calls;                      list_init(&calls);
 *   list_add(&calls, &call->link);          list_remove(&call->link);
 *   list_each(call, &calls, link) ...
 */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list_link {
	struct list_link *next, *before; /* the neighbours in the ring that the links form with the
					  * list's head; NULL: the link is in no list */
};
struct list {
	struct list_link head;
};

/* Makes an empty list. A zeroed struct is not a list. The struct must not be moved in memory after
 * this call. */
static inline void list_init(struct list *list)
{
	list->head.next = list->head.before = &list->head;
}
static inline bool list_is_empty(const struct list *list)
{
	return list->head.next == &list->head;
}
/* Adds `link`, which must be in no list, before `other`. If `other` is the head of a list, `link`
 * becomes the last link of that list. */
static inline void list_add_before(struct list_link *other, struct list_link *link)
{
	link->next = other;
	link->before = other->before;
	other->before->next = link;
	other->before = link;
}
static inline void list_add(struct list *list, struct list_link *link)
{
	list_add_before(&list->head, link);
}
static inline void list_add_first(struct list *list, struct list_link *link)
{
	list_add_before(list->head.next, link);
}
static inline bool list_has(const struct list_link *link)
{
	return link->next != NULL;
}
/* Removes a link from its list. Does nothing if the link is in no list, as a zeroed link is. */
static inline void list_remove(struct list_link *link)
{
	if (!list_has(link))
		return;
	link->before->next = link->next;
	link->next->before = link->before;
	link->next = link->before = NULL;
}

#define list_of(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))
/* The first member of the list, as a pointer to `type`; NULL if the list is empty. */
#define list_first(list, type, member) \
	(list_is_empty(list) ? NULL : list_of((list)->head.next, type, member))
/* Walks a list. `each` is a variable that points to one member after the other. The body of the
 * loop may remove and free this member, but not the member after it. */
#define list_each(each, list, member)                                                          \
	for (struct list_link *each##_at = (list)->head.next, *each##_after = each##_at->next; \
	     each##_at != &(list)->head &&                                                     \
	     ((each) = list_of(each##_at, __typeof__(*(each)), member), true);                 \
	     each##_at = each##_after, each##_after = each##_at->next)

#endif
