/* SPDX-License-Identifier: MIT */
/* Tests the daemon's loop in a process of its own. The test plays the front-end, the driver and a
 * host client: by kicks and interrupts, when all is quiet, and at the end. */
#include "test_vsockd_machine.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/limits.h"
#include "base/vsockd_tells.h"
#include "vsockd/daemon.h"

#define RINGS_KIB (BUFFER_AT(0) >> 10) /* at these it looks even now */
#define HANG_MS 30000		       /* bounds a hang, and measures nothing */

struct world {
	struct machine m; /* its memory and eventfds; the device is the daemon's */
	struct scratch *scratch;
	pid_t pid;
	int link;
	int owner;     /* eventfd that the daemon tells of streams and of the guest */
	unsigned sent; /* packets of the driver */
};

static int world_setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	void *scratch = NULL;

	assert_int_equal(scratch_make(&scratch), 0);
	w->scratch = scratch;
	w->m.memfd = memfd_create("vsock-ram", MFD_CLOEXEC);
	assert_int_equal(ftruncate(w->m.memfd, MEMORY), 0);
	w->m.ram = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_SHARED, w->m.memfd, 0);
	for (int i = 0; i < 2; i++) {
		w->m.kick[i] = eventfd(0, EFD_CLOEXEC);
		w->m.call[i] = eventfd(0, EFD_CLOEXEC);
	}
	w->owner = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	*state = w;
	return 0;
}

static int world_teardown(void **state)
{
	struct world *w = *state;
	void *scratch = w->scratch;

	if (w->pid) {
		kill(w->pid, SIGKILL);
		waitpid(w->pid, NULL, 0);
		close(w->link);
	}
	munmap(w->m.ram, MEMORY);
	for (int i = 0; i < 2; i++) {
		close(w->m.kick[i]);
		close(w->m.call[i]);
	}
	close(w->m.memfd);
	close(w->owner);
	free(w);
	return scratch_remove(&scratch);
}

static void serve(int link, int listener, int clients, uint64_t close_ns, int owner)
{
	static struct daemon daemon;
	static struct log log;
	struct core_config config = {.guest_cid = GUEST_CID,
				     .streams = 4,
				     .stream_bytes = STREAM_BYTES,
				     .line_ns = 60 * NS_PER_S,
				     .answer_ns = 60 * NS_PER_S,
				     .close_ns = close_ns,
				     .listen_fd = clients};
	struct error err;

	log_init(&log, -1, 0);
	if (daemon_init(&daemon, &config, &(struct daemon_face){link, listener, -1, -1}, &log,
			&err) < 0)
		_exit(2);
	daemon_tell_busy(&daemon, owner);
	_exit(daemon_run(&daemon, &err) < 0);
}

/* By a connected socket, or by a listener to which the front-end connects. */
static void begin(struct world *w, bool by_listener, uint64_t close_ns)
{
	int ends[2] = {-1, -1}, listener = -1, clients;
	struct error err;

	clients = sock_listen_at(w->scratch->fd, "clients", &err);
	if (by_listener)
		listener = sock_listen_at(w->scratch->fd, "vhost", &err);
	else
		assert_int_equal(fd_socketpair(ends, &err), 0);
	w->pid = fork();
	if (w->pid == 0) {
		close(ends[1]);
		serve(ends[0], listener, clients, close_ns, w->owner);
	}
	close(clients);
	if (by_listener) {
		close(listener);
		w->link = sock_connect_at(w->scratch->fd, "vhost", &err);
	} else {
		close(ends[0]);
		w->link = ends[1];
	}
	assert_true(w->link >= 0);
	fd_nonblock(w->link, false, NULL);
}

static int exit_code(struct world *w)
{
	int status;

	assert_int_equal(waitpid(w->pid, &status, 0), w->pid);
	close(w->link);
	w->pid = 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void wait_until_readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	assert_int_equal(poll(&p, 1, HANG_MS), 1);
}

/* --- the front-end --------------------------------------------------------------------------- */

static void tell(struct world *w, uint32_t request, const void *payload, uint32_t size, int fd)
{
	const uint32_t header[3] = {request, 1, size};
	uint8_t bytes[VHOST_HEADER + VHOST_PAYLOAD];
	union {
		char space[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	struct iovec iov = {.iov_base = bytes, .iov_len = VHOST_HEADER + size};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};

	memcpy(bytes, header, sizeof(header));
	memcpy(bytes + VHOST_HEADER, payload, size);
	if (fd >= 0) {
		struct cmsghdr *c;

		m.msg_control = &control;
		m.msg_controllen = sizeof(control);
		c = CMSG_FIRSTHDR(&m);
		*c = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)),
				      .cmsg_level = SOL_SOCKET,
				      .cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	assert_int_equal(sendmsg(w->link, &m, 0), (ssize_t)iov.iov_len);
}

