/* SPDX-License-Identifier: MIT */
#include "hyperv/keeper/hvsocket.h"

#include <winsock2.h>

#include <windows.h>

#include <hvsocket.h>
#include <string.h>

#include "hyperv/windows/tcp.h"
#include "hyperv/windows/text.h"

/* AF_HYPERV is missing in the headers of mingw-w64. The value is from "Make your own integration
 * services" (learn.microsoft.com, virtualization/hyper-v-on-windows/user-guide). */
#ifndef AF_HYPERV
#define AF_HYPERV 34
#endif

static SOCKET new_socket(struct error *err)
{
	SOCKET s;

	if (sockets_begin(err) < 0)
		return INVALID_SOCKET;
	s = socket(AF_HYPERV, SOCK_STREAM, HV_PROTOCOL_RAW);
	if (s == INVALID_SOCKET)
		windows_error(err, (DWORD)WSAGetLastError(), "HvSocket");
	return s;
}

static GUID windows_guid(const struct guid *guid)
{
	GUID out = {.Data1 = guid->data1, .Data2 = guid->data2, .Data3 = guid->data3};

	memcpy(out.Data4, guid->data4, sizeof(out.Data4));
	return out;
}

static SOCKADDR_HV hv_address(const struct guid *vm, uint32_t port)
{
	struct guid service = guid_of_vsock_port(port);

	return (SOCKADDR_HV){
		.Family = AF_HYPERV, .VmId = windows_guid(vm), .ServiceId = windows_guid(&service)};
}

static SOCKET close_with_error(SOCKET s, const char *what, struct error *err)
{
	windows_error(err, (DWORD)WSAGetLastError(), "%s", what);
	closesocket(s);
	return INVALID_SOCKET;
}

SOCKET hvsocket_listen(const struct guid *vm, uint32_t port, int backlog, struct error *err)
{
	SOCKADDR_HV address = hv_address(vm, port);
	SOCKET s = new_socket(err);

	if (s == INVALID_SOCKET)
		return s;
	if (bind(s, (const struct sockaddr *)&address, sizeof(address)) != 0 ||
	    listen(s, backlog) != 0)
		return close_with_error(s, "HvSocket: listen for the guest", err);
	return s;
}

SOCKET hvsocket_connect(const struct guid *vm, uint32_t port, ULONG ms, struct error *err)
{
	SOCKADDR_HV address = hv_address(vm, port);
	SOCKET s = new_socket(err);

	if (s == INVALID_SOCKET)
		return s;
	if (setsockopt(s, HV_PROTOCOL_RAW, HVSOCKET_CONNECT_TIMEOUT, (const char *)&ms,
		       sizeof(ms)) != 0 ||
	    connect(s, (const struct sockaddr *)&address, sizeof(address)) != 0)
		return close_with_error(s, "HvSocket: connect to the guest", err);
	return s;
}

int hvsocket_timeout(SOCKET socket, int way, DWORD ms, struct error *err)
{
	if (setsockopt(socket, SOL_SOCKET, way, (const char *)&ms, sizeof(ms)) != 0)
		return windows_error(err, (DWORD)WSAGetLastError(), "HvSocket");
	return 0;
}

int hvsocket_send(SOCKET socket, const void *data, size_t len, struct error *err)
{
	const char *at = data;

	while (len > 0) {
		int n = send(socket, at, (int)len, 0);

		if (n <= 0)
			return windows_error(err, (DWORD)WSAGetLastError(), "HvSocket: send");
		at += n;
		len -= (size_t)n;
	}
	return 0;
}
