/* SPDX-License-Identifier: MIT */
#import "object.h"

NSString *const VZErrorDomain = @"VZErrorDomain";

static id duplicate(id value)
{
	if ([value isKindOfClass:[NSArray class]]) {
		NSMutableArray *all = [NSMutableArray array];

		for (id each in value)
			[all addObject:duplicate(each)];
		return all;
	}
	if (![value isKindOfClass:[VZStandinObject class]] || [value isSharedByCopies])
		return value;
	return [[value copy] autorelease];
}

@implementation VZStandinObject

/* The method -init of all classes whose objects need no parameters. Other classes declare -init as
 * unavailable. */
- (id)init
{
	return [self initValues];
}

- (void)dealloc
{
	[_values release];
	[_hidden release];
	[super dealloc];
}

- (BOOL)isSharedByCopies
{
	return NO;
}

- (id)copyWithZone:(NSZone *)zone
{
	VZStandinObject *copy = [[[self class] allocWithZone:zone] initValues];

	@synchronized(self) {
		for (NSString *name in _values)
			[copy keep:duplicate([_values objectForKey:name]) as:name];
	}
	return copy;
}

- (id)initValues
{
	self = [super init];
	if (self)
		_values = [[NSMutableDictionary alloc] init];
	return self;
}

- (id)initHidden:(id)hidden
{
	self = [self initValues];
	if (self)
		_hidden = [hidden retain];
	return self;
}

- (id)hidden
{
	return _hidden;
}

- (id)valueOf:(NSString *)name
{
	@synchronized(self) {
		return [[[_values objectForKey:name] retain] autorelease];
	}
}

- (void)keep:(id)value as:(NSString *)name
{
	@synchronized(self) {
		if (value)
			[_values setObject:value forKey:name];
		else
			[_values removeObjectForKey:name];
	}
}

@end

/* --- errors ---------------------------------------------------------------------------------- */

static NSString *words_of(NSInteger code)
{
	switch (code) {
	case VZErrorInvalidVirtualMachineConfiguration:
		return @"Invalid virtual machine configuration.";
	case VZErrorInvalidVirtualMachineState:
		return @"Invalid virtual machine state.";
	case VZErrorInvalidVirtualMachineStateTransition:
		return @"Invalid virtual machine state transition.";
	case VZErrorInvalidDiskImage:
		return @"Invalid disk image.";
	case VZErrorVirtualMachineLimitExceeded:
		return @"The number of virtual machines exceeds the limit.";
	case VZErrorNetworkError:
		return @"A network error occurred.";
	case VZErrorRestoreImageLoadFailed:
		return @"The restore image failed to load.";
	case VZErrorInvalidRestoreImage:
		return @"The restore image is invalid.";
	case VZErrorInstallationFailed:
		return @"An error occurred during installation.";
	default:
		return @"Internal Virtualization error.";
	}
}

NSError *vz_error(NSInteger code, NSString *reason)
{
	NSString *words = words_of(code);
	NSString *all = reason ? [NSString stringWithFormat:@"%@ %@", words, reason] : words;
	NSMutableDictionary *info =
		[NSMutableDictionary dictionaryWithObject:all forKey:NSLocalizedDescriptionKey];

	[info setObject:words forKey:@"NSLocalizedFailure"];
	if (reason)
		[info setObject:reason forKey:NSLocalizedFailureReasonErrorKey];
	return [NSError errorWithDomain:VZErrorDomain code:code userInfo:info];
}

BOOL vz_refuse(NSError **error, NSInteger code, NSString *reason)
{
	if (error)
		*error = vz_error(code, reason);
	return NO;
}

void vz_misused(NSString *format, ...)
{
	va_list words;

	va_start(words, format);
	NSString *text = [[NSString alloc] initWithFormat:format arguments:words];
	va_end(words);
	fprintf(stderr, "stand-in: assertion of Virtualization failed: %s\n", [text UTF8String]);
	abort();
}

void vz_raise(NSString *format, ...)
{
	va_list words;

	va_start(words, format);
	NSString *text = [[[NSString alloc] initWithFormat:format arguments:words] autorelease];
	va_end(words);
	@throw [NSException exceptionWithName:NSInvalidArgumentException reason:text userInfo:nil];
}
