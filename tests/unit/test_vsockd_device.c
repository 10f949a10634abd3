/* SPDX-License-Identifier: MIT */
/* Tests packets through the rings. The machine is paused, reset, and misbehaves. */
#include "test_vsockd_machine.h"

static void a_stream_through_the_rings(void **state)
{
	struct machine *m = *state;
	struct packet p = guest_packet(7000, LISTED, PACKET_REQUEST);
	const uint8_t *payload;
	struct error err;
	int fd;

	start_all(m);
	calls(m, 0);
	calls(m, 1);
	give_receive_buffers(m);
	driver_send(m, &p, "");
	assert_int_equal(calls(m, 1), 1);
	driver_expect(m, &p, PACKET_RESPONSE);
	assert_int_equal(calls(m, 0), 1);
	fd = sock_accept(m->rig->listener, &err);
	p = guest_packet(7000, LISTED, PACKET_RW);
	p.len = 5;
	driver_send(m, &p, "hello");
	host_expect(fd, "hello");
	host_write(m->rig, fd, "answer");
	assert_true(driver_receive(m, &p, &payload));
	assert_int_equal(p.op, PACKET_RW);
	assert_int_equal(p.len, 6);
	assert_memory_equal(payload, "answer", 6);
	assert_int_equal(calls(m, 0), 1);
	/* A driver that looks by itself gets no interrupt. */
	avail_of(m, 0)->flags = VRING_AVAIL_F_NO_INTERRUPT;
	host_write(m->rig, fd, "more");
	assert_true(driver_receive(m, &p, &payload));
	assert_int_equal(calls(m, 0), 0);
	close(fd);
}

static void without_receive_buffers_packets_wait(void **state)
{
	struct machine *m = *state;
	struct packet p;
	const uint8_t *payload;
	int fd;

	start_all(m);
	fd = rig_client(m->rig, "CONNECT 5000\n");
	assert_false(driver_receive(m, &p, &payload));
	/* Only now a kick is wanted. */
	assert_int_equal(used_of(m, 0)->flags, 0);
	give_receive_buffers(m);
	driver_expect(m, &p, PACKET_REQUEST);
	assert_false(driver_receive(m, &p, &payload));
	assert_int_equal(used_of(m, 0)->flags, VRING_USED_F_NO_NOTIFY);
	close(fd);
}

static void bad_receive_buffers_are_given_back(void **state)
{
	struct machine *m = *state;
	struct packet p;
	const uint8_t *payload;
	int fd;

	start_all(m);
	desc_of(m, 0)[0] = (struct vring_desc){GUEST, PACKET_HEADER, VRING_DESC_F_WRITE, 0};
	desc_of(m, 0)[1] = (struct vring_desc){0, 4096, VRING_DESC_F_WRITE, 0};
	desc_of(m, 0)[2] = (struct vring_desc){GUEST, 4096, 0, 0};
	desc_of(m, 0)[3] = (struct vring_desc){GUEST + BUFFER_AT(3), 4096, VRING_DESC_F_WRITE, 0};
	for (uint16_t i = 0; i < 4; i++)
		offer(m, 0, i);
	fd = rig_client(m->rig, "CONNECT 5000\n");
	for (uint32_t i = 0; i < 3; i++) {
		while (device_pump(&m->device))
			;
		assert_int_equal(used_of(m, 0)->ring[i].id, i);
		assert_int_equal(used_of(m, 0)->ring[i].len, 0);
		m->used[0]++;
	}
	assert_true(driver_receive(m, &p, &payload));
	assert_int_equal(p.op, PACKET_REQUEST);
	close(fd);
}

static void short_and_malformed_packets_are_used_up(void **state)
{
	struct machine *m = *state;
	struct packet p;
	const uint8_t *payload;

	start_all(m);
	give_receive_buffers(m);
	desc_of(m, 1)[0] = (struct vring_desc){GUEST, PACKET_HEADER - 1, 0, 0};
	desc_of(m, 1)[1] = (struct vring_desc){GUEST, 0, 0, 0};
	desc_of(m, 1)[2] = (struct vring_desc){0, 100, 0, 0};
	desc_of(m, 1)[3] = (struct vring_desc){GUEST, 100, VRING_DESC_F_NEXT, 3};
	for (uint16_t i = 0; i < 4; i++)
		offer(m, 1, i);
	assert_false(driver_receive(m, &p, &payload));
	assert_int_equal(used_of(m, 1)->idx, 4);
	assert_true(ring_works(&m->device.rings[1]));
}

