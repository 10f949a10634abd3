/* SPDX-License-Identifier: MIT */
/*
 * The part of Apple's Foundation that the project's Objective-C code uses. With this header, the
 * syntax, selectors and types of that code can be checked for Darwin without Apple's SDK. The
 * declarations were written from the documentation (developer.apple.com/documentation/foundation).
 * NSObject, the runtime and libdispatch come from Apple's published headers.
 */
#pragma once

#include <Availability.h>
#include <TargetConditionals.h>
#include <dispatch/dispatch.h>
#include <objc/NSObjCRuntime.h>
#include <objc/NSObject.h>
#include <objc/objc.h>
#include <objc/runtime.h>
#include <stdarg.h>

#include <CoreFoundation/CoreFoundation.h>

#define NS_ASSUME_NONNULL_BEGIN _Pragma("clang assume_nonnull begin")
#define NS_ASSUME_NONNULL_END _Pragma("clang assume_nonnull end")
#ifndef NS_ENUM
#define NS_ENUM(type, name)    \
	enum name : type name; \
	enum name : type
#endif
#ifndef NS_OPTIONS
#define NS_OPTIONS(type, name) NS_ENUM(type, name)
#endif
#define NS_FORMAT_FUNCTION(string, first) __attribute__((format(__NSString__, string, first)))

@class NSArray<ObjectType>, NSData, NSDate, NSDictionary<KeyType, ObjectType>, NSError, NSString,
	NSURL;

typedef double NSTimeInterval;
typedef unsigned short unichar;
typedef NSUInteger NSStringEncoding;
enum { NSASCIIStringEncoding = 1, NSUTF8StringEncoding = 4 };
enum { NSNotFound = NSIntegerMax };
typedef NS_ENUM(NSInteger, NSComparisonResult) {
	NSOrderedAscending = -1,
	NSOrderedSame = 0,
	NSOrderedDescending = 1,
};

NS_ASSUME_NONNULL_BEGIN

typedef struct _NSZone NSZone;
typedef struct {
	unsigned long state;
	id __unsafe_unretained _Nullable *_Nullable itemsPtr;
	unsigned long *_Nullable mutationsPtr;
	unsigned long extra[5];
} NSFastEnumerationState;
typedef struct {
	NSInteger majorVersion;
	NSInteger minorVersion;
	NSInteger patchVersion;
} NSOperatingSystemVersion;

typedef struct _NSRange {
	NSUInteger location;
	NSUInteger length;
} NSRange;

extern Class _Nullable NSClassFromString(NSString *name);
extern void NSLog(NSString *format, ...) NS_FORMAT_FUNCTION(1, 2);

@protocol NSCopying
- (id)copyWithZone:(nullable NSZone *)zone;
@end
@protocol NSMutableCopying
- (id)mutableCopyWithZone:(nullable NSZone *)zone;
@end
@protocol NSFastEnumeration
- (NSUInteger)countByEnumeratingWithState:(NSFastEnumerationState *)state
				  objects:(id __unsafe_unretained _Nullable[_Nonnull])buffer
				    count:(NSUInteger)count;
@end

@interface NSAutoreleasePool : NSObject
- (void)drain;
@end

@interface NSString : NSObject <NSCopying, NSMutableCopying>
@property(readonly) NSUInteger length;
@property(nullable, readonly) const char *UTF8String;
@property(readonly) const char *fileSystemRepresentation;
@property(readonly, copy) NSString *lastPathComponent;
@property(readonly, copy) NSString *pathExtension;
@property(readonly, copy) NSString *lowercaseString;
@property(readonly) long long longLongValue;
@property(readonly) NSInteger integerValue;
+ (instancetype)string;
+ (instancetype)stringWithString:(NSString *)string;
+ (instancetype)stringWithFormat:(NSString *)format, ... NS_FORMAT_FUNCTION(1, 2);
+ (nullable instancetype)stringWithUTF8String:(const char *)bytes;
+ (nullable instancetype)stringWithContentsOfFile:(NSString *)path
					 encoding:(NSStringEncoding)encoding
					    error:(NSError **)error;
