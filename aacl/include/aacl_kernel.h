/*
 * Kernels of a program's own, as functions of a host shared object, in C (C99 or later) or C++ (with casts from void *).
 *
 *     #include "aacl_kernel.h"
 *     typedef struct { long count; } tiling_t;
 *     AACL_KERNEL(vector_add) {
 *         const tiling_t *t = tiling;
 *         const float *a = inputs[0], *b = inputs[1];
 *         float *y = outputs[0];
 *         if (t->count < 0) AACL_FAIL(1);
 *         long share = (t->count + blocks - 1) / blocks, from = block * share, to = from + share;
 *         for (long i = from; i < to && i < t->count; ++i) y[i] = a[i] + b[i];
 *     }
 *
 * Compile it with: cc -O2 -shared -fPIC -I"$(python -c 'import aacl; print(aacl.kernel_include_dir())')"
 *
 * In scope of the body are
 *
 *     const void *const *inputs      the elements of each input; NULL for an absent one. They may only be read. How many
 *                                    there are AACL_KERNEL_TAKES says; without it the selector has to check that.
 *     void *const *outputs           the elements of each output
 *     void *const *workspaces        the launch's workspaces, which all its blocks share
 *     const void *tiling             the launch's tiling bytes, aligned to 64 bytes
 *     long block, long blocks        which block this is, from 0, and how many there are
 *
 * Elements lie in row-major order without gaps, aligned to 64 bytes where the runtime made the tensor. The blocks of a
 * launch run at the same time on several threads, in any order, without the interpreter's lock: each writes its own part.
 * Only where there are no more blocks than the device has cores may they wait for each other.
 *
 * AACL_FAIL(code) ends the block and fails the launch with a status, any int but 0. It belongs in the body itself: a
 * function that the body calls has to return first.
 *
 * AACL_KERNEL_TAKES(vector_add, 2, 1, 0, sizeof(tiling_t)), beside the kernel and without a semicolon, says how many
 * inputs, outputs and workspaces it uses, and how many bytes of tiling. A launch with fewer is refused before it runs.
 *
 * A function that a program launches by itself, without an operator, takes a structure of its own making:
 *
 *     typedef struct {
 *         AACL_ARGUMENT const float *x;
 *         AACL_ARGUMENT float *y;
 *         AACL_ARGUMENT int count;
 *     } twice_t;
 *     AACL_GLOBAL(twice, twice_t) {
 *         for (long i = block; i < args->count; i += blocks) args->y[i] = 2 * args->x[i];
 *     }
 *
 * AACL_ARGUMENT puts each member at a multiple of 8 bytes, where arguments that are appended one by one lie. In scope
 * of the body are args, a pointer to the structure, and block and blocks as above. A launch with fewer bytes than the
 * structure has is refused before it runs; what the pointers in it point to is the program's business, and
 * AACL_CHECK_KERNELS=1 does not look at it.
 */
#ifndef AACL_KERNEL_H
#define AACL_KERNEL_H

/* The version of the calling convention below. The runtime refuses a shared object of another one. */
#define AACL_KERNEL_ABI 1

#if defined(__GNUC__) || defined(__clang__)
#define AACL_EXPORT_ __attribute__((visibility("default"), used))
#define AACL_WEAK_ __attribute__((weak))
#define AACL_UNUSED_ __attribute__((unused))
#else
#error "aacl_kernel.h needs GCC or Clang"
#endif

#ifdef __cplusplus
#define AACL_C_ extern "C"
#else
#define AACL_C_ extern
#endif

/* Weak: every object file of a library may bring it. */
AACL_C_ AACL_EXPORT_ AACL_WEAK_ int aacl_kernels_abi(void);
AACL_C_ AACL_EXPORT_ AACL_WEAK_ int aacl_kernels_abi(void) { return AACL_KERNEL_ABI; }

