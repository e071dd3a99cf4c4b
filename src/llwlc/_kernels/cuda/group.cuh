// The threads that share one link: GROUP of them, a block of their own.
//
// The kernels use only these few primitives. With GROUP 1 the same source is plain C++, one link at a time: so it is
// tested on a machine without a GPU.
#ifndef GROUP
#define GROUP 32
#endif

#define SUMS 8  // numbers that a warp adds up at once

typedef long long int64;
typedef unsigned long long uint64;

#if GROUP == 1

#include <cmath>
#define DEVICE static inline
#define KERNEL extern "C" void
#define KERNEL_OF(warps) KERNEL
#define SHARED static thread_local
#define UNROLL
#define UNROLL_4
#define LANE 0
#define BLOCK 0
#define WARP 0
#define WARPS 1
#define PLACE 0
#define WIDTH 1
#define SYNC() ((void)0)
#define SYNC_WARP() ((void)0)
[[maybe_unused]] alignas(16) static thread_local double room[1 << 14];
DEVICE int atomicMin(int *at, int x) { int old = *at; if (x < old) *at = x; return old; }
DEVICE int atomicCAS(int *at, int expected, int x) { int old = *at; if (old == expected) *at = x; return old; }
DEVICE int atomicAdd(int *at, int x) { int old = *at; *at += x; return old; }
DEVICE double warp_sum(double x) { return x; }
DEVICE double group_sum(double x) { return x; }
DEVICE double group_max(double x) { return x; }
DEVICE void warp_sums(const double *x, int count, double *out) {
    for (int j = 0; j < SUMS && j < count; j++) out[j] = x[j];
}
DEVICE int64 group_scan(int64 x, int64 &total) { total = x; return 0; }
DEVICE int group_rank(bool flag, int &total) { total = flag; return 0; }

#else

#define DEVICE __device__ __forceinline__
#define KERNEL extern "C" __global__ void __launch_bounds__(GROUP)
// a kernel of which a multiprocessor has registers for so many warps
#define KERNEL_OF(warps) extern "C" __global__ void __launch_bounds__(GROUP, 32 * (warps) / GROUP)
#define SHARED __shared__
#define UNROLL _Pragma("unroll")
#define UNROLL_4 _Pragma("unroll 4")
#define WARP (LANE / 32)
#define LANE ((int)threadIdx.x)
#define BLOCK ((int)blockIdx.x)
#define WARPS (GROUP / 32)
#define PLACE (LANE % 32)
#define WIDTH 32
#define SYNC_WARP() __syncwarp()
#define ALL 0xffffffffu
extern __shared__ __align__(16) double room[];

#if GROUP == 32
#define SYNC() __syncwarp()
#else
#define SYNC() __syncthreads()
#endif

// Butterflies: every lane adds the same numbers in the same pairs, so all of them hold the same bits and may branch on
// them.
DEVICE double warp_sum(double x) {
    UNROLL for (int k = 16; k; k >>= 1) x += __shfl_xor_sync(ALL, x, k);
    return x;
}

DEVICE double group_sum(double x) {
    x = warp_sum(x);
#if WARPS > 1
    __shared__ double part[WARPS];
    __syncthreads();
    if (LANE % 32 == 0) part[WARP] = x;
    __syncthreads();
    x = part[0];
    for (int w = 1; w < WARPS; w++) x += part[w];
#endif
    return x;
}

// The sums of eight numbers over a warp, the first `count` of them written to `out`: lanes divide the eight among
// themselves on the way, which takes 9 exchanges instead of 40.
DEVICE void warp_sums(const double *x, int count, double *out) {
    bool high = LANE & 16, middle = LANE & 8, low = LANE & 4;
    double a[4], b[2];
    UNROLL for (int q = 0; q < 4; q++) {
        a[q] = high ? x[q + 4] : x[q];
        a[q] += __shfl_xor_sync(ALL, high ? x[q] : x[q + 4], 16);
    }
    UNROLL for (int q = 0; q < 2; q++) {
        b[q] = middle ? a[q + 2] : a[q];
        b[q] += __shfl_xor_sync(ALL, middle ? a[q] : a[q + 2], 8);
    }
    double own = low ? b[1] : b[0];
    own += __shfl_xor_sync(ALL, low ? b[0] : b[1], 4);
    own += __shfl_xor_sync(ALL, own, 2);
    own += __shfl_xor_sync(ALL, own, 1);
    int which = (high ? 4 : 0) + (middle ? 2 : 0) + (low ? 1 : 0);
    if (LANE % 4 == 0 && which < count) out[which] = own;
}

// The largest; a NaN wins.
DEVICE double larger(double x, double y) { return x != x ? x : (y != y || y > x) ? y : x; }

DEVICE double group_max(double x) {
    UNROLL for (int k = 16; k; k >>= 1) x = larger(x, __shfl_xor_sync(ALL, x, k));
#if WARPS > 1
    __shared__ double part[WARPS];
    __syncthreads();
    if (LANE % 32 == 0) part[WARP] = x;
    __syncthreads();
    x = part[0];
    for (int w = 1; w < WARPS; w++) x = larger(x, part[w]);
#endif
    return x;
}

// The sum over the lanes before this one; `total` over all.
DEVICE int64 group_scan(int64 x, int64 &total) {
    int64 sum = x;
    UNROLL for (int k = 1; k < 32; k <<= 1) {
        int64 left = __shfl_up_sync(ALL, sum, k);
        if (LANE % 32 >= k) sum += left;
    }
#if WARPS > 1
    __shared__ int64 part[WARPS];
    __syncthreads();
    if (LANE % 32 == 31) part[WARP] = sum;
    __syncthreads();
    int64 before = 0;
    total = 0;
    for (int w = 0; w < WARPS; w++) {
        if (w < WARP) before += part[w];
        total += part[w];
    }
    return before + sum - x;
#else
    total = __shfl_sync(ALL, sum, 31);
    return sum - x;
#endif
}

// How many lanes before this one raise the flag; `total` of all.
DEVICE int group_rank(bool flag, int &total) {
    unsigned raised = __ballot_sync(ALL, flag);
    int rank = __popc(raised & ((1u << (LANE % 32)) - 1));
#if WARPS > 1
    __shared__ int part[WARPS];
    __syncthreads();
    if (LANE % 32 == 0) part[WARP] = __popc(raised);
    __syncthreads();
    total = 0;
    for (int w = 0; w < WARPS; w++) {
        if (w < WARP) rank += part[w];
        total += part[w];
    }
#else
    total = __popc(raised);
#endif
    return rank;
}

#endif

// Every lane's i: for (int i = LANE; i < n; i += GROUP).
#define EACH(i, n) (int i = LANE; i < (n); i += GROUP)
// The same among the lanes of one warp, each of which has a part of the work to itself.
#define EACH_OF_WARP(i, n) (int i = PLACE; i < (n); i += WIDTH)

// The next piece of work, the same for all lanes; a group takes the next link when it is done, so a large link delays
// no other group.
DEVICE int next_of(int *counter) {
    SHARED int taken;
    SYNC();
    if (LANE == 0) taken = atomicAdd(counter, 1);
    SYNC();
    return taken;
}

// Where y is among the sorted entries from `begin` to `end`, −1 where it is not.
DEVICE int64 search_sorted(const int64 *sorted, int64 begin, int64 end, int64 y) {
    while (begin < end) {
        int64 middle = (begin + end) / 2;
        if (sorted[middle] < y)
            begin = middle + 1;
        else if (sorted[middle] > y)
            end = middle;
        else
            return middle;
    }
    return -1;
}
