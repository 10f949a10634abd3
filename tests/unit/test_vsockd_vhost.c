/* SPDX-License-Identifier: MIT */
/* Tests the vhost-user messages: one by one, and from bytes on a socket. */
#include "test_vsockd_machine.h"

/* --- one message ----------------------------------------------------------------------------- */

static void features_are_negotiated(void **state)
{
	struct machine *m = *state;

	assert_int_equal(send_message(m, GET_FEATURES, NULL, 0), 0);
	assert_int_equal(reply_u64(m), VERSION_1 | PROTOCOL);
	assert_int_equal(send_message(m, GET_PROTOCOL_FEATURES, NULL, 0), 0);
	assert_true(reply_u64(m) & (UINT64_C(1) << 9)); /* CONFIG: QEMU asks for the CID by it */
	assert_int_equal(send_u64(m, SET_PROTOCOL_FEATURES, UINT64_C(1) << 9), 0);
	assert_int_equal(m->reply.size, 0);
	assert_int_equal(send_u64(m, SET_FEATURES, VERSION_1 | PROTOCOL), 0);
	assert_false(m->device.rings[0].enabled || m->device.rings[1].enabled);
	assert_int_equal(send_u64(m, SET_FEATURES, VERSION_1), 0);
	assert_true(m->device.rings[0].enabled && m->device.rings[1].enabled);
	assert_int_equal(send_message(m, SET_OWNER, NULL, 0), 0);
	assert_int_equal(send_message(m, GET_QUEUE_NUM, NULL, 0), 0);
	assert_int_equal(reply_u64(m), 2);
	/* A feature that was not offered. */
	assert_int_equal(send_u64(m, SET_FEATURES, VERSION_1 | UINT64_C(1) << 29), -1);
	assert_int_equal(send_u64(m, SET_PROTOCOL_FEATURES, UINT64_C(1) << 20), -1);
}

static void config_holds_the_cid(void **state)
{
	struct machine *m = *state;
	struct {
		uint32_t offset, size, flags;
		uint8_t space[8];
	} c = {0, 8, 0, {0}};
	uint64_t cid;

	assert_int_equal(send_message(m, GET_CONFIG, &c, 20), 0);
	assert_int_equal(m->reply.size, VHOST_HEADER + 20);
	memcpy(&cid, m->reply.bytes + VHOST_HEADER + 12, sizeof(cid));
	assert_int_equal(cid, GUEST_CID);
	c.offset = 1;
	assert_int_equal(send_message(m, GET_CONFIG, &c, 20), -1);
	c.offset = UINT32_MAX;
	assert_int_equal(send_message(m, GET_CONFIG, &c, 20), -1);
	c.offset = 0;
	c.size = 9;
	assert_int_equal(send_message(m, GET_CONFIG, &c, 20), -1);
	c.size = 4;
	assert_int_equal(send_message(m, GET_CONFIG, &c, 20), -1);
	c.offset = 4;
	assert_int_equal(send_message(m, GET_CONFIG, &c, 16), 0);
	m->device.guest_cid = UINT64_C(0x0807060504030201);
	for (c.offset = 0; c.offset <= 4; c.offset++) {
		assert_int_equal(send_message(m, GET_CONFIG, &c, 16), 0);
		for (uint32_t i = 0; i < 4; i++)
			assert_int_equal(m->reply.bytes[VHOST_HEADER + 12 + i], c.offset + i + 1);
	}
}

static void wrong_messages_leave_no_descriptor(void **state)
{
	static const uint32_t requests[] = {0,
					    GET_FEATURES,
					    SET_FEATURES,
					    SET_OWNER,
					    6,
					    7,
					    19,
					    SET_VRING_NUM,
					    SET_VRING_ADDR,
					    SET_VRING_BASE,
					    GET_VRING_BASE,
					    SET_VRING_KICK,
					    20,
					    SET_VRING_CALL,
					    SET_VRING_ERR,
					    GET_QUEUE_NUM,
					    SET_SLAVE_REQ_FD,
					    GET_CONFIG,
					    33,
					    RESET_DEVICE,
					    35,
					    1000,
					    UINT32_MAX,
					    SET_VRING_ENABLE};
	struct machine *m = *state;
	int before = open_descriptors();

	for (size_t i = 0; i < ARRAY_SIZE(requests); i++)
		for (uint32_t size = 0; size <= VHOST_PAYLOAD; size += 4)
			for (int byte = 0; byte < 256; byte += 51) {
				struct vhost_message msg = {
					.request = requests[i], .flags = 1, .size = size};

				memset(msg.payload, byte, sizeof(msg.payload));
				for (msg.nfds = 0; msg.nfds < size % 9; msg.nfds++)
					msg.fds[msg.nfds] = dup(m->memfd);
				vhost_user_handle(&m->device, &msg, &m->reply, &m->err);
				assert_int_equal(msg.nfds, 0);
			}
	device_disconnect(&m->device);
	assert_int_equal(open_descriptors(), before);
}

