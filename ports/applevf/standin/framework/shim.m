/* SPDX-License-Identifier: MIT */
/*
 * Makes every block an object of Objective-C. libBlocksRuntime does not support Objective-C: its
 * blocks do not respond to messages, and a copy of a block does not retain the objects that the
 * block has captured. The compiler puts a pointer to a class into every block. This file defines
 * the variables to which these pointers lead, and fills them with a copy of the class StandinBlock.
 * The two functions for captured variables send retain and release to objects.
 *
 * This file must be linked before libBlocksRuntime. libBlocksRuntime must be linked before
 * libgnustep-base, which also defines these names. Otherwise the linker takes the wrong
 * definitions.
 */
#import <Foundation/Foundation.h>

#include <Block.h>
#include <Block_private.h>
#include <dlfcn.h>
#include <string.h>

#import "settings.h"

/* The size of struct objc_class of GCC's runtime 4, ABI 8 (libobjc/objc-private/module-abi-8.h): 13
 * pointers. */
#define CLASS_WORDS 13
#define ROOM 32

/* The types of captured variables that the blocks' specification of clang defines
 * (Block-ABI-Apple). */
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

/* Returns true if the block is on the heap. The class of the block does not show this, since
 * _Block_copy() of libBlocksRuntime does not change the class: the copy on the heap still has the
 * class for the stack. */
static BOOL is_on_heap(id block)
{
	return (((struct Block_layout *)block)->flags & BLOCK_NEEDS_FREE) != 0;
}

/* Copies the class StandinBlock to the variables that the compiler uses as classes of blocks. A
 * class has its methods only after a message was sent to it, so one object is made before the copy.
 * No block is used before all classes exist. */
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
