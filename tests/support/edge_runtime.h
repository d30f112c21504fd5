/* What a test program needs of a machine: read, write, leave. On chips without an operating system
   by semihosting, with which QEMU reads and writes files of the host, and no C library. */
#ifndef EDGE_RUNTIME
#define EDGE_RUNTIME
#include <stdint.h>

#if defined(__arm__) || defined(__riscv)

static inline long edge_host(long operation, const void *argument)
{
#ifdef __arm__
    register long r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
#else
    register long a0 __asm__("a0") = operation;
    register const void *a1 __asm__("a1") = argument;
    __asm__ volatile(".option push\n.option norvc\nslli x0, x0, 0x1f\nebreak\nsrai x0, x0, 7\n.option pop"
                     : "+r"(a0) : "r"(a1) : "memory");
    return a0;
#endif
}

static long edge_files[2];

static void edge_open(void)
{
    volatile uintptr_t call[3]; /* not copied by memcpy */
    call[0] = (uintptr_t) "in.bin", call[1] = 1, call[2] = 6;
    edge_files[0] = edge_host(1, (const void *)call);
    call[0] = (uintptr_t) "out.bin", call[1] = 5, call[2] = 7;
    edge_files[1] = edge_host(1, (const void *)call);
}

/* How many bytes were read. */
static inline uint32_t edge_read(void *to, uint32_t n)
{
    uintptr_t call[3] = {(uintptr_t)edge_files[0], (uintptr_t)to, n};
    return n - (uint32_t)edge_host(6, call);
}

static inline void edge_write(const void *from, uint32_t n)
{
    uintptr_t call[3] = {(uintptr_t)edge_files[1], (uintptr_t)from, n};
    edge_host(5, call);
}

int main(void);

static void edge_run(void)
{
    edge_open();
    main();
    {
        uintptr_t call[1] = {(uintptr_t)edge_files[1]};
        edge_host(2, call);
    }
    edge_host(0x18, (void *)0x20026);
    for (;;) {}
}

#ifdef __arm__
__attribute__((used)) static void edge_reset(void)
{
#ifdef __ARM_FP
    *(volatile uint32_t *)0xE000ED88u |= 0xFu << 20; /* the coprocessors of the FPU */
    __asm__ volatile("dsb\nisb");
#endif
    edge_run();
}

__attribute__((used, section(".start"))) static void (*const edge_vectors[2])(void) = {
    (void (*)(void))EDGE_STACK, edge_reset};
#else
static void edge_reset(void) __asm__("edge_reset"); /* also in C++ */
__attribute__((used)) static void edge_reset(void) { edge_run(); }

__attribute__((naked, used, section(".start"))) static void edge_start(void)
{
    __asm__ volatile(".option arch, +zicsr\nli sp, %0\nli t0, 0x2000\ncsrs mstatus, t0\nj edge_reset" ::"i"(EDGE_STACK));
}
#endif

#else
#include <stdio.h>
static inline uint32_t edge_read(void *to, uint32_t n) { return (uint32_t)fread(to, 1, n, stdin); }
static inline void edge_write(const void *from, uint32_t n) { fwrite(from, 1, n, stdout); }
#endif
#endif
