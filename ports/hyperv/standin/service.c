/* SPDX-License-Identifier: MIT */
#include "service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ws2tcpip.h>

#include "delivery.h"

#define PORT_VARIABLE "MICROAGENT_STANDIN_HCS_PORT"
#define LINE_MAX_BYTES 128
#define DOCUMENT_MAX_BYTES (1u << 24)

struct request {
	struct request *next;
	UINT64 number;
	bool answered;
	HRESULT result;
	WCHAR *document;
};

/* These variables are used only while handles_lock is held. */
static SOCKET service = INVALID_SOCKET;
static struct request *requests;
static CONDITION_VARIABLE answer_came = CONDITION_VARIABLE_INIT;
static SRWLOCK sending = SRWLOCK_INIT; /* the lock that keeps lines of several threads apart */

static bool receive_all(SOCKET socket, char *bytes, size_t len)
{
	while (len) {
		int n = recv(socket, bytes, len > 65536 ? 65536 : (int)len, 0);

		if (n <= 0)
			return false;
		bytes += n;
		len -= (size_t)n;
	}
	return true;
}

static bool receive_line(SOCKET socket, char line[LINE_MAX_BYTES])
{
	for (size_t i = 0; i + 1 < LINE_MAX_BYTES; i++) {
		if (!receive_all(socket, line + i, 1))
			return false;
		if (line[i] == '\n') {
			line[i] = '\0';
			return true;
		}
	}
	return false;
}

static WCHAR *receive_document(SOCKET socket, unsigned len)
{
	char *bytes = malloc(len + 1);
	WCHAR *wide = NULL;

	if (bytes && receive_all(socket, bytes, len))
		wide = text_to_wide(bytes, len);
	free(bytes);
	return wide;
}

static void take_answer(UINT64 number, HRESULT result, WCHAR *document)
{
	for (struct request *at = requests; at; at = at->next) {
		if (at->number != number)
			continue;
		at->answered = true;
		at->result = result;
		at->document = document;
		WakeAllConditionVariable(&answer_came);
		return;
	}
	LocalFree(document);
}

static void take_message(const char *kind, UINT64 number, unsigned value, WCHAR *document)
{
	struct operation *operation = operation_by_number(number);
	struct system *system = system_by_number((unsigned)number);

	if (strcmp(kind, "accepted") == 0) {
		take_answer(number, (HRESULT)value, document);
	} else if (strcmp(kind, "done") == 0 && operation) {
		delivery_finish(operation, (HRESULT)value, document);
		operation_release(operation);
	} else if (strcmp(kind, "event") == 0 && system) {
		delivery_event(system, (HCS_EVENT_TYPE)value, document);
	} else {
		LocalFree(document);
	}
}

/* Called when the connection to the service has broken. All requests and operations end with the
 * error HCS_E_SERVICE_DISCONNECT, and every open compute system gets an event. */
static void lose_service(void)
{
	struct operation *operation;

	service = INVALID_SOCKET;
	for (struct request *at = requests; at; at = at->next)
		if (!at->answered)
			take_answer(at->number, HCS_E_SERVICE_DISCONNECT, NULL);
	while ((operation = operation_pending())) {
		delivery_finish(operation, HCS_E_SERVICE_DISCONNECT, NULL);
		operation_release(operation);
	}
	for (struct system *at = system_first(); at; at = at->next) {
		if (at->lost)
			continue;
		at->lost = true;
		delivery_event(at, HcsEventServiceDisconnect, NULL);
	}
}

static DWORD WINAPI read_messages(void *data)
{
	SOCKET socket = (SOCKET)data;
	char line[LINE_MAX_BYTES], kind[16];
	unsigned long long number;
	unsigned value, len;

	while (receive_line(socket, line)) {
		WCHAR *document = NULL;

		if (sscanf(line, "%15s %llu %x %u", kind, &number, &value, &len) != 4 ||
		    len > DOCUMENT_MAX_BYTES)
			break;
		if (len && !(document = receive_document(socket, len)))
			break;
		AcquireSRWLockExclusive(&handles_lock);
		take_message(kind, number, value, document);
		ReleaseSRWLockExclusive(&handles_lock);
	}
	AcquireSRWLockExclusive(&handles_lock);
	lose_service();
	ReleaseSRWLockExclusive(&handles_lock);
	closesocket(socket);
	return 0;
}