#define AACL_PARAMETERS_                                                                   \
    AACL_UNUSED_ const void *const *inputs, AACL_UNUSED_ void *const *outputs,             \
    AACL_UNUSED_ void *const *workspaces, AACL_UNUSED_ const void *tiling

/*
 * Define a kernel; its body follows. The library exports a function that runs the blocks from first to before end, one
 * after the other, named aacl_kernel_ and the kernel's name. It stops at a block that fails, tells which one that was,
 * and returns its status; 0 if none fails.
 */
#define AACL_KERNEL(name)                                                                  \
    static void aacl_body_##name(AACL_PARAMETERS_, AACL_UNUSED_ long block,                \
                                 AACL_UNUSED_ long blocks, AACL_UNUSED_ int *aacl_status); \
    AACL_C_ AACL_EXPORT_ int aacl_kernel_##name(AACL_PARAMETERS_, long first, long end,    \
                                                long blocks, long *failed);                \
    AACL_C_ AACL_EXPORT_ int aacl_kernel_##name(AACL_PARAMETERS_, long first, long end,    \
                                                long blocks, long *failed) {               \
        int aacl_status = 0;                                                               \
        for (; first < end && !aacl_status; ++first) {                                     \
            *failed = first;                                                               \
            aacl_body_##name(inputs, outputs, workspaces, tiling, first, blocks, &aacl_status); \
        }                                                                                  \
        return aacl_status;                                                                \
    }                                                                                      \
    static void aacl_body_##name(AACL_PARAMETERS_, AACL_UNUSED_ long block,                \
                                 AACL_UNUSED_ long blocks, AACL_UNUSED_ int *aacl_status)

/* Say what a kernel uses at least; a launch is checked against it. */
#define AACL_KERNEL_TAKES(name, inputs, outputs, workspaces, tiling_bytes)                 \
    AACL_C_ AACL_EXPORT_ long aacl_takes_##name(int which);                                \
    AACL_C_ AACL_EXPORT_ long aacl_takes_##name(int which) {                               \
        const long numbers[] = {(inputs), (outputs), (workspaces), (long)(tiling_bytes)};  \
        return which >= 0 && which < 4 ? numbers[which] : -1;                              \
    }

#define AACL_ARGUMENT __attribute__((aligned(8)))

/*
 * Define a function that is launched by itself; its body follows. The library exports a function that runs blocks, as
 * that of a kernel does, named aacl_global_ and the function's name, and one that tells the bytes of its arguments.
 */
#define AACL_GLOBAL(name, type)                                                            \
    static void aacl_body_##name(AACL_UNUSED_ const type *args, AACL_UNUSED_ long block,   \
                                 AACL_UNUSED_ long blocks, AACL_UNUSED_ int *aacl_status); \
    AACL_C_ AACL_EXPORT_ long aacl_bytes_##name(void);                                     \
    AACL_C_ AACL_EXPORT_ long aacl_bytes_##name(void) { return (long)sizeof(type); }       \
    AACL_C_ AACL_EXPORT_ int aacl_global_##name(const void *args, long first, long end,    \
                                                long blocks, long *failed);                \
    AACL_C_ AACL_EXPORT_ int aacl_global_##name(const void *args, long first, long end,    \
                                                long blocks, long *failed) {               \
        int aacl_status = 0;                                                               \
        for (; first < end && !aacl_status; ++first) {                                     \
            *failed = first;                                                               \
            aacl_body_##name((const type *)args, first, blocks, &aacl_status);             \
        }                                                                                  \
        return aacl_status;                                                                \
    }                                                                                      \
    static void aacl_body_##name(AACL_UNUSED_ const type *args, AACL_UNUSED_ long block,   \
                                 AACL_UNUSED_ long blocks, AACL_UNUSED_ int *aacl_status)

#define AACL_FAIL(code)         \
    do {                        \
        *aacl_status = (code);  \
        return;                 \
    } while (0)

#endif