static void a_storm_waits_for_receive_buffers(void **state)
{
	enum { STORM = 2 * CORE_REFUSALS };
	struct machine *m = *state;
	struct packet p = guest_packet(7000, 22, PACKET_REQUEST);
	unsigned sent = 0, refused = 0;
	const uint8_t *payload;

	start_all(m);
	packet_encode(&p, m->ram + BUFFER_AT(NUM));
	for (uint16_t i = 0; i < NUM; i++)
		desc_of(m, 1)[i] = (struct vring_desc){GUEST + BUFFER_AT(NUM), PACKET_HEADER, 0, 0};
	/* As many as the device takes without giving one back. */
	while ((uint16_t)(avail_of(m, 1)->idx - used_of(m, 1)->idx) < NUM && sent < STORM) {
		offer(m, 1, (uint16_t)(sent++ % NUM));
		while (device_pump(&m->device))
			;
	}
	assert_int_equal(sent, CORE_REFUSALS + NUM);
	assert_int_equal(used_of(m, 1)->idx, CORE_REFUSALS);
	give_receive_buffers(m);
	while (driver_receive(m, &p, &payload)) {
		assert_int_equal(p.op, PACKET_RST);
		refused++;
	}
	assert_int_equal(refused, sent);
	assert_int_equal(used_of(m, 1)->idx, avail_of(m, 1)->idx);
}

/* However much the driver sends, the host's sockets have their turn. */
static void a_pump_is_bounded(void **state)
{
	enum { QUEUE = 1024, PACKETS = 300, MOST = 128 };
	struct machine *m = *state;
	struct packet p = guest_packet(7000, 22, PACKET_RST); /* has no answer */
	const struct {
		uint32_t index, flags;
		uint64_t desc, used, avail, log;
	} a = {1, 0, USER + 0x80000, USER + 0x90000, USER + 0xa0000, 0};
	struct vring_desc *desc = (struct vring_desc *)(void *)(m->ram + 0x80000);
	struct vring_used *used = (struct vring_used *)(void *)(m->ram + 0x90000);
	struct vring_avail *avail = (struct vring_avail *)(void *)(m->ram + 0xa0000);

	start_all(m);
	assert_int_equal(send_state(m, GET_VRING_BASE, 1, 0), 0);
	assert_int_equal(send_state(m, SET_VRING_NUM, 1, QUEUE), 0);
	assert_int_equal(send_message(m, SET_VRING_ADDR, &a, sizeof(a)), 0);
	assert_int_equal(send_fd(m, SET_VRING_KICK, &(uint64_t){1}, 8, m->kick[1]), 0);
	packet_encode(&p, m->ram + BUFFER_AT(0));
	desc[0] = (struct vring_desc){.addr = GUEST + BUFFER_AT(0), .len = PACKET_HEADER};
	avail->idx = PACKETS;
	assert_true(device_pump(&m->device));
	assert_int_equal(used->idx, MOST);
	assert_true(device_pump(&m->device));
	assert_int_equal(used->idx, 2 * MOST);
	assert_int_equal(used->flags, VRING_USED_F_NO_NOTIFY);
	assert_false(device_pump(&m->device));
	assert_int_equal(used->idx, PACKETS);
	assert_int_equal(used->flags, 0);
}

