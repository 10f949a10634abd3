/* SPDX-License-Identifier: MIT */
/* Implements each descriptor of waitable.h by the kind that Linux has for its purpose: eventfd,
 * signalfd, timerfd or epoll. */
#include "base/platform/waitable.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

int wake_open(void)
{
	return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

void wake_raise(int wake)
{
	const uint64_t one = 1;
	int saved = errno;

	/* write() fails only if `wake` was raised 2^64 times and never cleared. */
	(void)!write(wake, &one, sizeof(one));
	errno = saved;
}

void wake_clear(int wake)
{
	uint64_t count;

	(void)!read(wake, &count, sizeof(count));
}

int signal_fd_open(const sigset_t *set)
{
	return signalfd(-1, set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int signal_fd_take(int fd)
{
	struct signalfd_siginfo info;

	return read(fd, &info, sizeof(info)) == sizeof(info) ? (int)info.ssi_signo : 0;
}

int timer_fd_open(uint64_t ms)
{
	const struct itimerspec when = {.it_value = {.tv_sec = (time_t)(ms / 1000),
						     .tv_nsec = (long)(ms % 1000) * 1000000}};
	autoclose int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	if (timer < 0 || timerfd_settime(timer, 0, &when, NULL) < 0)
		return -1;
	return steal_fd(&timer);
}

bool timer_fd_is_due(int timer)
{
	uint64_t times;

	return read(timer, &times, sizeof(times)) > 0;
}

int any_fd_open(void)
{
	return epoll_create1(EPOLL_CLOEXEC);
}

int any_fd_add(int any, int fd)
{
	struct epoll_event event = {.events = EPOLLIN};

	return epoll_ctl(any, EPOLL_CTL_ADD, fd, &event) < 0 && errno != EEXIST ? -1 : 0;
}

/* Sets a timer to a time far in the future. When the wall clock is set, the kernel cancels the
 * timer, and `fd` becomes readable. */
static int arm_far_timer(int fd)
{
	const struct itimerspec far = {.it_value.tv_sec = INT32_MAX};

	return timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &far, NULL);
}

int clock_set_fd_open(void)
{
	autoclose int fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);

	return fd < 0 || arm_far_timer(fd) < 0 ? -1 : steal_fd(&fd);
}

int clock_set_fd_take(int fd)
{
	uint64_t count;

	if (read(fd, &count, sizeof(count)) < 0 && errno == EAGAIN)
		return 0;
	return arm_far_timer(fd) < 0 ? -1 : 1;
}
