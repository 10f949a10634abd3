/* SPDX-License-Identifier: MIT */
#import "runner.h"

#import "guest.h"
#import "machine.h"
#import "monitor.h"
#import "object.h"
#import "plug.h"
#import "settings.h"
#import "share.h"
#import "sockets.h"

#include "descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CONSOLE_BYTES (64 << 20)

extern char **environ;

static BOOL make_pair(int type, int fds[2])
{
	return socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, fds) == 0;
}

@implementation StandinRunner

- (id)initWithMachine:(StandinMachine *)machine
{
	self = [super init];
	if (self) {
		_machine = machine;
		_lifeline = -1;
		_words = [[NSMutableArray alloc] init];
		_keeperWords = [[NSMutableArray alloc] init];
		_given = [[NSMutableArray alloc] init];
		_lent = [[NSMutableArray alloc] init];
		_plugs = [[NSMutableArray alloc] init];
	}
	return self;
}

- (void)dealloc
{
	[self closeGiven];
	[self kill];
	[_monitor release];
	[_words release];
	[_keeperWords release];
	[_given release];
	[_lent release];
	[_plugs release];
	[super dealloc];
}

- (void)closeGiven
{
	for (NSNumber *fd in _given)
		close([fd intValue]);
	[_given removeAllObjects];
}

- (void)kill
{
	if (_lifeline >= 0)
		close(_lifeline);
	_lifeline = -1;
}

- (void)forgetMachine
{
	_machine = nil;
	[self kill];
}

- (StandinMonitor *)monitor
{
	return _monitor;
}

- (StandinPlug *)plugAt:(NSUInteger)index
{
	return [_plugs objectAtIndex:index];
}

- (void)started
{
	for (StandinPlug *each in _plugs)
		[each started];
}

/* --- the machine's parts --------------------------------------------------------------------- */

/* Gives the process that starts QEMU a copy of the file descriptor. A copy is needed because the
 * client may close the original, and because the original may be 0, 1 or 2. */
- (int)giveCopy:(NSFileHandle *)handle
{
	return [self give:fcntl([handle fileDescriptor], F_DUPFD_CLOEXEC, 3)];
}

static NSFileHandle *read_by_guest(VZSerialPortAttachment *attachment)
{
	if ([attachment isKindOfClass:[VZFileHandleSerialPortAttachment class]])
		return [(VZFileHandleSerialPortAttachment *)attachment fileHandleForReading];
	return nil; /* an attachment to a file gives the guest no input */
}

static NSFileHandle *written_by_guest(VZSerialPortAttachment *attachment)
{
	if ([attachment isKindOfClass:[VZFileHandleSerialPortAttachment class]])
		return [(VZFileHandleSerialPortAttachment *)attachment fileHandleForWriting];
	return [attachment valueOf:@"file"];
}