/* More receive buffers than one turn fills, one of them bad: each is used once, in its order. */
static void many_receive_buffers(void **state)
{
	enum { QUEUE = 64, BAD = 5, ROOM = 500, BYTES = 20000 };
	struct machine *m = *state;
	struct packet p = guest_packet(7000, LISTED, PACKET_REQUEST);
	const struct {
		uint32_t index, flags;
		uint64_t desc, used, avail, log;
	} a = {0, 0, USER + 0x80000, USER + 0x90000, USER + 0xa0000, 0};
	struct vring_desc *desc = (struct vring_desc *)(void *)(m->ram + 0x80000);
	struct vring_used *used = (struct vring_used *)(void *)(m->ram + 0x90000);
	struct vring_avail *avail = (struct vring_avail *)(void *)(m->ram + 0xa0000);
	static const char text[BYTES];
	struct error err;
	size_t got = 0;
	int fd;

	start_all(m);
	assert_int_equal(send_state(m, GET_VRING_BASE, 0, 0), 0);
	assert_int_equal(send_state(m, SET_VRING_NUM, 0, QUEUE), 0);
	assert_int_equal(send_message(m, SET_VRING_ADDR, &a, sizeof(a)), 0);
	assert_int_equal(send_fd(m, SET_VRING_KICK, &(uint64_t){0}, 8, m->kick[0]), 0);
	for (uint16_t i = 0; i < QUEUE; i++) {
		desc[i] = (struct vring_desc){.addr = GUEST + 0xb0000 + i * UINT64_C(0x400),
					      .len = i == BAD ? 10 : PACKET_HEADER + ROOM,
					      .flags = VRING_DESC_F_WRITE};
		avail->ring[i] = i;
	}
	avail->idx = QUEUE;
	driver_send(m, &p, "");
	fd = sock_accept(m->rig->listener, &err);
	host_write(m->rig, fd, "first");
	assert_int_equal(write(fd, text, BYTES), BYTES);
	rig_events(m->rig);
	while (device_pump(&m->device))
		;
	for (uint16_t i = 0; i < used->idx; i++) {
		assert_int_equal(used->ring[i].id, i);
		packet_decode(m->ram + 0xb0000 + i * 0x400, &p);
		assert_int_equal(used->ring[i].len, i == BAD ? 0 : PACKET_HEADER + p.len);
		got += i == BAD ? 0 : p.len;
	}
	assert_int_equal(got, BYTES + 5);
	close(fd);
}

static void a_machine_is_paused(void **state)
{
	struct machine *m = *state;
	struct packet p = guest_packet(7000, LISTED, PACKET_REQUEST);
	const uint8_t *payload;
	uint32_t base[2][2];
	struct error err;
	int fd;

	start_all(m);
	give_receive_buffers(m);
	driver_send(m, &p, "");
	driver_expect(m, &p, PACKET_RESPONSE);
	fd = sock_accept(m->rig->listener, &err);
	for (uint32_t q = 0; q < 2; q++) {
		assert_int_equal(send_state(m, GET_VRING_BASE, q, 0), 0);
		memcpy(base[q], m->reply.bytes + VHOST_HEADER, sizeof(base[q]));
		assert_int_equal(base[q][0], q);
		assert_int_equal(base[q][1], 1);
	}
	host_write(m->rig, fd, "while it sleeps");
	assert_false(driver_receive(m, &p, &payload));
	for (uint32_t q = 0; q < 2; q++)
		start_ring(m, q, base[q][1]);
	assert_true(driver_receive(m, &p, &payload));
	assert_memory_equal(payload, "while it sleeps", 15);
	assert_true(calls(m, 0) > 0);
	close(fd);
}

static void a_machine_is_reset(void **state)
{
	struct machine *m = *state;
	struct packet p = guest_packet(7000, LISTED, PACKET_REQUEST);
	struct error err;
	int fd;

	start_all(m);
	give_receive_buffers(m);
	driver_send(m, &p, "");
	driver_expect(m, &p, PACKET_RESPONSE);
	fd = sock_accept(m->rig->listener, &err);
	/* It is sent, and not looked at yet when the ring is stopped. It must not be lost. */
	p = guest_packet(7000, LISTED, PACKET_RW);
	p.len = 4;
	packet_encode(&p, m->ram + BUFFER_AT(NUM));
	memcpy(m->ram + BUFFER_AT(NUM) + PACKET_HEADER, "last", 4);
	desc_of(m, 1)[0].len = PACKET_HEADER + 4;
	offer(m, 1, 0);
	for (uint32_t q = 0; q < 2; q++)
		assert_int_equal(send_state(m, GET_VRING_BASE, q, 0), 0);
	host_expect(fd, "last");
	/* A new driver begins at 0, and the old one's streams end. */
	memset(m->ram, 0, MEMORY);
	m->used[0] = 0;
	for (uint32_t q = 0; q < 2; q++)
		start_ring(m, q, 0);
	host_expect(fd, "");
	assert_int_equal(streams_in_use(m->rig), 0);
	close(fd);
	give_receive_buffers(m);
	fd = rig_client(m->rig, "CONNECT 5000\n");
	driver_expect(m, &p, PACKET_REQUEST);
	close(fd);
}

