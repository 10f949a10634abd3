/* SPDX-License-Identifier: MIT */
#include "vsockd/daemon.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/vsockd_tells.h"

#define EVENTS_PER_ROUND 64

static int watch_link(struct daemon *d, int fd, struct error *err)
{
	vhost_link_init(&d->link, fd);
	d->connected = true;
	if (poll_add(d->epfd, fd, EPOLLIN | EPOLLRDHUP | EPOLLET,
		     (union poll_ref){.type = POLL_VHOST}) < 0)
		return error_errno(err, errno, "watch the front-end");
	return 0;
}

static int watch_port(struct daemon *d, struct error *err)
{
	if (poll_add(d->epfd, d->port.fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
		     (union poll_ref){.type = POLL_PORT}) < 0)
		return error_errno(err, errno, "watch the port");
	return 0;
}

static int watch_face(struct daemon *d, const struct daemon_face *face, struct error *err)
{
	if (face->port_fd >= 0)
		return watch_port(d, err);
	if (face->port_listen >= 0)
		return poll_add(d->epfd, face->port_listen, EPOLLIN,
				(union poll_ref){.type = POLL_PORT_LISTEN}) < 0
			       ? error_errno(err, errno, "watch for the port")
			       : 0;
	if (face->vhost_fd >= 0)
		return watch_link(d, face->vhost_fd, err);
	if (poll_add(d->epfd, d->vhost_listen, EPOLLIN,
		     (union poll_ref){.type = POLL_VHOST_LISTEN}) < 0)
		return error_errno(err, errno, "watch for the front-end");
	return 0;
}

int daemon_init(struct daemon *d, struct core_config *config, const struct daemon_face *face,
		struct log *log, struct error *err)
{
	d->epfd = epoll_create1(EPOLL_CLOEXEC);
	if (d->epfd < 0)
		return error_errno(err, errno, "epoll");
	d->vhost_listen = face->vhost_listen;
	d->port_listen = face->port_listen;
	d->log = log;
	d->busy_fd = -1;
	d->idle_ms = (int)(limit_get(LIMIT_VSOCK_IDLE_MS) % INT_MAX);
	d->drain_ns = limit_get(LIMIT_VSOCK_DRAIN_MS) * NS_PER_MS;
	config->epfd = d->epfd;
	config->log = log;
	if (core_init(&d->core, config, err) < 0)
		return -1;
	device_init(&d->device, &d->core, config->guest_cid, d->epfd, log);
	port_init(&d->port, &d->core, config->guest_cid, face->port_fd, log);
	return watch_face(d, face, err);
}

/* --- events: one function for each type of descriptor ---------------------------------------- */

/* Begins to end the daemon: closes the connection to the guest, and sets the time of the end. From
 * now on no host clients are accepted, since no guest would answer them. */
static void begin_end(struct daemon *d)
{
	device_disconnect(&d->device);
	if (d->connected) {
		poll_remove(d->epfd, d->link.fd);
		close(d->link.fd);
	}
	d->connected = false;
	if (d->port.fd >= 0) {
		poll_remove(d->epfd, d->port.fd);
		close(steal_fd(&d->port.fd));
	}
	core_stop_listening(&d->core);
	d->end = clock_mono_ns() + d->drain_ns;
}

static int read_vhost_link(struct daemon *d, struct error *err)
{
	int rc = vhost_link_read(&d->link, &d->device, err);

	d->link_again = rc == 2;
	if (rc == 0)
		begin_end(d);
	return rc < 0 ? -1 : 0;
}

typedef int event_fn(struct daemon *d, union poll_ref ref, uint32_t events, struct error *err);

static int on_vhost(struct daemon *d, union poll_ref ref, uint32_t events, struct error *err)
{
	(void)ref, (void)events;
	return d->connected ? read_vhost_link(d, err) : 0;
}

/* Accepts one connection and closes the listener, since only one connection is allowed. Returns 1
 * if *out has the connection, 0 if there is no connection yet, -1 with an error. */
static int accept_one(int *listener, int *out, struct error *err)
{
	/* cppcheck-suppress nullPointer ; accept4() allows it */
	int fd = accept4(*listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0 && (errno == EAGAIN || errno == ECONNABORTED || errno == EINTR))
		return 0;
	if (fd < 0)
		return error_errno(err, errno, "accept the guest's end");
	close(steal_fd(listener));
	*out = fd;
	return 1;
}

static int on_vhost_listen(struct daemon *d, union poll_ref ref, uint32_t events, struct error *err)
{
	int fd = -1, accepted = accept_one(&d->vhost_listen, &fd, err);

	(void)ref, (void)events;
	return accepted > 0 ? watch_link(d, fd, err) : accepted;
}

/* Accepts the guest's connection that is used as the port. Only the first connection is accepted.
 * This connection comes from the guest's agent, which connects before any workload of the guest
 * runs. */
