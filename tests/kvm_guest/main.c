/* SPDX-License-Identifier: MIT */
#include "guest.h"

void guest_main(void);
void run_iret(void);

static const char hello[] = "{\"type\":\"hello\",\"format\":1,\"protocol\":{\"min\":1,\"max\":1},"
			    "\"version\":\"kvm-guest\","
			    "\"bootId\":\"00000000-0000-4000-8000-000000000001\",\"generation\":0}";
static const char ready[] = "{\"type\":\"ready\",\"format\":1}";
static const char answer[] = "{\"exit_code\":0,\"stdout\":\"kvm-guest\\n\",\"stderr\":\"\"}\n";

static char control_in[16384];
static uint32_t control_len;

/* gcc adds calls of these functions by itself. */
void *memcpy(void *to, const void *from, size_t len)
{
	void *start = to;

	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(len) : : "memory");
	return start;
}

void *memset(void *to, int value, size_t len)
{
	void *start = to;

	__asm__ volatile("rep stosb" : "+D"(to), "+c"(len) : "a"(value) : "memory");
	return start;
}

static bool says(const char *bytes, uint32_t len, const char *word)
{
	for (uint32_t i = 0; i < len; i++) {
		uint32_t j = 0;

		while (word[j] && i + j < len && bytes[i + j] == word[j])
			j++;
		if (!word[j])
			return true;
	}
	return false;
}

static void send_frame(struct stream *stream, const char *text, uint32_t len)
{
	char frame[256] = {0, 0, (char)(len >> 8), (char)len};

	memcpy(frame + 4, text, len);
	stream_send(stream, frame, 4 + len);
}

void on_connected(struct stream *stream)
{
	send_frame(stream, hello, sizeof(hello) - 1);
}

/* The first message is the config. A machine called "unready" never says that it is ready. */
static void on_control(struct stream *stream, const char *message, uint32_t len)
{
	if (says(message, len, "\"power\""))
		power_off();
	if (!says(message, len, "\"config\""))
		return;
	say("kvm-guest: heard\n");
	if (!says(message, len, "\"unready\""))
		send_frame(stream, ready, sizeof(ready) - 1);
}

static void on_control_bytes(struct stream *stream, const char *bytes, uint32_t len)
{
	if (len > sizeof(control_in) - control_len)
		power_off();
	memcpy(control_in + control_len, bytes, len);
	control_len += len;
	while (control_len >= 4) {
		const uint8_t *front = (const uint8_t *)control_in;
		uint32_t whole = 4 + ((uint32_t)front[2] << 8 | front[3]);

		if (control_len < whole)
			return;
		on_control(stream, control_in + 4, whole - 4);
		control_len -= whole;
		memcpy(control_in, control_in + whole, control_len);
	}
}

/* The envelope form, a request in one piece. Two commands are more than words. */
static void on_agent(struct stream *stream, const char *bytes, uint32_t len)
{
	if (says(bytes, len, "\"iret\""))
		run_iret();
	if (says(bytes, len, "\"suspend\""))
		suspend();
	stream_send(stream, answer, sizeof(answer) - 1);
}

void on_bytes(struct stream *stream, uint32_t port, const char *bytes, uint32_t len)
{
	if (port == PORT_CONTROL)
		on_control_bytes(stream, bytes, len);
	else
		on_agent(stream, bytes, len);
}

void guest_main(void)
{
	say("kvm-guest: begins\n");
	machine_begin();
	say(machine_is_q35() ? "kvm-guest: q35\n" : "kvm-guest: microvm\n");
	if (!vsock_begin()) {
		say("kvm-guest: no vsock device\n");
		power_off();
	}
	vsock_connect(PORT_CONTROL);
	for (;;) {
		wait_for_interrupt();
		vsock_run();
	}
}
