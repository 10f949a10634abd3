/* SPDX-License-Identifier: MIT */
#import "plug.h"

#import "guest.h"
#import "monitor.h"
#import "runner.h"
#import "share.h"

@implementation StandinPlug

- (id)initWithRunner:(StandinRunner *)runner number:(NSUInteger)number tag:(NSString *)tag
{
	self = [super init];
	if (self) {
		_runner = runner;
		_number = number;
		_tag = [tag copy];
	}
	return self;
}

- (void)dealloc
{
	[_tag release];
	[_share release];
	[_wanted release];
	[super dealloc];
}

- (NSString *)name
{
	return [NSString stringWithFormat:@"share%lu-%u", (unsigned long)_number, _generation];
}

- (void)want:(VZDirectoryShare *)share
{
	[share retain];
	[_wanted release];
	_wanted = share;
}

/* --- from the start -------------------------------------------------------------------------- */

- (BOOL)prepare:(VZDirectoryShare *)share error:(NSError **)error
{
	guest_add_port(_runner, _number);
	[self want:share];
	if (!share)
		return YES;
	_share = [[StandinShare alloc] init];
	if (![_share open:error])
		return NO;
	[_runner prepareShare:_share];
	guest_add_share(_runner, [self name], _tag, [_share qemuEnd], _number);
	return YES;
}

- (BOOL)begin:(NSError **)error
{
	return !_share || [_share begin:_wanted error:error];
}

- (void)started
{
	_running = YES;
	[self settle];
}

/* --- while it runs --------------------------------------------------------------------------- */

- (void)change:(VZDirectoryShare *)share
{
	[self want:share];
	[self settle];
}

/* Begins the next step that replaces the present share by the share that the client wants. When a
 * step is finished, this method is called again. */
- (void)settle
{
	if (!_running)
		return;
	if (_share && [_share serves:_wanted])
		return;
	if (_share && [_share change:_wanted])
		return;
	if (_share)
		[_share end]; /* at once, even if the guest still uses it */
	if (_busy)
		return;
	if (_share)
		[self unplug];
	else if (_wanted)
		[self plug];
}

- (void)complain:(NSString *)why
{
	fprintf(stderr, "stand-in: the share \"%s\": %s\n", [_tag UTF8String], [why UTF8String]);
}

- (void)unplug
{
	_busy = YES;
	[[_runner monitor] execute:@"device_del"
			 arguments:[NSDictionary dictionaryWithObject:[self name] forKey:@"id"]
			      then:^(NSDictionary *answer, NSString *error) {
				(void)answer;
				if (error)
					[self complain:error];
			      }];
}

- (void)deleted:(NSString *)device
{
	if (![device isEqualToString:[self name]])
		return;
	[[_runner monitor] execute:@"chardev-remove"
			 arguments:[NSDictionary dictionaryWithObject:guest_chardev([self name])
							       forKey:@"id"]
			      then:nil];
	[_share release];
	_share = nil;
	_busy = NO;
	[self settle];
}

- (void)plugged:(NSString *)error
{
	_busy = NO;
	if (error) {
		[self complain:error];
		[_share release];
		_share = nil;
		[self want:nil];
	}
	[self settle];
}

- (void)addDevice
{
	[[_runner monitor] execute:@"device_add"
			 arguments:guest_share_device([self name], _tag, _number)
			      then:^(NSDictionary *answer, NSString *error) {
				(void)answer;
				[self plugged:error];
			      }];
}

/* Plugs in the share that the client wants: starts the share's process, connects QEMU to the
 * share's process, and adds the device to QEMU. */
- (void)plug
{
	NSError *error = nil;

	_generation++;
	_share = [[StandinShare alloc] init];
	if (![_share open:&error] || ![_runner plugShare:_share] ||
	    ![_share begin:_wanted error:&error]) {
		[self plugged:error ? [error localizedDescription] : @"it has no process"];
		return;
	}
	_busy = YES;
	[[_runner monitor] sendDescriptor:[_share qemuEnd] name:[self name]];
	[[_runner monitor] execute:@"chardev-add"
			 arguments:guest_socket_chardev([self name])
			      then:^(NSDictionary *answer, NSString *wrong) {
				(void)answer;
				if (wrong)
					[self plugged:wrong];
				else
					[self addDevice];
			      }];
}

@end