static int send_regions(struct machine *m, const struct memory_region *regions, uint32_t n)
{
	struct vhost_message msg = {
		.request = SET_MEM_TABLE, .flags = 1, .size = 8 + n * (uint32_t)sizeof(*regions)};

	memcpy(msg.payload, &n, sizeof(n));
	memcpy(msg.payload + 8, regions, n * sizeof(*regions));
	for (msg.nfds = 0; msg.nfds < n; msg.nfds++)
		msg.fds[msg.nfds] = dup(m->memfd);
	return vhost_user_handle(&m->device, &msg, &m->reply, &m->err);
}

static void memory_tables(void **state)
{
	struct memory_region regions[MEMORY_REGIONS];
	struct machine *m = *state;
	int before = open_descriptors();

	share_memory(m);
	assert_int_equal(send_table(m, 1, 0, 40), -1);
	assert_int_equal(send_table(m, 1, 2, 40), -1);
	assert_int_equal(send_table(m, 2, 2, 40), -1);
	assert_int_equal(send_table(m, 1, 1, 72), -1);
	assert_int_equal(send_table(m, 1, 1, 39), -1);
	assert_int_equal(send_table(m, 9, 8, 264), -1);
	assert_int_equal(send_table(m, UINT32_MAX, 1, 40), -1);
	assert_int_equal(m->device.memory.n, 1);
	assert_int_equal(open_descriptors(), before); /* mapped, then closed */
	/* As many as possible, side by side; and more than the descriptor holds. */
	for (unsigned i = 0; i < MEMORY_REGIONS; i++)
		regions[i] =
			(struct memory_region){GUEST + i * UINT64_C(0x1000), 0x1000,
					       USER + i * UINT64_C(0x1000), i * UINT64_C(0x1000)};
	assert_int_equal(send_regions(m, regions, MEMORY_REGIONS), 0);
	assert_int_equal(m->device.memory.n, MEMORY_REGIONS);
	regions[0].offset = MEMORY;
	assert_int_equal(send_regions(m, regions, 1), -1);
	assert_int_equal(m->device.memory.n, MEMORY_REGIONS);
	assert_int_equal(open_descriptors(), before);
}

static void queues_that_are_not_there(void **state)
{
	static const uint32_t requests[] = {SET_VRING_NUM,    SET_VRING_BASE, GET_VRING_BASE,
					    SET_VRING_ENABLE, SET_VRING_KICK, SET_VRING_CALL,
					    SET_VRING_ERR};
	struct machine *m = *state;

	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		uint32_t flag =
			requests[i] >= SET_VRING_KICK && requests[i] <= SET_VRING_ERR ? 0x100 : 0;

		/* The event queue is the front-end's own: it is named, and ignored. */
		assert_int_equal(send_state(m, requests[i], 2 | flag, 0), 0);
		assert_int_equal(send_state(m, requests[i], 3 | flag, 0), -1);
		assert_int_equal(send_state(m, requests[i], 255 | flag, 0), -1);
	}
	assert_int_equal(send_address(m, 2), 0);
	assert_int_equal(send_address(m, 3), -1);
}

static void acknowledgement(void **state)
{
	struct machine *m = *state;
	struct vhost_message good = make_message(SET_OWNER, NULL, 0);
	struct vhost_message bad = make_message(99, NULL, 0);
	int log = watch_log(m);

	good.flags |= NEED_REPLY;
	bad.flags |= NEED_REPLY;
	/* Not before it was negotiated. */
	assert_int_equal(vhost_user_handle(&m->device, &good, &m->reply, &m->err), 0);
	assert_int_equal(m->reply.size, 0);
	assert_int_equal(vhost_user_handle(&m->device, &bad, &m->reply, &m->err), -1);
	assert_int_equal(send_u64(m, SET_PROTOCOL_FEATURES, REPLY_ACK), 0);
	assert_int_equal(vhost_user_handle(&m->device, &good, &m->reply, &m->err), 0);
	assert_int_equal(reply_u64(m), 0);
	assert_int_equal(lines_logged(log), 0);
	assert_int_equal(vhost_user_handle(&m->device, &bad, &m->reply, &m->err), 0);
	assert_int_equal(reply_u64(m), 1);
	assert_int_equal(lines_logged(log), 1);
	/* A message with an answer of its own has no second one. */
	good = make_message(GET_QUEUE_NUM, NULL, 0);
	good.flags |= NEED_REPLY;
	assert_int_equal(vhost_user_handle(&m->device, &good, &m->reply, &m->err), 0);
	assert_int_equal(reply_u64(m), 2);
	close(log);
}