- (instancetype)initWithFormat:(NSString *)format, ... NS_FORMAT_FUNCTION(1, 2);
- (instancetype)initWithFormat:(NSString *)format arguments:(va_list)arguments;
- (nullable instancetype)initWithUTF8String:(const char *)bytes;
- (nullable instancetype)initWithBytes:(const void *)bytes
				length:(NSUInteger)length
			      encoding:(NSStringEncoding)encoding;
- (nullable instancetype)initWithData:(NSData *)data encoding:(NSStringEncoding)encoding;
- (nullable NSData *)dataUsingEncoding:(NSStringEncoding)encoding;
- (NSUInteger)lengthOfBytesUsingEncoding:(NSStringEncoding)encoding;
- (unichar)characterAtIndex:(NSUInteger)index;
- (NSRange)rangeOfString:(NSString *)string;
- (NSString *)substringFromIndex:(NSUInteger)index;
- (NSString *)substringToIndex:(NSUInteger)index;
- (NSString *)stringByReplacingOccurrencesOfString:(NSString *)target
					withString:(NSString *)replacement;
- (NSComparisonResult)compare:(NSString *)string;
- (NSComparisonResult)caseInsensitiveCompare:(NSString *)string;
- (BOOL)isEqualToString:(NSString *)string;
- (BOOL)hasPrefix:(NSString *)string;
- (BOOL)hasSuffix:(NSString *)string;
- (BOOL)containsString:(NSString *)string;
- (NSString *)stringByAppendingString:(NSString *)string;
- (NSString *)stringByAppendingFormat:(NSString *)format, ... NS_FORMAT_FUNCTION(1, 2);
- (NSString *)stringByAppendingPathComponent:(NSString *)string;
- (NSString *)stringByDeletingLastPathComponent;
- (NSArray<NSString *> *)componentsSeparatedByString:(NSString *)separator;
@end
@interface NSMutableString : NSString
- (void)appendString:(NSString *)string;
- (void)appendFormat:(NSString *)format, ... NS_FORMAT_FUNCTION(1, 2);
@end
/* The class that clang gives to a constant string. */
@interface NSSimpleCString : NSString
@end
@interface NSConstantString : NSSimpleCString
@end

@interface NSValue : NSObject <NSCopying>
@property(readonly) const char *objCType;
@end
@interface NSNumber : NSValue
@property(readonly) BOOL boolValue;
@property(readonly) int intValue;
@property(readonly) NSInteger integerValue;
@property(readonly) NSUInteger unsignedIntegerValue;
@property(readonly) long long longLongValue;
@property(readonly) unsigned long long unsignedLongLongValue;
@property(readonly) double doubleValue;
@property(readonly, copy) NSString *stringValue;
+ (NSNumber *)numberWithBool:(BOOL)value;
+ (NSNumber *)numberWithChar:(char)value;
+ (NSNumber *)numberWithInt:(int)value;
+ (NSNumber *)numberWithUnsignedInt:(unsigned int)value;
+ (NSNumber *)numberWithLong:(long)value;
+ (NSNumber *)numberWithUnsignedLong:(unsigned long)value;
+ (NSNumber *)numberWithInteger:(NSInteger)value;
+ (NSNumber *)numberWithUnsignedInteger:(NSUInteger)value;
+ (NSNumber *)numberWithLongLong:(long long)value;
+ (NSNumber *)numberWithUnsignedLongLong:(unsigned long long)value;
+ (NSNumber *)numberWithDouble:(double)value;
@end
@interface NSNull : NSObject <NSCopying>
+ (NSNull *)null;
@end

@interface NSData : NSObject <NSCopying, NSMutableCopying>
@property(readonly) NSUInteger length;
@property(readonly) const void *bytes;
+ (instancetype)data;
+ (instancetype)dataWithBytes:(nullable const void *)bytes length:(NSUInteger)length;
+ (nullable instancetype)dataWithContentsOfFile:(NSString *)path;
+ (nullable instancetype)dataWithContentsOfURL:(NSURL *)url;
- (BOOL)isEqualToData:(NSData *)other;
- (BOOL)writeToFile:(NSString *)path atomically:(BOOL)atomically;
- (BOOL)writeToURL:(NSURL *)url atomically:(BOOL)atomically;
- (NSString *)base64EncodedStringWithOptions:(NSUInteger)options;
@end
@interface NSMutableData : NSData
- (void)appendBytes:(const void *)bytes length:(NSUInteger)length;
@end

