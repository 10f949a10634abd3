/* SPDX-License-Identifier: MIT */
#include "hyperv/windows/tcp.h"

#include <ws2tcpip.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "hyperv/windows/text.h"

int sockets_begin(struct error *err)
{
	static bool begun;
	WSADATA data;
	int code = begun ? 0 : WSAStartup(MAKEWORD(2, 2), &data);

	if (code)
		return windows_error(err, (DWORD)code, "sockets");
	begun = true;
	return 0;
}

static int last_error(struct error *err, const char *what)
{
	return windows_error(err, (DWORD)WSAGetLastError(), "%s", what);
}

/* Returns the addresses of `host` and `port`, which the caller frees with freeaddrinfo(), or NULL
 * with err set. */
static struct addrinfo *find_addresses(const char *host, const char *port, int flags,
				       struct error *err)
{
	const struct addrinfo wanted = {
		.ai_flags = flags, .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
	struct addrinfo *found = NULL;
	int code;

	if (sockets_begin(err) < 0)
		return NULL;
	code = getaddrinfo(host, port, &wanted, &found);
	if (code == 0)
		return found;
	windows_error(err, (DWORD)code, "addresses of %.200s", host);
	return NULL;
}

/* Binds the socket so that no other program can bind the same address. A socket that is bound to
 * "::" gets no IPv4 connections, since 0.0.0.0 may be published separately. */
static int bind_alone(SOCKET s, const struct addrinfo *at)
{
	const DWORD on = 1;

	if (setsockopt(s, SOL_SOCKET, SO_EXCLUSIVEADDRUSE, (const char *)&on, sizeof(on)) != 0 ||
	    (at->ai_family == AF_INET6 &&
	     setsockopt(s, IPPROTO_IPV6, IPV6_V6ONLY, (const char *)&on, sizeof(on)) != 0))
		return -1;
	return bind(s, at->ai_addr, (int)at->ai_addrlen) == 0 ? 0 : -1;
}

/* Binds a new socket to an address. Returns 0 with *code set to 0 on success, or to the error code
 * of Winsock if the bind has failed. Returns -1 with err set on any other failure. */
static int take_address(const char *host, uint16_t port, SOCKET *out, int *code, struct error *err)
{
	char text[8];
	struct addrinfo *at;
	SOCKET s;

	snprintf(text, sizeof(text), "%u", port);
	at = find_addresses(host, text, AI_NUMERICHOST | AI_PASSIVE, err);
	if (!at)
		return -1;
	s = socket(at->ai_family, SOCK_STREAM, IPPROTO_TCP);
	*code = s != INVALID_SOCKET && bind_alone(s, at) == 0 ? 0 : WSAGetLastError();
	freeaddrinfo(at);
	if (*code && s != INVALID_SOCKET)
		closesocket(s);
	*out = *code ? INVALID_SOCKET : s;
	return 0;
}

int tcp_check_own_address(const char *host, struct error *err)
{
	SOCKET s = INVALID_SOCKET;
	int code = 0;

	if (take_address(host, 0, &s, &code, err) < 0)
		return -1;
	if (s != INVALID_SOCKET)
		closesocket(s);
	return code != WSAEADDRNOTAVAIL
		       ? 0
		       : error_set(err, ERR_INVALID,
				   "the address must be one of this host, and %s is not", host);
}

SOCKET tcp_take_port(const char *host, uint16_t port, struct error *err)
{
	char name[80];
	SOCKET s = INVALID_SOCKET;
	int code = 0;

	snprintf(name, sizeof(name), strchr(host, ':') ? "[%.46s]:%u" : "%.46s:%u", host, port);
	if (take_address(host, port, &s, &code, err) < 0 || code == 0)
		return s;
	if (code == WSAEADDRINUSE || code == WSAEACCES)
		error_set(
			err, ERR_UNAVAILABLE,
			"cannot publish %s: the port is taken or reserved; stop what listens there, or choose another port",
			name);
	else
		windows_error(err, (DWORD)code, "cannot publish %s", name);
	return INVALID_SOCKET;
}

/* --- connecting --------------------------------------------------------------------------------
 */

static int set_waiting(SOCKET s, bool waits)
{
	u_long no_wait = !waits;

	return ioctlsocket(s, FIONBIO, &no_wait);
}

/* Connects before `deadline`. Windows alone would decide how long connect() may take without a
 * deadline. Returns 0, or an error code of Winsock. */
static int connect_until(SOCKET s, const struct addrinfo *at, uint64_t deadline)
{
	uint64_t now = clock_mono_ns(), left = deadline > now ? deadline - now : 0;
	struct timeval wait = {.tv_sec = (long)(left / NS_PER_S),
			       .tv_usec = (long)(left % NS_PER_S / 1000)};
	fd_set made = {.fd_count = 1, .fd_array = {s}}, failed = made;
	int code = 0, len = sizeof(code);

	if (set_waiting(s, false) != 0)
		return WSAGetLastError();
	if (connect(s, at->ai_addr, (int)at->ai_addrlen) != 0) {
		if (WSAGetLastError() != WSAEWOULDBLOCK)
			return WSAGetLastError();
		if (select(0, NULL, &made, &failed, &wait) == 0)
			return WSAETIMEDOUT;
		if (getsockopt(s, SOL_SOCKET, SO_ERROR, (char *)&code, &len) != 0)
			return WSAGetLastError();
		if (code)
			return code;
	}
	return set_waiting(s, true) == 0 ? 0 : WSAGetLastError();
}

static SOCKET connect_to(const struct addrinfo *at, uint64_t deadline, struct error *err)
{
	SOCKET s = socket(at->ai_family, SOCK_STREAM, IPPROTO_TCP);
	int code;

	if (s == INVALID_SOCKET) {
		last_error(err, "socket");
		return s;
	}
	code = connect_until(s, at, deadline);
	if (code == 0)
		return s;
	closesocket(s);
	windows_error(err, (DWORD)code, "connect");
	return INVALID_SOCKET;
}

/* Splits "host:port" or "[v6]:port". Returns the host, which the caller frees. *port points into
 * `target`. */
static char *split_target(const char *target, const char **port, struct error *err)
{
	const char *colon = strrchr(target, ':');
	bool bracketed = colon && target[0] == '[' && colon - target > 2;
	char *host = colon ? strdup(target + (bracketed ? 1 : 0)) : NULL;

	if (!host) {
		error_set(err, ERR_INVALID,
			  "%.200s is not of the form HOST:PORT, like 127.0.0.1:8080", target);
		return NULL;
	}
	host[colon - target - (bracketed ? 2 : 0)] = '\0';
	*port = colon + 1;
	return host;
}

SOCKET tcp_connect(const char *target, uint64_t deadline, struct error *err)
{
	const char *port = NULL;
	autofree char *host = split_target(target, &port, err);
	struct addrinfo *found = host ? find_addresses(host, port, 0, err) : NULL;
	SOCKET s = INVALID_SOCKET;

	for (const struct addrinfo *at = found; at && s == INVALID_SOCKET; at = at->ai_next)
		s = connect_to(at, deadline, err);
	if (found)
		freeaddrinfo(found);
	if (s == INVALID_SOCKET)
		error_prefix(err, "%.200s", target);
	return s;
}