- (BOOL)addSerialPort
{
	VZVirtioConsoleDeviceSerialPortConfiguration *port =
		(id)[[[_machine configuration] serialPorts] firstObject];
	NSFileHandle *from = read_by_guest([port attachment]);
	NSFileHandle *to = written_by_guest([port attachment]);
	int fds[2], in = -1, out = -1, room = CONSOLE_BYTES;

	if (!port)
		return YES;
	if (!make_pair(SOCK_STREAM, fds))
		return NO;
	if (from)
		in = [self giveCopy:from];
	if (to)
		out = [self giveCopy:to];
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	/* QEMU drops console output for which its socket has no room (hw/char/virtio-console.c,
	 * flush_buf()), but Apple's framework drops nothing. So the socket gets a large buffer, in
	 * which a line of 60 bytes takes about 1 KiB. Only root may set a size above the default
	 * limit. */
	if (setsockopt(fds[1], SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)) < 0)
		setsockopt(fds[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	[self option:@"--serial" value:@"%d,%d,%d", [self give:fds[0]], in, out];
	guest_add_console(self, fds[1]);
	return YES;
}

- (BOOL)addSockets:(NSError **)error
{
	StandinSockets *sockets = [_machine sockets];
	int fds[2];

	if (![[[_machine configuration] socketDevices] count])
		return YES;
	if (![sockets openRoom:error] || !make_pair(SOCK_STREAM, fds))
		return NO;
	for (NSNumber *fd in [sockets pathDescriptors])
		[self lend:[fd intValue]];
	[self option:@"--vsock"
		value:@"%d,%d,%d", [self give:fds[0]], [self lend:[sockets listenDescriptor]],
		      [self lend:[sockets tableDescriptor]]];
	guest_add_vsock(self, fds[1]);
	return YES;
}

- (BOOL)addShares:(NSError **)error
{
	for (VZVirtioFileSystemDevice *each in [_machine sharingDevices]) {
		StandinPlug *plug = [[[StandinPlug alloc] initWithRunner:self
								  number:[_plugs count]
								     tag:[each tag]] autorelease];

		if (![plug prepare:[each share] error:error])
			return NO;
		[_plugs addObject:plug];
	}
	/* There are two programs virtiofsd, one in C and one in Rust. Where the program in Rust is
	 * installed (Debian 13), the path of the program in C is a link to it. */
	NSString *in_c = @"/usr/lib/qemu/virtiofsd", *in_rust = @"/usr/libexec/virtiofsd";
	BOOL has_rust = [[NSFileManager defaultManager] isExecutableFileAtPath:in_rust];
	[self option:@"--virtiofsd"
		value:@"%@", settings_text(@"virtiofsd", has_rust ? in_rust : in_c)];
	return YES;
}

/* Begins to share the directories before the guest runs, so that the shares exist when the guest
 * mounts them. */
- (BOOL)fillShares:(NSError **)error
{
	for (StandinPlug *each in _plugs)
		if (![each begin:error])
			return NO;
	return YES;
}

- (void)option:(NSString *)name value:(NSString *)format, ... NS_FORMAT_FUNCTION(2, 3)
{
	va_list words;

	va_start(words, format);
	NSString *value = [[[NSString alloc] initWithFormat:format arguments:words] autorelease];
	va_end(words);
	[_keeperWords addObject:name];
	[_keeperWords addObject:value];
}

/* --- its process ----------------------------------------------------------------------------- */

/* Returns a NULL-terminated array of strings, which the autorelease pool frees. */
static char **vector_of(NSArray *words)
{
	char **all = (char **)[[NSMutableData dataWithLength:([words count] + 1) * sizeof(char *)]
		mutableBytes];

	for (NSUInteger i = 0; i < [words count]; i++)
		all[i] = (char *)[[words objectAtIndex:i] UTF8String];
	return all;
}

static void open_log(posix_spawn_file_actions_t *actions)
{
	NSString *log = settings_text(@"log", @"/dev/null");

	posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(actions, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(actions, 2, [log UTF8String],
					 O_WRONLY | O_APPEND | O_CREAT, 0600);
}

/* Makes the child start with no blocked signals and with the default actions for signals, even if
 * this process has other settings. */
static void plain_signals(posix_spawnattr_t *attributes)
{
	sigset_t none, all;

	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_setsigmask(attributes, &none);
	posix_spawnattr_setsigdefault(attributes, &all);
	posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

- (int)spawn:(NSArray *)words
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	pid_t pid;

	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	open_log(&actions);
	plain_signals(&attributes);
	/* A dup2() of a file descriptor to its own number clears close-on-exec, so the child
	 * inherits the file descriptor. */
	for (NSNumber *fd in [_given arrayByAddingObjectsFromArray:_lent])
		posix_spawn_file_actions_adddup2(&actions, [fd intValue], [fd intValue]);
	char **vector = vector_of(words);
	int error = posix_spawn(&pid, vector[0], &actions, &attributes, vector, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	if (error)
		return error;
	/* Waits for the process, which exits after it has started another process as its child.
	 * Another thread may have waited for the process already, so an error is ignored. */
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		continue;
	return 0;
}

- (BOOL)spawnKeeper
{
	int lifeline[2];
	int holder = (int)syscall(SYS_pidfd_open, getpid(), 0);
	NSString *keeper = settings_text(@"keeper", @STANDIN_KEEPER);

	if (holder < 0 || !make_pair(SOCK_SEQPACKET, lifeline))
		return NO;
	_lifeline = lifeline[1];
	[self option:@"--holder" value:@"%d", [self give:holder]];
	[self option:@"--lifeline" value:@"%d", [self give:lifeline[0]]];
	NSMutableArray *all = [NSMutableArray arrayWithObject:keeper];
	[all addObjectsFromArray:_keeperWords];
	[all addObject:@"--"];
	[all addObjectsFromArray:_words];
	int error = [self spawn:all];
	if (error)
		fprintf(stderr, "stand-in: %s: %s\n", [keeper UTF8String], strerror(error));
	[self closeGiven];
	return error == 0;
}

/* --- its monitor ----------------------------------------------------------------------------- */

- (void)begin
{
	[_monitor execute:@"qmp_capabilities" arguments:nil then:nil];
	[_monitor execute:@"cont"
		arguments:nil
		     then:^(NSDictionary *answer, NSString *error) {
		       (void)answer;
		       if (!error)
			       [self->_machine runnerIsReady];
		     }];
}

- (void)take:(NSDictionary *)line
{
	NSString *event = [line objectForKey:@"event"];

	if ([line objectForKey:@"QMP"])
		[self begin];
	if ([event isEqualToString:@"DEVICE_DELETED"])
		for (StandinPlug *each in _plugs)
			[each deleted:[[line objectForKey:@"data"] objectForKey:@"device"]];
	if ([event isEqualToString:@"SHUTDOWN"] &&
	    [[[line objectForKey:@"data"] objectForKey:@"guest"] boolValue])
		_guestEnded = YES;
}

- (void)ended
{
	[self kill];
	[[_machine sockets] closeRoom];
	[_machine runnerEnded:_guestEnded];
}

- (BOOL)openMonitor
{
	int fds[2];

	if (!make_pair(SOCK_STREAM, fds))
		return NO;
	guest_add_monitor(self, fds[1]);
	/* The monitor retains these two blocks, which retain this object. So this object exists as
	 * long as QEMU runs. */
	_monitor = [[StandinMonitor alloc] initWithDescriptor:fds[0]
		queue:[_machine queue]
		event:^(NSDictionary *line) {
		  [self take:line];
		}
		end:^{
		  [self ended];
		}];
	return YES;
}

- (BOOL)launch:(NSError **)error
{
	guest_begin(self, [_machine configuration]);
	if ([self openMonitor] && [self addSerialPort] && [self addSockets:error] &&
	    guest_add_disks(self, [_machine configuration]) && [self addShares:error] &&
	    guest_add_network(self, [_machine networkDevices]) && [self spawnKeeper] &&
	    [self fillShares:error])
		return YES;
	[self closeGiven];
	if (error && !*error)
		*error = vz_error(VZErrorInternal, @"The virtual machine failed to start.");
	return NO;
}

@end

@implementation StandinRunner (Parts)

- (void)word:(NSString *)word value:(NSString *)format, ...
{
	va_list words;

	va_start(words, format);
	NSString *value = [[[NSString alloc] initWithFormat:format arguments:words] autorelease];
	va_end(words);
	[_words addObject:word];
	if ([value length])
		[_words addObject:value];
}

- (int)give:(int)fd
{
	[_given addObject:[NSNumber numberWithInt:fd]];
	return fd;
}

- (int)lend:(int)fd
{
	if (![_lent containsObject:[NSNumber numberWithInt:fd]])
		[_lent addObject:[NSNumber numberWithInt:fd]];
	return fd;
}

- (void)forQemu:(int)fd
{
	[self option:@"--qemu-fd" value:@"%d", fd];
}

- (void)prepareShare:(StandinShare *)share
{
	[self option:@"--share"
		value:@"%d,%d", [self give:[share keeperEnd]], [self give:[share listenEnd]]];
}

- (BOOL)plugShare:(StandinShare *)share
{
	const int fds[] = {[share keeperEnd], [share listenEnd]};
	bool sent = descriptors_send(_lifeline, "s", 1, fds, 2);

	close(fds[0]);
	close(fds[1]);
	return sent;
}

@end