@interface NSArray<__covariant ObjectType>
    : NSObject <NSCopying, NSMutableCopying, NSFastEnumeration>
@property(readonly) NSUInteger count;
@property(nullable, readonly) ObjectType firstObject;
@property(nullable, readonly) ObjectType lastObject;
+ (instancetype)array;
+ (instancetype)arrayWithObject:(ObjectType)object;
+ (instancetype)arrayWithObjects:(ObjectType)first, ... __attribute__((sentinel));
+ (instancetype)arrayWithObjects:(const ObjectType _Nonnull[_Nullable])objects
			   count:(NSUInteger)count;
- (ObjectType)objectAtIndex:(NSUInteger)index;
- (BOOL)containsObject:(ObjectType)object;
- (NSUInteger)indexOfObject:(ObjectType)object;
- (void)enumerateObjectsUsingBlock:(void (^)(ObjectType object, NSUInteger index, BOOL *stop))block;
- (NSString *)componentsJoinedByString:(NSString *)separator;
@end
@interface NSMutableArray<ObjectType> : NSArray <ObjectType>
+ (instancetype)arrayWithCapacity:(NSUInteger)capacity;
- (void)addObject:(ObjectType)object;
- (void)removeObject:(ObjectType)object;
- (void)removeObjectAtIndex:(NSUInteger)index;
- (void)removeAllObjects;
@end

@interface NSDictionary<__covariant KeyType, __covariant ObjectType>
    : NSObject <NSCopying, NSMutableCopying, NSFastEnumeration>
@property(readonly) NSUInteger count;
@property(readonly, copy) NSArray<KeyType> *allKeys;
@property(readonly, copy) NSArray<ObjectType> *allValues;
+ (instancetype)dictionary;
+ (instancetype)dictionaryWithObject:(ObjectType)object forKey:(KeyType<NSCopying>)key;
+ (instancetype)dictionaryWithObjectsAndKeys:(id)first, ... __attribute__((sentinel));
+ (instancetype)dictionaryWithObjects:(const ObjectType _Nonnull[_Nullable])objects
			      forKeys:(const KeyType<NSCopying> _Nonnull[_Nullable])keys
				count:(NSUInteger)count;
- (nullable ObjectType)objectForKey:(KeyType)key;
@end
@interface NSMutableDictionary<KeyType, ObjectType> : NSDictionary <KeyType, ObjectType>
- (void)setObject:(ObjectType)object forKey:(KeyType<NSCopying>)key;
- (void)removeObjectForKey:(KeyType)key;
- (void)removeAllObjects;
@end

typedef NSString *NSErrorDomain;
extern NSErrorDomain const NSPOSIXErrorDomain;
extern NSErrorDomain const NSCocoaErrorDomain;
extern NSErrorDomain const NSURLErrorDomain;
extern NSString *const NSLocalizedDescriptionKey;
extern NSString *const NSLocalizedFailureReasonErrorKey;
extern NSString *const NSUnderlyingErrorKey;
@interface NSError : NSObject <NSCopying>
@property(readonly, copy) NSErrorDomain domain;
@property(readonly) NSInteger code;
@property(readonly, copy) NSDictionary<NSString *, id> *userInfo;
@property(readonly, copy) NSString *localizedDescription;
@property(nullable, readonly, copy) NSString *localizedFailureReason;
+ (instancetype)errorWithDomain:(NSErrorDomain)domain
			   code:(NSInteger)code
		       userInfo:(nullable NSDictionary<NSString *, id> *)userInfo;
@end
@interface NSException : NSObject <NSCopying>
@property(readonly, copy) NSString *name;
@property(nullable, readonly, copy) NSString *reason;
+ (NSException *)exceptionWithName:(NSString *)name
			    reason:(nullable NSString *)reason
			  userInfo:(nullable NSDictionary *)userInfo;
- (void)raise;
@end
extern NSString *const NSInvalidArgumentException;

