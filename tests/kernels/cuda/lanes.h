// CUDA's names on a CPU: the GROUP lanes of one block as coroutines that change over only where lanes wait for each other, in an order that
// changes with every barrier. What a lane reads without a barrier may then be there or not; a barrier that not all lanes reach is found.
#include <cmath>
#include <cstring>
#include <ucontext.h>
#include <vector>

#define __device__ static
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ static

namespace lanes {
const int STACK = 1 << 17;
struct Barrier {
    int arrived, phase;
};
static ucontext_t lane[GROUP], home;
static bool done[GROUP];
static int now, left, stride, waiting;
static bool stuck;
static Barrier block, warp[GROUP / 32], exchange[GROUP / 32];
static unsigned long long slot[GROUP];

static void change_over() {
    if (++waiting > 4 * GROUP) {  // everybody waits
        stuck = true;
        setcontext(&home);
    }
    int was = now;
    do now = (now + stride) % GROUP;
    while (done[now]);
    if (now != was) swapcontext(&lane[was], &lane[now]);
}

static void wait(Barrier &b, int many) {
    int phase = b.phase;
    waiting = 0;
    if (++b.arrived == many) {
        b.arrived = 0, b.phase++;
        stride = (stride + 10) % GROUP | 1;
    }
    while (b.phase == phase) change_over();
}

template <class T> static T from(T x, int other) {
    Barrier &b = exchange[now / 32];
    memcpy(&slot[now], &x, sizeof x);
    wait(b, 32);
    memcpy(&x, &slot[now / 32 * 32 + other], sizeof x);
    wait(b, 32);
    return x;
}

template <void work()> static void one() {
    work();
    done[now] = true;
    waiting = 0;
    if (--left == 0) setcontext(&home);
    change_over();
}

// True where every lane came to its end.
template <void work()> static bool all() {
    static std::vector<char> stacks((size_t)GROUP * STACK);
    block = {};
    for (int i = 0; i < GROUP / 32; i++) warp[i] = exchange[i] = {};
    for (int i = 0; i < GROUP; i++) {
        done[i] = false;
        getcontext(&lane[i]);
        lane[i].uc_stack.ss_sp = stacks.data() + (size_t)i * STACK;
        lane[i].uc_stack.ss_size = STACK;
        makecontext(&lane[i], one<work>, 0);
    }
    now = waiting = 0, left = GROUP, stride = 1, stuck = false;
    volatile bool begun = false;
    getcontext(&home);
    if (!begun) {
        begun = true;
        setcontext(&lane[0]);
    }
    return !stuck;
}
}  // namespace lanes

struct Index {
    int x;
};
#define threadIdx (Index{lanes::now})
#define blockIdx (Index{0})
#define __popc __builtin_popcount
#define __shfl_sync(mask, x, other) lanes::from(x, other)
#define __shfl_xor_sync(mask, x, bits) lanes::from(x, lanes::now % 32 ^ (bits))
#define __shfl_up_sync(mask, x, by) lanes::from(x, lanes::now % 32 - (lanes::now % 32 >= (by) ? (by) : 0))
static void __syncthreads() { lanes::wait(lanes::block, GROUP); }
static void __syncwarp() { lanes::wait(lanes::warp[lanes::now / 32], 32); }
static unsigned __ballot_sync(unsigned, bool flag) {
    unsigned raised = 0;
    for (int i = 0; i < 32; i++) raised |= (unsigned)lanes::from(flag, i) << i;
    return raised;
}
static int atomicAdd(int *at, int x) { return (*at += x) - x; }
static int atomicMin(int *at, int x) {
    int old = *at;
    if (x < old) *at = x;
    return old;
}
static int atomicCAS(int *at, int expected, int x) {
    int old = *at;
    if (old == expected) *at = x;
    return old;
}