static void the_device_is_reset_by_message(void **state)
{
	static const uint32_t requests[] = {RESET_OWNER, RESET_DEVICE};
	struct machine *m = *state;

	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		int fd;
		char c;

		start_all(m);
		fd = rig_client(m->rig, "CONNECT 5000\n");
		host_expect_nothing(fd);
		assert_int_equal(send_message(m, requests[i], NULL, 0), 0);
		assert_int_equal(host_read(fd, &c, 1), 0);
		assert_false(m->device.running);
		assert_int_equal(m->device.features, 0);
		assert_false(device_pump(&m->device));
		close(fd);
	}
}

/* A client's long text takes many buffers at once. Each is filled at its own place. */
static void a_long_read_fills_many_buffers(void **state)
{
	enum { BYTES = 40000 };
	struct machine *m = *state;
	struct packet p = guest_packet(7000, LISTED, PACKET_REQUEST);
	autofree uint8_t *text = malloc(BYTES);
	size_t got = 0;
	const uint8_t *payload;
	struct error err;
	int fd;

	start_all(m);
	give_receive_buffers(m);
	driver_send(m, &p, "");
	driver_expect(m, &p, PACKET_RESPONSE);
	fd = sock_accept(m->rig->listener, &err);
	for (size_t i = 0; i < BYTES; i++)
		text[i] = (uint8_t)(i * 2654435761u >> 24);
	assert_int_equal(write(fd, text, BYTES), BYTES);
	while (driver_receive(m, &p, &payload)) {
		assert_int_equal(p.op, PACKET_RW);
		assert_memory_equal(payload, text + got, p.len);
		got += p.len;
	}
	assert_int_equal(got, BYTES);
	close(fd);
}

static void a_broken_ring_is_mended_by_a_new_driver(void **state)
{
	struct machine *m = *state;
	struct packet p;
	const uint8_t *payload;
	int fd, log = watch_log(m);

	start_all(m);
	device_pump(&m->device);
	assert_int_equal(lines_logged(log), 0);
	avail_of(m, 1)->idx = 1000;
	for (int i = 0; i < 3; i++)
		assert_false(driver_receive(m, &p, &payload));
	assert_int_equal(lines_logged(log), 1); /* once */
	close(log);
	log_init(&m->rig->log, -1, 0);
	assert_false(ring_works(&m->device.rings[1]));
	for (uint32_t q = 0; q < 2; q++)
		assert_int_equal(send_state(m, GET_VRING_BASE, q, 0), 0);
	memset(m->ram, 0, MEMORY);
	for (uint32_t q = 0; q < 2; q++)
		start_ring(m, q, 0);
	give_receive_buffers(m);
	fd = rig_client(m->rig, "CONNECT 5000\n");
	driver_expect(m, &p, PACKET_REQUEST);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		machine_test(a_stream_through_the_rings),
		machine_test(without_receive_buffers_packets_wait),
		machine_test(bad_receive_buffers_are_given_back),
		machine_test(short_and_malformed_packets_are_used_up),
		machine_test(a_storm_waits_for_receive_buffers),
		machine_test(a_pump_is_bounded),
		machine_test(many_receive_buffers),
		machine_test(a_machine_is_paused),
		machine_test(a_machine_is_reset),
		machine_test(the_device_is_reset_by_message),
		machine_test(a_long_read_fills_many_buffers),
		machine_test(a_broken_ring_is_mended_by_a_new_driver),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
