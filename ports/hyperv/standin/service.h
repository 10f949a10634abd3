/* SPDX-License-Identifier: MIT */
/*
 * The connection of this process to the service, which is broker.py. A request is one line of JSON.
 * The service sends lines of the following forms. Each line is followed by a document of LENGTH
 * bytes:
 *
 *	accepted NUMBER HRESULT LENGTH   the service has begun the request, or refuses it
 *	done OPERATION HRESULT LENGTH    an operation has ended with this result
 *	event SYSTEM TYPE LENGTH         an event of a system that this process has open
 */
#ifndef HYPERV_SERVICE_H
#define HYPERV_SERVICE_H

#include "handles.h"
#include "text.h"

/*
 * Sends {"n":...,"call":CALL,FIELDS}, and waits for the line "accepted". Returns the HRESULT of
 * this line. If `document` is not NULL, sets *document to the document that follows the line. The
 * caller frees the document with LocalFree().
 */
HRESULT service_call(const char *call, const struct text *fields, WCHAR **document);

#endif