@interface NSURL : NSObject <NSCopying>
@property(nullable, readonly, copy) NSString *path;
@property(nullable, readonly, copy) NSString *host;
@property(nullable, readonly, copy) NSString *scheme;
@property(nullable, readonly, copy) NSString *lastPathComponent;
@property(nullable, readonly, copy) NSString *absoluteString;
@property(readonly, getter=isFileURL) BOOL fileURL;
+ (NSURL *)fileURLWithPath:(NSString *)path;
+ (NSURL *)fileURLWithPath:(NSString *)path isDirectory:(BOOL)isDirectory;
+ (nullable instancetype)URLWithString:(NSString *)string;
@end

@interface NSFileHandle : NSObject
@property(readonly) int fileDescriptor;
- (instancetype)initWithFileDescriptor:(int)fd;
- (instancetype)initWithFileDescriptor:(int)fd closeOnDealloc:(BOOL)close;
- (void)closeFile;
@end
@interface NSPipe : NSObject
@property(readonly, retain) NSFileHandle *fileHandleForReading;
@property(readonly, retain) NSFileHandle *fileHandleForWriting;
+ (NSPipe *)pipe;
@end
@interface NSFileManager : NSObject
@property(class, readonly, strong) NSFileManager *defaultManager;
- (BOOL)fileExistsAtPath:(NSString *)path;
- (BOOL)removeItemAtPath:(NSString *)path error:(NSError **)error;
- (BOOL)copyItemAtPath:(NSString *)from toPath:(NSString *)to error:(NSError **)error;
- (BOOL)moveItemAtPath:(NSString *)from toPath:(NSString *)to error:(NSError **)error;
@end

@interface NSDate : NSObject <NSCopying>
@property(readonly) NSTimeInterval timeIntervalSinceNow;
+ (instancetype)date;
+ (instancetype)dateWithTimeIntervalSinceNow:(NSTimeInterval)seconds;
@end
@interface NSThread : NSObject
@property(class, readonly) BOOL isMainThread;
+ (void)detachNewThreadSelector:(SEL)selector toTarget:(id)target withObject:(nullable id)argument;
@end
@interface NSProcessInfo : NSObject
@property(class, readonly, strong) NSProcessInfo *processInfo;
@property(readonly) NSOperatingSystemVersion operatingSystemVersion;
@property(readonly) unsigned long long physicalMemory;
@property(readonly) NSUInteger processorCount;
@property(readonly, copy) NSDictionary<NSString *, NSString *> *environment;
- (BOOL)isOperatingSystemAtLeastVersion:(NSOperatingSystemVersion)version;
@end
@interface NSProgress : NSObject
@property int64_t totalUnitCount;
@property int64_t completedUnitCount;
@property(readonly) double fractionCompleted;
@property(readonly, getter=isCancelled) BOOL cancelled;
@property(readonly, getter=isFinished) BOOL finished;
- (void)cancel;
@end
@interface NSUUID : NSObject <NSCopying>
@property(readonly, copy) NSString *UUIDString;
+ (instancetype)UUID;
@end
@interface NSBundle : NSObject
+ (nullable NSBundle *)bundleWithPath:(NSString *)path;
- (BOOL)load;
@end
@interface NSJSONSerialization : NSObject
+ (nullable id)JSONObjectWithData:(NSData *)data
			  options:(NSUInteger)options
			    error:(NSError **)error;
+ (nullable NSData *)dataWithJSONObject:(id)object
				options:(NSUInteger)options
				  error:(NSError **)error;
@end

typedef NS_OPTIONS(NSUInteger, NSKeyValueObservingOptions) {
	NSKeyValueObservingOptionNew = 1,
};
@interface NSObject (NSKeyValueObserving)
- (void)observeValueForKeyPath:(nullable NSString *)keyPath
		      ofObject:(nullable id)object
			change:(nullable NSDictionary *)change
		       context:(nullable void *)context;
- (void)addObserver:(NSObject *)observer
	 forKeyPath:(NSString *)keyPath
	    options:(NSKeyValueObservingOptions)options
	    context:(nullable void *)context;
- (void)removeObserver:(NSObject *)observer forKeyPath:(NSString *)keyPath;
@end

NS_ASSUME_NONNULL_END
