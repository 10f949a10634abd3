/* SPDX-License-Identifier: MIT */
#import "share.h"

#import "object.h"

#include "room.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

@implementation StandinShare

- (id)init
{
	self = [super init];
	if (self)
		_control = -1;
	return self;
}

- (void)dealloc
{
	[self end];
	[super dealloc];
}

- (BOOL)open:(NSError **)error
{
	struct room_socket server;
	int control[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) < 0)
		return vz_refuse(error, VZErrorInternal, @"The directory share has no sockets.");
	_control = control[0];
	_keeperEnd = control[1];
	if (!room_socket_open(&server) || (_qemuEnd = room_socket_connect(&server)) < 0)
		return vz_refuse(error, VZErrorInternal, @"The directory share has no sockets.");
	/* virtiofsd waits in accept() for its only client, QEMU. */
	_listenEnd = server.listen;
	server.listen = -1;
	room_socket_close(&server);
	return YES;
}

- (int)keeperEnd
{
	return _keeperEnd;
}

- (int)listenEnd
{
	return _listenEnd;
}

- (int)qemuEnd
{
	return _qemuEnd;
}

/* --- messages -------------------------------------------------------------------------------- */

/* Sends a message to the share's process. Returns nil, or the text of an error. */
- (NSString *)tell:(char)letter name:(NSString *)name path:(NSString *)path
{
	NSMutableData *message = [NSMutableData dataWithBytes:&letter length:1];
	const char *words[] = {[name UTF8String], [path UTF8String]};
	char answer[256];

	for (int i = 0; i < 2; i++)
		[message appendBytes:words[i] length:strlen(words[i]) + 1];
	if (send(_control, [message bytes], [message length], MSG_NOSIGNAL) < 0)
		return [NSString stringWithUTF8String:strerror(errno)];
	ssize_t n = recv(_control, answer, sizeof(answer) - 1, 0);
	if (n <= 0)
		return @"its process has ended";
	answer[n] = '\0';
	return strcmp(answer, "ok") == 0 ? nil : [NSString stringWithUTF8String:answer];
}

static BOOL is_multiple(VZDirectoryShare *share)
{
	return [share isKindOfClass:[VZMultipleDirectoryShare class]];
}

static NSDictionary *directories_of(VZDirectoryShare *share)
{
	return [(VZMultipleDirectoryShare *)share directories];
}

static BOOL same_directory(VZSharedDirectory *a, VZSharedDirectory *b)
{
	return [[[a URL] path] isEqual:[[b URL] path]] && [a isReadOnly] == [b isReadOnly];
}

- (NSString *)share:(VZSharedDirectory *)directory
	    letters:(const char *)letters
	       name:(NSString *)name
{
	return [self tell:letters[[directory isReadOnly] ? 0 : 1]
		     name:name
		     path:[[directory URL] path]];
}

/* Changes the directories of the share from `before` to `after`. First removes directories, and
 * then adds the new directories. Returns nil, or the text of an error. */
- (NSString *)exchange:(NSDictionary *)before with:(NSDictionary *)after
{
	NSString *wrong = nil;

	for (NSString *name in before)
		if (!wrong &&
		    !same_directory([before objectForKey:name], [after objectForKey:name]))
			wrong = [self tell:'-' name:name path:@""];
	for (NSString *name in after)
		if (!wrong &&
		    !same_directory([before objectForKey:name], [after objectForKey:name]))
			wrong = [self share:[after objectForKey:name] letters:"rw" name:name];
	return wrong;
}

- (void)keepShare:(VZDirectoryShare *)share
{
	[share retain];
	[_share release];
	_share = share;
}

- (BOOL)begin:(VZDirectoryShare *)share error:(NSError **)error
{
	NSString *wrong;

	if (!is_multiple(share))
		wrong = [self share:[(VZSingleDirectoryShare *)share directory]
			    letters:"RW"
			       name:@""];
	else
		wrong = [self exchange:[NSDictionary dictionary] with:directories_of(share)];
	if (!wrong)
		wrong = [self tell:'g' name:@"" path:@""];
	if (wrong)
		return vz_refuse(
			error, VZErrorInternal,
			[NSString stringWithFormat:@"The directory share failed: %@.", wrong]);
	[self keepShare:share];
	return YES;
}

- (BOOL)serves:(VZDirectoryShare *)share
{
	return share == _share;
}

/* Changes the directories in a share of several directories. virtiofsd keeps the root of the share
 * open. So the directories below the root can be replaced, but not the root itself. */
- (BOOL)change:(VZDirectoryShare *)share
{
	if (!is_multiple(share) || !is_multiple(_share))
		return NO;
	NSString *wrong = [self exchange:directories_of(_share) with:directories_of(share)];
	if (wrong)
		fprintf(stderr, "stand-in: a directory share did not change: %s\n",
			[wrong UTF8String]);
	[self keepShare:share];
	return YES;
}

- (void)end
{
	if (_control >= 0)
		close(_control);
	_control = -1;
	[self keepShare:nil];
}

@end
