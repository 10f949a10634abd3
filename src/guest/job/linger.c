/* SPDX-License-Identifier: MIT */
#include "guest/job/linger.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"

struct linger {
	struct job_table *table;
	struct list_link link;
	struct loop_watch *watch;
	int fd;
};

static void linger_end(struct linger *l)
{
	list_remove(&l->link);
	l->table->nlingering--;
	loop_remove(l->watch);
	close(l->fd);
	free(l);
}

static void on_lingering(struct loop *loop, int fd, uint32_t events, void *data)
{
	static uint8_t dropped[65536];
	ssize_t n = read(fd, dropped, sizeof(dropped));

	(void)loop;
	(void)events;
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		linger_end(data);
}

void linger_add(struct job_table *table, int fd)
{
	struct linger *l = NULL;

	if (table->nlingering < limit_get(LIMIT_AGENT_LINGERING))
		l = calloc(1, sizeof(*l));
	if (l) {
		*l = (struct linger){.table = table, .fd = fd};
		l->watch = loop_add_fd(table->loop, fd, LOOP_IN, on_lingering, l, NULL);
	}
	if (!l || !l->watch) {
		close(fd);
		free(l);
		return;
	}
	list_add(&table->lingering, &l->link);
	table->nlingering++;
}

void linger_free_all(struct job_table *table)
{
	struct linger *l;

	list_each (l, &table->lingering, link)
		linger_end(l);
}