static void rings_in_the_wrong_order(void **state)
{
	struct machine *m = *state;
	const uint64_t zero = 0;

	/* A start without memory, without an address, without a size. */
	assert_int_equal(send_fd(m, SET_VRING_KICK, &zero, 8, m->kick[0]), -1);
	share_memory(m);
	assert_int_equal(send_fd(m, SET_VRING_KICK, &zero, 8, m->kick[0]), -1);
	assert_int_equal(send_address(m, 0), 0);
	assert_int_equal(send_fd(m, SET_VRING_KICK, &zero, 8, m->kick[0]), -1);
	assert_int_equal(send_state(m, SET_VRING_BASE, 0, 65536), -1);
	start_ring(m, 0, 0);
	/* Messages that would remove the memory of a running ring. */
	assert_int_equal(send_state(m, SET_VRING_NUM, 0, 2 * NUM), -1);
	assert_int_equal(send_state(m, SET_VRING_BASE, 0, 5), -1);
	assert_int_equal(send_table(m, 0, 0, 8), -1);
	assert_false(ring_works(&m->device.rings[0]));
	share_memory(m);
	assert_true(m->device.rings[0].used != NULL);
	/* A kick without its descriptor, and with two. */
	assert_int_equal(send_u64(m, SET_VRING_KICK, 0), -1);
	assert_int_equal(send_u64(m, SET_VRING_KICK, 0x100), 0);
	assert_int_equal(send_fd(m, SET_VRING_KICK, &(uint64_t){0x100}, 8, m->kick[0]), -1);
	/* A descriptor that cannot be watched. */
	assert_int_equal(send_fd(m, SET_VRING_KICK, &zero, 8, m->memfd), -1);
}

/* --- the socket ------------------------------------------------------------------------------ */

static void put_bytes(int fd, const void *data, size_t len, int passed)
{
	union {
		char space[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	autofree void *copy = malloc(len);
	struct iovec iov = {.iov_base = copy, .iov_len = len};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};

	memcpy(copy, data, len);
	if (passed >= 0) {
		struct cmsghdr *c;

		m.msg_control = &control;
		m.msg_controllen = sizeof(control);
		c = CMSG_FIRSTHDR(&m);
		*c = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)),
				      .cmsg_level = SOL_SOCKET,
				      .cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(c), &passed, sizeof(passed));
	}
	assert_int_equal(sendmsg(fd, &m, 0), (ssize_t)len);
}

static void messages_on_a_socket(void **state)
{
	struct machine *m = *state;
	struct vhost_link link;
	struct error err;
	int ends[2], before;
	const struct {
		uint32_t request, flags, size;
		uint64_t value;
	} call = {SET_VRING_CALL, 1, 8, 1};
	const uint32_t ask[3] = {GET_FEATURES, 1, 0};
	const uint8_t *bytes = (const uint8_t *)&call;
	uint8_t answer[64];

	assert_int_equal(fd_socketpair(ends, &err), 0);
	vhost_link_init(&link, ends[0]);
	assert_int_equal(vhost_link_read(&link, &m->device, &err), 1);
	/* Byte by byte, the descriptor with the first. */
	before = open_descriptors();
	put_bytes(ends[1], bytes, 1, m->call[0]);
	for (size_t i = 1; i < VHOST_HEADER + 8; i++) {
		assert_int_equal(vhost_link_read(&link, &m->device, &err), 1);
		assert_int_equal(m->device.rings[1].call, -1);
		put_bytes(ends[1], bytes + (i < 12 ? i : i + 4), 1, -1);
	}
	assert_int_equal(vhost_link_read(&link, &m->device, &err), 1);
	assert_true(m->device.rings[1].call >= 0);
	assert_int_equal(open_descriptors(), before + 1);
	/* Two questions at once, answered in order. */
	put_bytes(ends[1], ask, sizeof(ask), -1);
	put_bytes(ends[1], ask, sizeof(ask), -1);
	assert_int_equal(vhost_link_read(&link, &m->device, &err), 1);
	assert_int_equal(host_read(ends[1], answer, sizeof(answer)), 40);
	/* The end comes in the middle of a message that brought a descriptor. */
	put_bytes(ends[1], bytes, 14, m->call[0]);
	assert_int_equal(vhost_link_read(&link, &m->device, &err), 1);
	assert_int_equal(open_descriptors(), before + 2);
	close(ends[1]);
	assert_int_equal(vhost_link_read(&link, &m->device, &err), 0);
	assert_int_equal(open_descriptors(), before); /* less ends[1] */
	close(ends[0]);
}

