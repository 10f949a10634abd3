/* SPDX-License-Identifier: MIT */
#include "base/forward.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/platform/descriptor.h"
#include "base/relay.h"

/* One accepted connection. While spec.reach() makes the connection to the target, the forward
 * closes it. Afterwards a relay joins the two connections and closes both. */
struct passage {
	struct forward *forward;
	struct list_link link;
	int fd;	       /* the accepted connection; -1 when the relay is responsible for it */
	void *attempt; /* the attempt that spec.reach() has returned; NULL when it is over */
	struct relay *relay;
};

struct forward {
	struct loop *loop;
	struct forward_spec spec;
	struct list_link among; /* the link of this forward in the list of spec.bound */
	struct loop_watch *watch;
	struct loop_watch *again; /* the timer after which the forward accepts again; NULL unless
				   * descriptors are lacking */
	bool open;
	unsigned count;
	struct list passages;
};

static bool has_room(const struct forward *f)
{
	const struct forward_bound *bound = f->spec.bound;

	return f->count < f->spec.most && (!bound || bound->count < bound->most);
}

static int listen_if_room(struct forward *f, struct error *err)
{
	bool listens = f->open && !f->again && (f->spec.refuse || has_room(f));

	return loop_set_events(f->watch, listens ? LOOP_IN : 0, err);
}

/* Makes all forwards of a bound accept connections while the bound allows more connections. At the
 * bound, makes them stop accepting; new connections then wait in the kernel's queue. */
static void listen_within(const struct forward_bound *bound)
{
	struct forward *f;

	list_each (f, &bound->forwards, among)
		(void)listen_if_room(f, NULL);
}

/* Changes the counts of connections by `change`: 1 for a new connection, -1 for a closed one. */
static void count_passage(struct forward *f, int change)
{
	struct forward_bound *bound = f->spec.bound;

	f->count += (unsigned)change;
	if (!bound)
		return;
	bound->count += (unsigned)change;
	listen_within(bound);
}

static void drop_passage(struct passage *p)
{
	struct forward *f = p->forward;

	if (p->attempt)
		f->spec.give_up(p->attempt);
	relay_free(p->relay);
	if (p->fd >= 0)
		close(p->fd);
	list_remove(&p->link);
	count_passage(f, -1);
	free(p);
}

static void end_passage(struct passage *p)
{
	struct forward *f = p->forward;

	drop_passage(p);
	(void)listen_if_room(f, NULL);
}

static void on_ended(void *data)
{
	end_passage(data);
}

static void tell(const struct forward *f, const struct error *why)
{
	if (f->spec.failed)
		f->spec.failed(f->spec.data, why);
}

static void on_reached(void *data, int fd, const struct error *why)
{
	struct passage *p = data;
	struct error err = {0};

	p->attempt = NULL;
	if (fd >= 0) {
		p->relay = relay_new(p->forward->loop, steal_fd(&p->fd), fd, on_ended, p, &err);
		why = &err;
	}
	if (p->relay)
		return;
	tell(p->forward, why);
	end_passage(p);
}

static void admit(struct forward *f, int fd)
{
	struct passage *p = calloc(1, sizeof(*p));
	struct error err = {0};

	if (!p) {
		close(fd);
		return;
	}
	*p = (struct passage){.forward = f, .fd = fd};
	list_add_first(&f->passages, &p->link);
	count_passage(f, 1);
	p->attempt = f->spec.reach(f->spec.data, fd, on_reached, p, &err);
	if (p->attempt)
		return;
	tell(f, &err);
	drop_passage(p);
}

static void on_again(struct loop *loop, void *data)
{
	struct forward *f = data;

	(void)loop;
	f->again = NULL;
	(void)listen_if_room(f, NULL);
}

static void on_listener(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct forward *f = data;
	struct sockaddr_storage peer = {0};
	int accepted;

	(void)events;
	/* In this round of the loop, another forward of the same bound may already have accepted
	 * the last connection that the bound allows. */
	if (!f->spec.refuse && !has_room(f))
		return;
	accepted = descriptor_accept(fd, &peer, true);
	if (accepted < 0 && fd_is_lacking(errno))
		f->again = loop_add_timer(loop, limit_deadline(LIMIT_ACCEPT_AGAIN_MS), on_again, f,
					  NULL);
	if (accepted >= 0 && (!has_room(f) || (f->spec.admits && !f->spec.admits(&peer))))
		close(accepted);
	else if (accepted >= 0)
		admit(f, accepted);
	(void)listen_if_room(f, NULL);
}

void forward_bound_init(struct forward_bound *bound, unsigned most)
{
	bound->most = most;
	bound->count = 0;
	list_init(&bound->forwards);
}

struct forward *forward_new(struct loop *loop, const struct forward_spec *spec, struct error *err)
{
	struct forward *f = calloc(1, sizeof(*f));

	if (!f) {
		close(spec->listen_fd);
		error_errno(err, ENOMEM, "memory");
		return NULL;
	}
	f->loop = loop;
	f->spec = *spec;
	list_init(&f->passages);
	f->watch = loop_add_fd(loop, spec->listen_fd, 0, on_listener, f, err);
	if (!f->watch) {
		forward_free(f);
		return NULL;
	}
	if (spec->bound)
		list_add(&spec->bound->forwards, &f->among);
	return f;
}

int forward_open(struct forward *forward, struct error *err)
{
	forward->open = true;
	return listen_if_room(forward, err);
}

void forward_shut(struct forward *forward)
{
	forward->open = false;
	(void)listen_if_room(forward, NULL);
}

unsigned forward_count(const struct forward *forward)
{
	return forward->count;
}

void forward_free(struct forward *forward)
{
	struct passage *passage;

	if (!forward)
		return;
	forward->open = false;
	list_each (passage, &forward->passages, link)
		drop_passage(passage);
	list_remove(&forward->among);
	loop_remove(forward->watch);
	loop_remove(forward->again);
	close(forward->spec.listen_fd);
	free(forward);
}