static int on_port_listen(struct daemon *d, union poll_ref ref, uint32_t events, struct error *err)
{
	int accepted = accept_one(&d->port_listen, &d->port.fd, err);

	(void)ref, (void)events;
	return accepted > 0 ? watch_port(d, err) : accepted;
}

/* Does nothing, since daemon_run() looks at the rings after every round. The eventfd is never read:
 * its watch is edge-triggered, so its count does not matter, and a count of 64 bits never
 * overflows. */
static int on_kick(struct daemon *d, union poll_ref ref, uint32_t events, struct error *err)
{
	(void)d, (void)ref, (void)events, (void)err;
	return 0;
}

/* Notes the event of the port. daemon_run() looks at the port after every round. */
static int on_port(struct daemon *d, union poll_ref ref, uint32_t events, struct error *err)
{
	(void)ref, (void)err;
	port_event(&d->port, events);
	return 0;
}

static int on_listen(struct daemon *d, union poll_ref ref, uint32_t events, struct error *err)
{
	(void)ref, (void)events, (void)err;
	if (!d->end)
		core_listen_event(&d->core);
	return 0;
}

static int on_stream(struct daemon *d, union poll_ref ref, uint32_t events, struct error *err)
{
	(void)err;
	core_stream_event(&d->core, ref, events);
	return 0;
}

static event_fn *const event_fns[] = {
	[POLL_VHOST] = on_vhost,
	[POLL_VHOST_LISTEN] = on_vhost_listen,
	[POLL_KICK] = on_kick,
	[POLL_LISTEN] = on_listen,
	[POLL_STREAM] = on_stream,
	[POLL_PORT] = on_port,
	[POLL_PORT_LISTEN] = on_port_listen,
};
static_assert(ARRAY_SIZE(event_fns) == POLL_TYPE_COUNT, "every type has its function");

/* --- the loop -------------------------------------------------------------------------------- */

static uint64_t next_deadline(const struct daemon *d)
{
	uint64_t first = core_deadline(&d->core);

	if (d->end && d->end < first)
		first = d->end;
	return first;
}

/* Returns the time-out for epoll_wait() in ms. The time-out is rounded up, so that the deadline has
 * passed when epoll_wait() returns. */
static int daemon_wait_ms(const struct daemon *d, bool more)
{
	uint64_t deadline = next_deadline(d), now, ms;

	if (more || d->link_again)
		return 0;
	if (deadline == UINT64_MAX)
		return d->trimmed ? -1 : d->idle_ms;
	now = clock_mono_ns();
	if (deadline <= now)
		return 0;
	ms = (deadline - now + NS_PER_MS - 1) / NS_PER_MS;
	return ms < INT_MAX ? (int)ms : INT_MAX;
}

static int wait_and_dispatch(struct daemon *d, bool more, struct error *err)
{
	struct epoll_event events[EVENTS_PER_ROUND];
	int n = epoll_wait(d->epfd, events, EVENTS_PER_ROUND, daemon_wait_ms(d, more));

	if (n < 0 && errno != EINTR)
		return error_errno(err, errno, "epoll");
	if (n == 0 && !more && !d->trimmed && next_deadline(d) == UINT64_MAX)
		memory_trim(&d->device.memory);
	d->trimmed = n == 0;
	for (int i = 0; i < n; i++) {
		union poll_ref ref = {.all = events[i].data.u64};

		if (event_fns[ref.type](d, ref, events[i].events, err) < 0)
			return -1;
	}
	return d->link_again ? read_vhost_link(d, err) : 0;
}

void daemon_tell_busy(struct daemon *d, int fd)
{
	d->busy_fd = fd;
}

/* Writes a message to the eventfd. Returns true if the message was written. Otherwise the next
 * round tries again. */
static bool tell(struct daemon *d, uint64_t what)
{
	return d->busy_fd >= 0 && write(d->busy_fd, &what, sizeof(what)) == (ssize_t)sizeof(what);
}

static void tell_owner(struct daemon *d)
{
	bool busy = d->core.table.clients > 0;

	if (busy != d->busy && tell(d, VSOCKD_TELLS_STREAMS))
		d->busy = busy;
	if (!d->began && (d->device.running || d->port.heard))
		d->began = tell(d, VSOCKD_TELLS_GUEST);
}

static bool pump_face(struct daemon *d)
{
	bool more;

	if (d->port_listen >= 0)
		return false;
	if (d->port.fd < 0)
		return device_pump(&d->device);
	more = port_pump(&d->port);
	if (port_has_ended(&d->port))
		begin_end(d);
	return more;
}

static bool over(const struct daemon *d)
{
	return d->end && (!core_draining(&d->core) || clock_mono_ns() >= d->end);
}

int daemon_run(struct daemon *d, struct error *err)
{
	bool more = false;

	while (!over(d)) {
		if (wait_and_dispatch(d, more, err) < 0)
			return -1;
		/* The clock is read only if there is a deadline. */
		if (core_deadline(&d->core) != UINT64_MAX)
			core_expire(&d->core, clock_mono_ns());
		more = pump_face(d);
		tell_owner(d);
	}
	return 0;
}