static void tell_u64(struct world *w, uint32_t request, uint64_t value, int fd)
{
	tell(w, request, &value, sizeof(value), fd);
}

static void tell_state(struct world *w, uint32_t request, uint32_t index, uint32_t num)
{
	const uint32_t both[2] = {index, num};

	tell(w, request, both, sizeof(both), -1);
}

/* When this is answered all earlier requests are done. */
static void ask(struct world *w)
{
	uint8_t answer[VHOST_HEADER + 8];

	tell(w, GET_QUEUE_NUM, "", 0, -1);
	wait_until_readable(w->link);
	assert_int_equal(recv(w->link, answer, sizeof(answer), MSG_WAITALL), sizeof(answer));
	assert_int_equal(answer[VHOST_HEADER], 2);
}

static void start_machine(struct world *w)
{
	const struct {
		uint32_t n, padding;
		struct memory_region region;
	} table = {1, 0, {GUEST, MEMORY, USER, 0}};

	tell_u64(w, SET_FEATURES, VERSION_1 | PROTOCOL, -1);
	tell(w, SET_MEM_TABLE, &table, sizeof(table), w->m.memfd);
	for (uint32_t q = 0; q < 2; q++) {
		uint64_t base = USER + RING_AT(q);
		const struct {
			uint32_t index, flags;
			uint64_t desc, used, avail, log;
		} a = {q, 0, base, base + USED_AT, base + AVAIL_AT, 0};

		tell_state(w, SET_VRING_NUM, q, NUM);
		tell_state(w, SET_VRING_BASE, q, 0);
		tell(w, SET_VRING_ADDR, &a, sizeof(a), -1);
		tell_u64(w, SET_VRING_KICK, q, w->m.kick[q]);
		tell_u64(w, SET_VRING_CALL, q, w->m.call[q]);
		tell_state(w, SET_VRING_ENABLE, q, 1);
	}
	give_receive_buffers(&w->m);
	ask(w);
}

/* --- the driver ------------------------------------------------------------------------------ */

static void kick(struct world *w, unsigned queue)
{
	assert_int_equal(write(w->m.kick[queue], &(uint64_t){1}, 8), 8);
}

/* Returns the next packet for the guest, and waits for it as a guest does. */
static struct packet take_packet(struct world *w)
{
	struct vring_used *u = used_of(&w->m, 0);
	struct packet p;
	uint32_t id;

	while (__atomic_load_n(&u->idx, __ATOMIC_ACQUIRE) == w->m.used[0]) {
		wait_until_readable(w->m.call[0]);
		calls(&w->m, 0);
	}
	id = u->ring[w->m.used[0]++ % NUM].id;
	packet_decode(w->m.ram + BUFFER_AT(id), &p);
	offer(&w->m, 0, (uint16_t)id);
	if (!(u->flags & VRING_USED_F_NO_NOTIFY)) /* else it has nothing more to say */
		kick(w, 0);
	return p;
}

/* At most NUM of them are under way. */
static void send_packet(struct world *w, const struct packet *p)
{
	uint16_t slot = (uint16_t)(w->sent % NUM);
	uint32_t at = BUFFER_AT(NUM + slot);
	struct vring_used *u = used_of(&w->m, 1);

	while ((uint16_t)(w->sent - __atomic_load_n(&u->idx, __ATOMIC_ACQUIRE)) == NUM) {
		wait_until_readable(w->m.call[1]);
		calls(&w->m, 1);
	}
	packet_encode(p, w->m.ram + at);
	memset(w->m.ram + at + PACKET_HEADER, 'g', p->len);
	desc_of(&w->m, 1)[slot] =
		(struct vring_desc){.addr = GUEST + at, .len = PACKET_HEADER + p->len};
	offer(&w->m, 1, slot);
	w->sent++;
	kick(w, 1);
}

