/* SPDX-License-Identifier: MIT */
#import "settings.h"

#import <Virtualization/VZError.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define VARIABLE "MICROAGENT_STANDIN_VZ"

static void refuse_settings(const char *path, const char *why)
{
	fprintf(stderr, "stand-in: %s of " VARIABLE ": %s\n", path, why);
	exit(2);
}

static NSDictionary *read_settings(void)
{
	const char *path = getenv(VARIABLE);
	NSError *error = nil;

	if (!path || !*path)
		return [NSDictionary dictionary];
	NSData *data = [NSData dataWithContentsOfFile:[NSString stringWithUTF8String:path]];
	if (!data)
		refuse_settings(path, strerror(errno));
	NSDictionary *read = [NSJSONSerialization JSONObjectWithData:data options:0 error:&error];
	if (![read isKindOfClass:[NSDictionary class]])
		refuse_settings(path, "it is no JSON object");
	return read;
}

id settings_value(NSString *key)
{
	id value = [read_settings() objectForKey:key];

	return value == [NSNull null] ? nil : value;
}

id settings_in(NSString *key, NSString *inner)
{
	id outer = settings_value(key);

	return [outer isKindOfClass:[NSDictionary class]] ? [outer objectForKey:inner] : nil;
}

NSString *settings_text(NSString *key, NSString *otherwise)
{
	id value = settings_value(key);

	return [value isKindOfClass:[NSString class]] ? value : otherwise;
}

unsigned long long settings_number(NSString *key, unsigned long long otherwise)
{
	id value = settings_value(key);

	return [value isKindOfClass:[NSNumber class]] ? [value unsignedLongLongValue] : otherwise;
}

BOOL settings_flag(NSString *key, BOOL otherwise)
{
	id value = settings_value(key);

	return [value isKindOfClass:[NSNumber class]] ? [value boolValue] : otherwise;
}

/* --- faults ---------------------------------------------------------------------------------- */

static long long fault_number(NSDictionary *fault, NSString *key, long long otherwise)
{
	id value = [fault objectForKey:key];

	return value ? [value longLongValue] : otherwise;
}

NSDictionary *settings_fault(NSString *point)
{
	static NSMutableDictionary *counts;
	NSDictionary *fault = settings_in(@"faults", point);
	long long count;

	if (!fault)
		return nil;
	@synchronized([NSProcessInfo class]) {
		if (!counts)
			counts = [[NSMutableDictionary alloc] init];
		count = [[counts objectForKey:point] longLongValue] + 1;
		[counts setObject:[NSNumber numberWithLongLong:count] forKey:point];
	}
	long long after = fault_number(fault, @"after", 0);
	long long times = fault_number(fault, @"times", 1ll << 40);
	return count > after && count <= after + times ? fault : nil;
}

NSError *settings_fault_error(NSDictionary *fault, NSInteger code)
{
	NSString *domain = [fault objectForKey:@"domain"];
	NSString *message = [fault objectForKey:@"message"];
	NSDictionary *info =
		[NSDictionary dictionaryWithObject:message ? message : @"A fault of the stand-in."
					    forKey:NSLocalizedDescriptionKey];

	return [NSError errorWithDomain:domain ? domain : VZErrorDomain
				   code:(NSInteger)fault_number(fault, @"code", code)
			       userInfo:info];
}

/* --- record ---------------------------------------------------------------------------------- */

void settings_record(NSString *call, NSDictionary *details)
{
	NSString *path = settings_text(@"record", nil);
	NSMutableDictionary *line = [NSMutableDictionary dictionaryWithDictionary:details];

	if (!path)
		return;
	[line setObject:call forKey:@"call"];
	NSMutableData *bytes = [NSMutableData
		dataWithData:[NSJSONSerialization dataWithJSONObject:line options:0 error:NULL]];
	[bytes appendBytes:"\n" length:1];
	/* Writes the line with one call of write(), since the file may be a FIFO, or several
	 * processes may write to it. */
	int fd = open([path UTF8String], O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_CLOEXEC,
		      0600);
	if (fd < 0)
		return;
	if (write(fd, [bytes bytes], [bytes length]) < 0)
		fprintf(stderr, "stand-in: record: %s\n", strerror(errno));
	close(fd);
}
