/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "netgate/opening.h"

enum {
	RECORD_HEADER = 5,
	RECORD_MAX = 16384,
	RECORD_OF_HANDSHAKE = 22,
	MESSAGE_HEADER = 4,
	MESSAGE_CLIENT_HELLO = 1,
	EXTENSION_SERVER_NAME = 0,
	NAME_OF_HOST = 0,
};

/* Moves the first len bytes of *from to *taken. Returns false if *from has fewer bytes. */
static bool take_part(struct bytes *from, size_t len, struct bytes *taken)
{
	if (len > from->len)
		return false;
	*taken = (struct bytes){from->at, len};
	*from = behind(*from, len);
	return true;
}

/* Moves the next part of *from to *taken. The part is preceded by its length, a number of
 * length_bytes bytes (1 or 2). Returns false if *from has fewer bytes. */
static bool take_vector(struct bytes *from, size_t length_bytes, struct bytes *taken)
{
	struct bytes length;

	return take_part(from, length_bytes, &length) &&
	       take_part(from, length_bytes == 1 ? u8(length, 0) : u16(length, 0), taken);
}

/* --- the message ----------------------------------------------------------------------------- */

/* Reads the extension server_name. The extension must be a list with exactly one name, the name of
 * a host. */
static bool read_server_name(struct bytes extension, struct host_name *name)
{
	struct bytes list, type, text;

	return take_vector(&extension, 2, &list) && !extension.len && take_part(&list, 1, &type) &&
	       u8(type, 0) == NAME_OF_HOST && take_vector(&list, 2, &text) && !list.len &&
	       host_name_take(name, text);
}

static enum opening read_extensions(struct bytes all, struct host_name *name)
{
	enum opening found = OPENING_NAMELESS;

	while (all.len) {
		struct bytes type, extension;

		if (!take_part(&all, 2, &type) || !take_vector(&all, 2, &extension))
			return OPENING_UNREADABLE;
		if (u16(type, 0) != EXTENSION_SERVER_NAME)
			continue;
		if (found == OPENING_NAMED || !read_server_name(extension, name))
			return OPENING_UNREADABLE;
		found = OPENING_NAMED;
	}
	return found;
}

static enum opening read_client_hello(struct bytes hello, struct host_name *name)
{
	enum { VERSION_AND_RANDOM = 34, SESSION_MAX = 32 };
	struct bytes fixed, session, ciphers, compressions, extensions;

	if (!take_part(&hello, VERSION_AND_RANDOM, &fixed) || !take_vector(&hello, 1, &session) ||
	    session.len > SESSION_MAX || !take_vector(&hello, 2, &ciphers) ||
	    !take_vector(&hello, 1, &compressions))
		return OPENING_UNREADABLE;
	if (!hello.len)
		return OPENING_NAMELESS;
	if (!take_vector(&hello, 2, &extensions) || hello.len)
		return OPENING_UNREADABLE;
	return read_extensions(extensions, name);
}

/* --- the records ----------------------------------------------------------------------------- */

/* Joins the contents of the TLS records to one message. Returns false at a record that is malformed
 * or does not belong to the handshake. `out` then has the contents of the records before that
 * record. */
static bool join_records(struct bytes stream, uint8_t *out, size_t *len)
{
	*len = 0;
	while (stream.len) {
		size_t size = u16(stream, 3);

		if (u8(stream, 0) != RECORD_OF_HANDSHAKE ||
		    (stream.len > 1 && u8(stream, 1) != 3) ||
		    (stream.len >= RECORD_HEADER && (!size || size > RECORD_MAX)))
			return false;
		stream = behind(stream, RECORD_HEADER);
		if (size > stream.len)
			size = stream.len;
		memcpy(out + *len, stream.at, size);
		*len += size;
		stream = behind(stream, size);
	}
	return true;
}

enum opening client_hello_read(struct bytes stream, struct host_name *name)
{
	/* static, since no memory is allocated while netgate runs */
	static uint8_t joined[OPENING_BYTES];
	struct bytes message = {joined, 0};
	bool more = stream.len <= OPENING_BYTES && join_records(stream, joined, &message.len);
	size_t need = u32(message, 0) & 0xffffff;

	if (message.len && u8(message, 0) != MESSAGE_CLIENT_HELLO)
		return OPENING_UNREADABLE;
	if (message.len < MESSAGE_HEADER || message.len - MESSAGE_HEADER < need)
		return more && need <= OPENING_BYTES ? OPENING_UNFINISHED : OPENING_UNREADABLE;
	return read_client_hello((struct bytes){joined + MESSAGE_HEADER, need}, name);
}
