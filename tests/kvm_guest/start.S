/* SPDX-License-Identifier: MIT */
/*
 * Where QEMU enters (the PVH note: 32-bit protected mode, no paging), and where interrupts do. It stays in ring 0 and in
 * 32-bit mode, which also a KVM runs that emulates most of the rest. For the same reason an interrupt returns without
 * iret: such a KVM has none.
 */
	.section .note.pvh, "a", @note
	.long 4, 4, 18			/* XEN_ELFNOTE_PHYS32_ENTRY */
	.asciz "Xen"
	.long start

	.text
	.globl start
start:
	cli
	lgdt descriptor
	ljmp $8, $1f
1:	mov $16, %eax
	mov %eax, %ds
	mov %eax, %es
	mov %eax, %ss
	mov $stack_end, %esp
	xor %ebp, %ebp
	call guest_main
2:	hlt
	jmp 2b

	.globl interrupt_entry
interrupt_entry:
	pusha
	call on_interrupt
	popa
	push %eax			/* eax, eip, cs, eflags becomes eflags, eip */
	push %ebx
	mov 8(%esp), %eax
	mov 16(%esp), %ebx
	mov %eax, 16(%esp)
	mov %ebx, 12(%esp)
	pop %ebx
	pop %eax
	lea 4(%esp), %esp
	popf
	ret

	/* What such a KVM cannot run: and elsewhere returns to its caller. */
	.globl run_iret
run_iret:
	pop %eax
	pushf
	push %cs
	push %eax
	iret

	.data
	.balign 8
table:	.quad 0, 0x00cf9b000000ffff, 0x00cf93000000ffff
descriptor:
	.word 23
	.long table

	.bss
	.balign 16
	.skip 16384
stack_end:
	.section .note.GNU-stack, "", @progbits