/* Makes a client of the host on a stream to the guest; *port is the host's. */
static int connect_client(struct world *w, uint32_t *port)
{
	char line[32] = "", expected[32];
	struct packet p;
	struct error err;
	int fd = sock_connect_at(w->scratch->fd, "clients", &err);

	assert_true(fd >= 0);
	fd_nonblock(fd, false, NULL);
	assert_int_equal(write(fd, "CONNECT 5000\n", 13), 13);
	p = take_packet(w);
	assert_int_equal(p.op, PACKET_REQUEST);
	*port = p.src_port;
	p = guest_packet(GUEST_PORT, *port, PACKET_RESPONSE);
	send_packet(w, &p);
	wait_until_readable(fd);
	assert_true(read(fd, line, sizeof(line) - 1) > 0);
	snprintf(expected, sizeof(expected), "OK %u\n", *port);
	assert_string_equal(line, expected);
	return fd;
}

static void exchange_bytes(struct world *w, int fd, uint32_t port)
{
	struct packet p = guest_packet(GUEST_PORT, port, PACKET_RW);
	char got[8] = "";

	p.len = 5;
	send_packet(w, &p);
	wait_until_readable(fd);
	assert_int_equal(read(fd, got, sizeof(got)), 5);
	assert_string_equal(got, "ggggg");
	assert_int_equal(write(fd, "host", 4), 4);
	p = take_packet(w);
	assert_int_equal(p.op, PACKET_RW);
	assert_int_equal(p.len, 4);
}

/* --- the tests ------------------------------------------------------------------------------- */

static void bytes_go_by_kicks_and_interrupts(void **state)
{
	struct world *w = *state;
	uint32_t port;
	int fd;

	begin(w, false, NS_PER_S);
	start_machine(w);
	fd = connect_client(w, &port);
	for (int i = 0; i < 100; i++)
		exchange_bytes(w, fd, port);
	close(fd);
	assert_int_equal(take_packet(w).op, PACKET_SHUTDOWN);
	shutdown(w->link, SHUT_RDWR);
	assert_int_equal(exit_code(w), 0);
}

static void a_front_end_that_comes_by_itself(void **state)
{
	struct world *w = *state;
	struct error err;
	uint32_t port;
	int fd;

	begin(w, true, NS_PER_S);
	start_machine(w);
	fd = connect_client(w, &port);
	exchange_bytes(w, fd, port);
	close(fd);
	/* One front-end, once. */
	assert_int_equal(sock_connect_at(w->scratch->fd, "vhost", &err), -1);
	shutdown(w->link, SHUT_RDWR);
	assert_int_equal(exit_code(w), 0);
}

static uint64_t told(struct world *w)
{
	uint64_t sum = 0;

	wait_until_readable(w->owner);
	assert_int_equal(read(w->owner, &sum, sizeof(sum)), sizeof(sum));
	return sum;
}

/* A device and a client of the host say nothing about the guest. */
static void the_owner_hears_once_that_the_guest_drives_it(void **state)
{
	struct world *w = *state;
	uint64_t nothing;
	uint32_t port;
	int fd;

	begin(w, false, NS_PER_S);
	ask(w);
	assert_int_equal(read(w->owner, &nothing, sizeof(nothing)), -1);
	start_machine(w);
	assert_int_equal(told(w), VSOCKD_TELLS_GUEST);
	fd = connect_client(w, &port);
	assert_int_equal(told(w), VSOCKD_TELLS_STREAMS);
	close(fd);
	assert_int_equal(take_packet(w).op, PACKET_SHUTDOWN);
	shutdown(w->link, SHUT_RDWR);
	assert_int_equal(exit_code(w), 0);
}

/* More messages and packets than one round takes. No further event announces the rest. */
static void a_burst_is_worked_off(void **state)
{
	struct world *w = *state;
	struct packet p = guest_packet(7000, 22, PACKET_RST);

	begin(w, false, NS_PER_S);
	for (int i = 0; i < 1000; i++)
		tell(w, SET_OWNER, "", 0, -1);
	ask(w);
	start_machine(w);
	for (int i = 0; i < 1000; i++)
		send_packet(w, &p);
	p.op = PACKET_REQUEST; /* refused, when all before it is done */
	send_packet(w, &p);
	assert_int_equal(take_packet(w).op, PACKET_RST);
	shutdown(w->link, SHUT_RDWR);
	assert_int_equal(exit_code(w), 0);
}

/* Returns the KiB of the guest's memory that count as the daemon's own. */
static unsigned resident_kib(const struct world *w)
{
	char path[64], line[512];
	unsigned long from, to;
	unsigned found = 0, kib;
	bool inside = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/smaps", (int)w->pid);
	file = fopen(path, "re");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			inside = strstr(line, "memfd:vsock-ram") != NULL;
		else if (inside && sscanf(line, "Rss: %u", &kib) == 1)
			found += kib;
	}
	fclose(file);
	return found;
}

