/* SPDX-License-Identifier: MIT */
/* Waits by epoll. A timerfd ends the wait at the deadline, because the timeout of epoll_wait() has
 * a resolution of only one millisecond. */
#include "base/platform/poller.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/loop.h"

static_assert(LOOP_IN == EPOLLIN && LOOP_PRI == EPOLLPRI && LOOP_OUT == EPOLLOUT &&
		      LOOP_ERR == EPOLLERR && LOOP_HUP == EPOLLHUP && LOOP_RDHUP == EPOLLRDHUP &&
		      LOOP_EDGE == EPOLLET,
	      "events go to epoll and come from it as they are");

struct poller {
	int epoll;
	int timer;	/* the timerfd; in its events, the member `data` is NULL */
	uint64_t armed; /* the deadline for which the timer is set; 0: the timer is not set */
};

struct poller *poller_new(void)
{
	struct epoll_event ev = {.events = EPOLLIN};
	struct poller *p = calloc(1, sizeof(*p));
	int why;

	if (!p)
		return NULL;
	p->epoll = epoll_create1(EPOLL_CLOEXEC);
	p->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (p->epoll >= 0 && p->timer >= 0 &&
	    epoll_ctl(p->epoll, EPOLL_CTL_ADD, p->timer, &ev) == 0)
		return p;
	why = errno;
	poller_free(p);
	errno = why;
	return NULL;
}

void poller_free(struct poller *p)
{
	if (!p)
		return;
	cleanup_close(&p->epoll);
	cleanup_close(&p->timer);
	free(p);
}

int poller_set(struct poller *p, int fd, uint32_t from, uint32_t to, void *data)
{
	struct epoll_event ev = {.events = to, .data.ptr = data};
	int op = !to ? EPOLL_CTL_DEL : from ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

	return epoll_ctl(p->epoll, op, fd, &ev);
}

/*
 * Sets the timerfd for a deadline. The timerfd only ends the wait. Which timers of the loop have
 * reached their deadline is decided by the loop's clock. If the wait ends too early, this does no
 * harm. So the timerfd is set again only for an earlier deadline. Setting the timerfd less often
 * saves system calls, because most timers of the loop are removed before their deadline.
 */
static int arm_loop_timer(struct poller *p, uint64_t deadline)
{
	struct itimerspec at = {.it_value = {.tv_sec = (time_t)(deadline / NS_PER_S),
					     .tv_nsec = (long)(deadline % NS_PER_S)}};

	if (p->armed && p->armed <= deadline)
		return 0;
	if (timerfd_settime(p->timer, TFD_TIMER_ABSTIME, &at, NULL) < 0)
		return -1;
	p->armed = deadline;
	return 0;
}

int poller_wait(struct poller *p, struct poller_event events[POLLER_EVENTS], int timeout_ms,
		uint64_t deadline_ns)
{
	struct epoll_event got[POLLER_EVENTS];
	int n, count = 0;
	uint64_t times;

	if (timeout_ms && deadline_ns != UINT64_MAX && arm_loop_timer(p, deadline_ns) < 0)
		return -1;
	n = epoll_wait(p->epoll, got, POLLER_EVENTS, timeout_ms);
	for (int i = 0; i < n; i++) {
		if (!got[i].data.ptr) {
			(void)!read(p->timer, &times, sizeof(times));
			p->armed = 0;
		} else {
			events[count++] = (struct poller_event){got[i].data.ptr, got[i].events};
		}
	}
	return n < 0 ? -1 : count;
}