static SOCKET dial_service(void)
{
	char port[16] = "";
	WSADATA data;
	struct sockaddr_in address = {.sin_family = AF_INET};

	if (!GetEnvironmentVariableA(PORT_VARIABLE, port, sizeof(port)) ||
	    WSAStartup(MAKEWORD(2, 2), &data) != 0)
		return INVALID_SOCKET;
	address.sin_port = htons((u_short)atoi(port));
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	SOCKET dialed = socket(AF_INET, SOCK_STREAM, 0);
	if (dialed != INVALID_SOCKET &&
	    (connect(dialed, (struct sockaddr *)&address, sizeof(address)) != 0 ||
	     send(dialed, "hcs\n", 4, 0) != 4)) {
		closesocket(dialed);
		dialed = INVALID_SOCKET;
	}
	return dialed;
}

/* Connects to the service, if there is no connection yet. Returns false on failure. The caller
 * holds the lock. Keeps this library loaded until the process exits, since a thread of the library
 * reads from the connection until then. */
static bool have_service(void)
{
	HMODULE ours;
	HANDLE reader;

	if (service != INVALID_SOCKET)
		return true;
	service = dial_service();
	if (service == INVALID_SOCKET)
		return false;
	GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN,
			   (const WCHAR *)(const void *)have_service, &ours);
	reader = CreateThread(NULL, 0, read_messages, (void *)service, 0, NULL);
	if (!reader) {
		closesocket(service);
		service = INVALID_SOCKET;
		return false;
	}
	CloseHandle(reader);
	return true;
}

static bool send_line(SOCKET socket, UINT64 number, const char *call, const struct text *fields)
{
	struct text line = {0};
	bool sent = false;

	text_add(&line, "{");
	text_add_number(&line, "n", number);
	text_add(&line, ",\"call\":\"");
	text_add(&line, call);
	text_add(&line, "\"");
	if (fields->len)
		text_add(&line, ",");
	if (fields->len)
		text_add(&line, fields->at);
	text_add(&line, "}\n");
	if (!line.failed && !fields->failed) {
		AcquireSRWLockExclusive(&sending);
		sent = send(socket, line.at, (int)line.len, 0) == (int)line.len;
		ReleaseSRWLockExclusive(&sending);
	}
	text_free(&line);
	return sent;
}

/* Sends a request, and waits until it was answered. The caller holds the lock, which is released
 * during the wait. */
static void await_answer(struct request *request, const char *call, const struct text *fields)
{
	SOCKET socket = service;
	bool sent;

	request->next = requests;
	requests = request;
	ReleaseSRWLockExclusive(&handles_lock);
	sent = send_line(socket, request->number, call, fields);
	AcquireSRWLockExclusive(&handles_lock);
	while (sent && !request->answered)
		SleepConditionVariableSRW(&answer_came, &handles_lock, INFINITE, 0);
	for (struct request **at = &requests; *at; at = &(*at)->next) {
		if (*at == request) {
			*at = request->next;
			break;
		}
	}
	if (!request->answered)
		request->result = HCS_E_SERVICE_DISCONNECT;
}

HRESULT service_call(const char *call, const struct text *fields, WCHAR **document)
{
	static UINT64 last;
	struct request request = {.result = HCS_E_SERVICE_NOT_AVAILABLE};

	AcquireSRWLockExclusive(&handles_lock);
	if (have_service()) {
		request.number = ++last;
		await_answer(&request, call, fields);
	}
	ReleaseSRWLockExclusive(&handles_lock);
	if (document)
		*document = request.document;
	else
		LocalFree(request.document);
	return request.result;
}
