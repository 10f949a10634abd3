/* SPDX-License-Identifier: MIT */
#include "hyperv/keeper/relay.h"

#include <windows.h>

#include <stdbool.h>

#include "hyperv/keeper/thread.h"

/* The size of a buffer on the thread's stack, which has KEEPER_STACK bytes. */
#define RELAY_CHUNK 16384

struct way {
	SOCKET from, to;
};

static bool send_all(SOCKET to, const char *bytes, int len)
{
	while (len > 0) {
		int n = send(to, bytes, len, 0);

		if (n <= 0)
			return false;
		bytes += n;
		len -= n;
	}
	return true;
}

static DWORD WINAPI carry(void *context)
{
	const struct way *way = context;
	char bytes[RELAY_CHUNK];
	int n;

	while ((n = recv(way->from, bytes, sizeof(bytes), 0)) > 0)
		if (!send_all(way->to, bytes, n)) {
			n = -1;
			break;
		}
	if (n == 0) {
		shutdown(way->to, SD_SEND);
		return 0;
	}
	shutdown(way->from, SD_BOTH);
	shutdown(way->to, SD_BOTH);
	return 0;
}

void relay_join(SOCKET one, SOCKET other)
{
	struct way there = {one, other}, back = {other, one};
	HANDLE thread = keeper_thread(carry, &back);

	if (thread) {
		carry(&there);
		WaitForSingleObject(thread, INFINITE);
		CloseHandle(thread);
	}
	closesocket(one);
	closesocket(other);
}