/* The credentials of the sender come beside a message if the socket is set so. They are no
 * descriptor. */
static void credentials_are_no_descriptors(void **state)
{
	struct machine *m = *state;
	const struct {
		uint32_t request, flags, size;
		uint64_t value;
	} __attribute__((packed)) call = {SET_VRING_CALL, 1, 8, 0x100};
	struct vhost_link link;
	struct error err;
	int ends[2], on = 1;

	assert_int_equal(fd_socketpair(ends, &err), 0);
	assert_int_equal(setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)), 0);
	vhost_link_init(&link, ends[0]);
	put_bytes(ends[1], &call, sizeof(call), -1);
	assert_int_equal(vhost_link_read(&link, &m->device, &err), 1);
	assert_int_equal(link.message.nfds, 0);
	close(ends[0]);
	close(ends[1]);
}

static void an_end_within_a_header_is_an_end(void **state)
{
	struct machine *m = *state;
	struct vhost_link link;
	struct error err;
	int ends[2];

	for (size_t len = 0; len < VHOST_HEADER; len++) {
		assert_int_equal(fd_socketpair(ends, &err), 0);
		vhost_link_init(&link, ends[0]);
		if (len)
			put_bytes(ends[1], "\1\0\0\0\1\0\0\0\0\0\0\0", len, -1);
		assert_int_equal(vhost_link_read(&link, &m->device, &err), 1);
		shutdown(ends[1], SHUT_RDWR);
		errno = EAGAIN; /* as an earlier read has left it */
		assert_int_equal(vhost_link_read(&link, &m->device, &err), 0);
		close(ends[0]);
		close(ends[1]);
	}
}

static void headers_that_end_the_connection(void **state)
{
	static const uint32_t wrong[][3] = {
		{GET_FEATURES, 0, 0},		      /* no version */
		{GET_FEATURES, 2, 0},		      /* another */
		{GET_FEATURES, 5, 0},		      /* an answer */
		{GET_FEATURES, 1, VHOST_PAYLOAD + 1}, /* too long */
		{GET_FEATURES, 1, UINT32_MAX},
		{GET_FEATURES, 1, 8}, /* a payload where there is none */
		{99, 1, 0},	      /* unknown */
	};
	static const uint32_t longest[3] = {SET_MEM_TABLE, 1, VHOST_PAYLOAD};
	struct machine *m = *state;
	struct vhost_message message;

	assert_int_equal(vhost_user_header((const uint8_t *)longest, &message, &m->err), 0);
	assert_int_equal(message.size, VHOST_PAYLOAD);

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct vhost_link link;
		struct error err = {0};
		uint8_t payload[8] = {0};
		int ends[2];

		assert_int_equal(fd_socketpair(ends, &err), 0);
		vhost_link_init(&link, ends[0]);
		put_bytes(ends[1], wrong[i], VHOST_HEADER, -1);
		put_bytes(ends[1], payload, sizeof(payload), -1);
		assert_int_equal(vhost_link_read(&link, &m->device, &err), -1);
		assert_int_not_equal(err.code, ERR_NONE);
		assert_true(*err.msg != '\0');
		close(ends[0]);
		close(ends[1]);
	}
}

static void a_bounded_number_of_messages(void **state)
{
	struct machine *m = *state;
	struct vhost_link link;
	struct error err;
	const uint32_t owner[3] = {SET_OWNER, 1, 0};
	int ends[2], rounds = 0;

	assert_int_equal(fd_socketpair(ends, &err), 0);
	vhost_link_init(&link, ends[0]);
	for (int i = 0; i < 100; i++)
		put_bytes(ends[1], owner, sizeof(owner), -1);
	while (vhost_link_read(&link, &m->device, &err) == 2)
		rounds++;
	assert_true(rounds >= 2);
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		machine_test(features_are_negotiated),
		machine_test(config_holds_the_cid),
		machine_test(wrong_messages_leave_no_descriptor),
		machine_test(memory_tables),
		machine_test(queues_that_are_not_there),
		machine_test(acknowledgement),
		machine_test(rings_in_the_wrong_order),
		machine_test(messages_on_a_socket),
		machine_test(credentials_are_no_descriptors),
		machine_test(an_end_within_a_header_is_an_end),
		machine_test(headers_that_end_the_connection),
		machine_test(a_bounded_number_of_messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