static void guest_memory_is_let_go_when_all_is_quiet(void **state)
{
	struct world *w = *state;
	uint32_t port;
	int fd;

	limit_set(LIMIT_VSOCK_IDLE_MS, 20);
	begin(w, false, NS_PER_S);
	limit_reset(LIMIT_VSOCK_IDLE_MS);
	start_machine(w);
	fd = connect_client(w, &port);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < NUM; i++) /* through all the buffers */
			exchange_bytes(w, fd, port);
		for (int ms = 0; resident_kib(w) > RINGS_KIB && ms < HANG_MS; ms += 5)
			poll(NULL, 0, 5); /* nobody tells */
		assert_in_range(resident_kib(w), 0, RINGS_KIB);
	}
	close(fd);
	shutdown(w->link, SHUT_RDWR);
	assert_int_equal(exit_code(w), 0);
}

/* A deadline that begins after the look at the deadlines, and has passed already. */
static void a_deadline_that_has_passed_is_not_waited_for(void **state)
{
	struct world *w = *state;
	struct packet p;
	uint32_t port;
	int fd;

	begin(w, false, 0);
	start_machine(w);
	fd = connect_client(w, &port);
	shutdown(fd, SHUT_WR);
	assert_int_equal(take_packet(w).op, PACKET_SHUTDOWN);
	p = guest_packet(GUEST_PORT, port, PACKET_SHUTDOWN);
	p.flags = SHUT_SEND;
	send_packet(w, &p);
	do
		p = take_packet(w);
	while (p.op == PACKET_SHUTDOWN);
	assert_int_equal(p.op, PACKET_RST);
	close(fd);
	shutdown(w->link, SHUT_RDWR);
	assert_int_equal(exit_code(w), 0);
}

/* Bytes of a guest that has ended, more than the client's socket holds. */
static size_t fill_client(struct world *w, uint32_t port)
{
	struct packet p = guest_packet(GUEST_PORT, port, PACKET_RW);
	size_t total = 0;

	p.len = 4096;
	/* Until the guest gets no further credit: then a whole buffer waits. */
	for (uint32_t credit = STREAM_BYTES, forwarded = 0; total < credit; total += p.len) {
		struct pollfd call = {.fd = w->m.call[0], .events = POLLIN};

		send_packet(w, &p);
		if (total + 2 * p.len <= credit || poll(&call, 1, 300) < 1)
			continue;
		calls(&w->m, 0);
		while (used_of(&w->m, 0)->idx != w->m.used[0])
			forwarded = take_packet(w).fwd_cnt;
		credit = forwarded + STREAM_BYTES;
	}
	return total;
}

static void the_guests_last_bytes_are_delivered(void **state)
{
	static char sink[65536];
	struct world *w = *state;
	uint32_t port;
	size_t total, read_so_far = 0;
	ssize_t n;
	int fd;

	limit_set(LIMIT_VSOCK_DRAIN_MS, HANG_MS);
	begin(w, false, NS_PER_S);
	limit_reset(LIMIT_VSOCK_DRAIN_MS);
	start_machine(w);
	fd = connect_client(w, &port);
	total = fill_client(w, port);
	shutdown(w->link, SHUT_RDWR);
	while ((n = read(fd, sink, sizeof(sink))) > 0)
		read_so_far += (size_t)n;
	assert_int_equal(read_so_far, total);
	assert_int_equal(exit_code(w), 0);
	close(fd);
}

static void a_client_that_reads_nothing_keeps_it_for_a_while(void **state)
{
	struct world *w = *state;
	uint32_t port;
	int fd;

	limit_set(LIMIT_VSOCK_DRAIN_MS, 50);
	begin(w, false, NS_PER_S);
	limit_reset(LIMIT_VSOCK_DRAIN_MS);
	start_machine(w);
	fd = connect_client(w, &port);
	fill_client(w, port);
	shutdown(w->link, SHUT_RDWR);
	assert_int_equal(exit_code(w), 0);
	close(fd);
}

#define world_test(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(bytes_go_by_kicks_and_interrupts),
		world_test(a_front_end_that_comes_by_itself),
		world_test(the_owner_hears_once_that_the_guest_drives_it),
		world_test(a_burst_is_worked_off),
		world_test(guest_memory_is_let_go_when_all_is_quiet),
		world_test(a_deadline_that_has_passed_is_not_waited_for),
		world_test(the_guests_last_bytes_are_delivered),
		world_test(a_client_that_reads_nothing_keeps_it_for_a_while),
	};

	alarm(300); /* a hang is a failure */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
