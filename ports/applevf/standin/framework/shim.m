/* SPDX-License-Identifier: MIT */
/*
 * Blocks as objects. libBlocksRuntime knows nothing of Objective-C: its blocks answer no message,
 * and copying one keeps no object that it captured. Here the classes of blocks, which the compiler
 * names in every block, are room for a copy of a class of ours, and what is called for each
 * captured variable sends retain and release to objects.
 *
 * This must be linked before libBlocksRuntime, and that before libgnustep-base, which has a third
 * set of these names.
 */
#import <Foundation/Foundation.h>

#include <Block.h>
#include <Block_private.h>
#include <dlfcn.h>
#include <string.h>

#import "settings.h"

/* struct objc_class of GCC's runtime 4, ABI 8 (libobjc/objc-private/module-abi-8.h): 13 words. */
#define CLASS_WORDS 13
#define ROOM 32

/* Kinds of captured variables, from the blocks' specification of clang (Block-ABI-Apple). */
enum { FIELD_IS_OBJECT = 3 };

void *_NSConcreteStackBlock[ROOM];
void *_NSConcreteGlobalBlock[ROOM];
void *_NSConcreteMallocBlock[ROOM];

extern void _Block_object_assign(void *to, const void *object, const int flags);
extern void _Block_object_dispose(const void *object, const int flags);

bool are_classes_there;

@interface StandinBlock : NSObject
@end

@implementation StandinBlock

/* Its class does not tell: this _Block_copy leaves that of the stack in the copy. */
static BOOL is_on_heap(id block)
{
	return (((struct Block_layout *)block)->flags & BLOCK_NEEDS_FREE) != 0;
}

/* When a block is used all classes exist. Only a class that has been sent a message has its methods
 * ready, and the methods are copied. */
+ (void)load
{
	id any = [[self alloc] init];

	memcpy(_NSConcreteStackBlock, (void *)self, CLASS_WORDS * sizeof(void *));
	memcpy(_NSConcreteGlobalBlock, (void *)self, CLASS_WORDS * sizeof(void *));
	memcpy(_NSConcreteMallocBlock, (void *)self, CLASS_WORDS * sizeof(void *));
	NSDeallocateObject(any);
	are_classes_there = true;
}

- (id)copyWithZone:(NSZone *)zone
{
	(void)zone;
	return (id)_Block_copy(self);
}

- (id)copy
{
	return (id)_Block_copy(self);
}

- (id)retain
{
	return is_on_heap(self) ? (id)_Block_copy(self) : self;
}

- (oneway void)release
{
	if (is_on_heap(self))
		_Block_release(self);
}

- (NSUInteger)retainCount
{
	return 1;
}

@end

static void *next_of(const char *name)
{
	void *found = dlsym(RTLD_NEXT, name);

	if (!found) {
		fprintf(stderr, "stand-in: no %s in libBlocksRuntime\n", name);
		abort();
	}
	return found;
}

void _Block_object_assign(void *to, const void *object, const int flags)
{
	static void (*next)(void *, const void *, const int);

	if (flags == FIELD_IS_OBJECT) {
		*(id *)to = [(id)object retain];
		return;
	}
	if (!next)
		next = next_of("_Block_object_assign");
	next(to, object, flags);
}

void _Block_object_dispose(const void *object, const int flags)
{
	static void (*next)(const void *, const int);

	if (flags == FIELD_IS_OBJECT) {
		[(id)object release];
		return;
	}
	if (!next)
		next = next_of("_Block_object_dispose");
	next(object, flags);
}
