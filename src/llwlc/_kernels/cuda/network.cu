// The rows of `nn._net` and what is read of them, one link to a group: means and sizes of distance classes, largest
// entries, the rows of the ends, and their filtered features. Layers that have one row a link are left to torch.
//
// A warp takes 32 nodes at a time (a tile) through all blocks, so no array grows with the number of nodes: rows of
// earlier blocks are computed anew for each block, which takes less time than memory for them would cost. Filters and
// weights act on κ rows of a link, since they commute with V. Channels are padded to C, a multiple of 32, columns of V
// to `stride`, a multiple of four that spreads rows over the banks of fast memory; padding is zero. Everything is added
// up in one order, so the numbers of a link do not depend on the links around it.
#include "group.cuh"

#define TILE 32
#define CHUNK 32   // channels of a row that one lane holds in registers
#define QUADS 3    // columns of V, in fours, that a lane takes at once

struct alignas(16) Four {
    float a, b, c, d;
};

struct Network {
    // the links: ptr [B + 1]; values [B, κ]; vectors [N, κ], zero in dead columns; node, degree [N]; label [N], or null
    // for dist_u, dist_v [N]
    const int64 *ptr, *node, *dist_u, *dist_v;
    const unsigned char *label;
    const float *values, *vectors, *degree;
    // weights that stay in fast memory, see `resident_of`; first [S (classes + 1), C], mix [blocks − 1, S, C, C];
    // features of all nodes [n, F]
    const float *resident, *first, *mix, *table;
    int *counter;
    float *out;  // [B, width]
    int64 width;
    int links, kappa, stride, blocks, channels, C, classes, filters, hidden, features, skips, jumping, ends, cap;
};

DEVICE int whole_fours(int n) { return (n + 3) / 4 * 4; }

// The multilayer perceptrons on eigenvalues: one a block, one for the features.
DEVICE int filters_of(const Network &t) { return t.blocks + (t.features > 0); }

struct Resident {
    float *base, *by_degree;  // of the first block: [classes, C], [C]
    float *bias, *skip;       // of later blocks: [blocks − 1, C], [blocks − 1, C, C]
    float *inner, *inner_bias, *outer, *outer_bias;
};

struct Space {
    Resident w;
    float *gain;      // [filters_of, S, stride]
    float *classes;   // [classes + 1, stride]: V summed by class, and by log(1 + degree)
    float *spectrum;  // [stride, C]: VᵀX
    float *mixed;     // [blocks, stride, C]: Σ_s f_s(R) VᵀX W_s
    float *ends;      // [stride, F]: VᵀX of the features
    float *count;     // [classes]
    // of this warp
    float *V, *rows, *spare;  // [TILE, stride], [TILE, C + 4]; `spare` where C is above CHUNK
    float *log_degree;        // [TILE]
    int *label, *node;        // [TILE]
    float *sums;
    // of all warps
    float *all_sums, *end;
    int apart;  // between the sums of one warp and the next
};

DEVICE int resident_of(Resident &w, float *at, const Network &t) {
    float *begin = at;
    int C = t.C, later = t.blocks - 1, M = filters_of(t);
    w.base = at, at += t.classes * C;
    w.by_degree = at, at += C;
    w.bias = at, at += later * C;
    w.skip = at, at += t.skips * later * C * C;
    w.inner = at, at += M * t.hidden;
    w.inner_bias = at, at += M * t.hidden;
    w.outer = at, at += M * t.filters * t.hidden;
    w.outer_bias = at, at += M * t.filters;
    return (int)(at - begin);
}

// The layout of fast memory; `cuda.network.shared_bytes` counts the same.
DEVICE Space space_of(const Network &t) {
    Space s;
    float *at = (float *)room;
    at += whole_fours(resident_of(s.w, at, t));
    s.gain = at, at += filters_of(t) * t.filters * t.stride;
    s.classes = at, at += (t.classes + 1) * t.stride;
    s.spectrum = at, at += t.stride * t.C;
    s.mixed = at, at += t.blocks * t.stride * t.C;
    s.ends = at, at += t.stride * whole_fours(t.features);
    s.count = at, at += whole_fours(t.classes);
    int first = (t.classes + 1) * t.stride + t.stride * whole_fours(t.features) + whole_fours(t.classes);
    int later = (t.stride + t.classes + 1) * t.C;
    int sums = first > later ? first : later;
    int tiles = (t.C > CHUNK ? 2 : 1) * TILE * (t.C + 4);
    s.apart = TILE * t.stride + tiles + 3 * TILE + sums;
    at += WARP * s.apart;
    s.V = at, at += TILE * t.stride;
    s.rows = at, s.spare = at + TILE * (t.C + 4), at += tiles;
    s.log_degree = at, at += TILE;
    s.label = (int *)at, at += TILE;
    s.node = (int *)at, at += TILE;
    s.sums = at;
    s.all_sums = at - WARP * s.apart;
    s.end = s.all_sums + (WARPS - 1) * s.apart + sums;
    return s;
}

DEVICE Four four(float x) { return {x, x, x, x}; }
DEVICE Four four_at(const float *x) { return *(const Four *)x; }
DEVICE void put(float *to, const Four &x) { *(Four *)to = x; }
DEVICE void add(Four &to, float by, const Four &x) {
    to.a += by * x.a, to.b += by * x.b, to.c += by * x.c, to.d += by * x.d;
}
DEVICE float positive(float x) { return x > 0 ? x : 0; }

// Zeroes the sums of this warp.
DEVICE void clear(const Space &s, int count) {
    SYNC_WARP();
    for EACH_OF_WARP(i, count) s.sums[i] = 0;
    SYNC_WARP();
}

// The sum over all warps, in their order.
DEVICE float all_warps(const Space &s, int i) {
    float total = s.all_sums[i];
    for (int w = 1; w < WARPS; w++) total += s.all_sums[w * s.apart + i];
    return total;
}

DEVICE int label_of(const Network &t, int64 i) {
    if (t.label) return t.label[i];
    int u = (int)t.dist_u[i], v = (int)t.dist_v[i];
    u = u < t.cap ? u : t.cap, v = v < t.cap ? v : t.cap;
    int near = u < v ? u : v, far = u < v ? v : u;
    return far * (far + 1) / 2 + near;
}

// Loads the nodes from i on, of which there are `rows`.
DEVICE void load_tile(const Network &t, const Space &s, int64 i, int rows) {
    SYNC_WARP();
    const float *from = t.vectors + i * t.kappa;
    int r = PLACE / t.kappa, k = PLACE % t.kappa, rows_a_step = WIDTH / t.kappa, columns_a_step = WIDTH % t.kappa;
    for EACH_OF_WARP(e, rows * t.kappa) {
        s.V[r * t.stride + k] = from[e];
        r += rows_a_step, k += columns_a_step;
        if (k >= t.kappa) k -= t.kappa, r++;
    }
    for EACH_OF_WARP(j, rows) {
        s.label[j] = label_of(t, i + j);
        s.log_degree[j] = log1pf(t.degree[i + j]);
        if (t.features) s.node[j] = (int)t.node[i + j];
    }
    SYNC_WARP();
}

// f_s(λ) for all multilayer perceptrons; dead columns need no zero, since V is zero there.
DEVICE void gains(const Network &t, const Space &s, const float *values) {
    int S = t.filters, H = t.hidden;
    for EACH(i, filters_of(t) * S * t.kappa) {
        int k = i % t.kappa, which = i / t.kappa, f = which / S;
        const float *inner = s.w.inner + f * H, *bias = s.w.inner_bias + f * H, *outer = s.w.outer + which * H;
        float value = values[k], sum = s.w.outer_bias[which];
        UNROLL_4 for (int h = 0; h < H; h++) sum += outer[h] * positive(inner[h] * value + bias[h]);
        s.gain[which * t.stride + k] = sum;
    }
}

// Adds the rows of V of a tile to the sums of their classes. Nodes of one class follow each other, since they were
// found so.
DEVICE void sum_classes(const Network &t, const Space &s, int rows, float *classes, float *count) {
    for EACH_OF_WARP(k, t.kappa) {
        int label = s.label[0], begin = 0;
        float sum = 0, by_degree = 0;
        for (int r = 0; r < rows; r++) {
            if (s.label[r] != label) {
                classes[label * t.stride + k] += sum;
                if (k == 0) count[label] += r - begin;
                sum = 0, label = s.label[r], begin = r;
            }
            float v = s.V[r * t.stride + k];
            sum += v;
            by_degree += s.log_degree[r] * v;
        }
        classes[label * t.stride + k] += sum;
        if (k == 0) count[label] += rows - begin;
        classes[t.classes * t.stride + k] += by_degree;
    }
}

// Adds VᵀX of the features of a tile.
DEVICE void project_features(const Network &t, const Space &s, int rows, float *out) {
    int F = t.features;
    for EACH_OF_WARP(c, F) {
        for (int k = 0; k < t.stride; k += 4 * QUADS) {
            Four sum[QUADS];
            UNROLL for (int q = 0; q < QUADS; q++) sum[q] = four(0);
            UNROLL_4 for (int r = 0; r < rows; r++) {
                float x = t.table[(int64)s.node[r] * F + c];
                UNROLL for (int q = 0; q < QUADS; q++)
                    if (k + 4 * q < t.stride) add(sum[q], x, four_at(s.V + r * t.stride + k + 4 * q));
            }
            UNROLL for (int q = 0; q < QUADS; q++) {
                if (k + 4 * q >= t.stride) continue;
                float *to = out + (k + 4 * q) * F + c;
                to[0] += sum[q].a, to[F] += sum[q].b, to[2 * F] += sum[q].c, to[3 * F] += sum[q].d;
            }
        }
    }
}

// What all nodes together give before the first block: sums by class, class sizes, the spectrum of the features.
DEVICE void first_spectrum(const Network &t, const Space &s, int64 p, int n) {
    int classes = (t.classes + 1) * t.stride, ends = t.stride * t.features;
    float *count = s.sums + classes, *features = count + whole_fours(t.classes);
    clear(s, classes + whole_fours(t.classes) + ends);
    for (int base = WARP * TILE; base < n; base += WARPS * TILE) {
        int rows = n - base < TILE ? n - base : TILE;
        load_tile(t, s, p + base, rows);
        sum_classes(t, s, rows, s.sums, count);
        if (t.features) project_features(t, s, rows, features);
    }
    SYNC();
    for EACH(i, classes) s.classes[i] = all_warps(s, i);
    for EACH(i, t.classes) s.count[i] = all_warps(s, classes + i);
    for EACH(i, ends) s.ends[i] = all_warps(s, classes + whole_fours(t.classes) + i);
    SYNC();
}

// Σ_s f_s(R) VᵀX₀ W_s.
DEVICE void first_mixed(const Network &t, const Space &s) {
    int inputs = t.classes + 1, quads = t.C / 4;
    for EACH(i, t.kappa * quads) {
        int k = i / quads, c = i % quads * 4;
        Four sum = four(0);
        for (int f = 0; f < t.filters; f++) {
            float gain = s.gain[f * t.stride + k];
            const float *W = t.first + f * inputs * t.C + c;
            UNROLL_4 for (int j = 0; j < inputs; j++)
                add(sum, gain * s.classes[j * t.stride + k], four_at(W + j * t.C));
        }
        put(s.mixed + k * t.C + c, sum);
    }
    SYNC();
}

// Σ_s f_s(R) VᵀX W_s of a later block, X the rows of the block before.
DEVICE void next_mixed(const Network &t, const Space &s, int block) {
    int quads = t.C / 4, S = t.filters;
    for EACH(i, t.kappa * quads) {
        int k = i / quads, c = i % quads * 4;
        Four sum = four(0);
        for (int f = 0; f < S; f++) {
            const float *W = t.mix + (int64)((block - 1) * S + f) * t.C * t.C + c;
            Four part = four(0);
            UNROLL_4 for (int j = 0; j < t.C; j++) add(part, s.spectrum[k * t.C + j], four_at(W + j * t.C));
            add(sum, s.gain[(block * S + f) * t.stride + k], part);
        }
        put(s.mixed + (block * t.stride + k) * t.C + c, sum);
    }
    SYNC();
}

// row += Σ_k x_k W_k for CHUNK entries, `count` a multiple of four, rows of W C apart.
DEVICE void add_products(Four *row, const float *x, int count, const float *W, int C) {
    for (int k = 0; k < count; k += 4) {
        Four by = four_at(x + k);
        const float *w = W + k * C;
        UNROLL for (int q = 0; q < CHUNK / 4; q++) {
            add(row[q], by.a, four_at(w + 4 * q));
            add(row[q], by.b, four_at(w + C + 4 * q));
            add(row[q], by.c, four_at(w + 2 * C + 4 * q));
            add(row[q], by.d, four_at(w + 3 * C + 4 * q));
        }
    }
}

DEVICE void put_positive(float *to, const Four *row) {
    UNROLL for (int q = 0; q < CHUNK / 4; q++)
        put(to + 4 * q, {positive(row[q].a), positive(row[q].b), positive(row[q].c), positive(row[q].d)});
}

// X₁ of a tile, a row a lane.
DEVICE void first_rows(const Network &t, const Space &s, int rows) {
    for EACH_OF_WARP(r, rows) {
        for (int o = 0; o < t.C; o += CHUNK) {
            Four row[CHUNK / 4];
            UNROLL for (int q = 0; q < CHUNK / 4; q++) {
                row[q] = four_at(s.w.base + s.label[r] * t.C + o + 4 * q);
                add(row[q], s.log_degree[r], four_at(s.w.by_degree + o + 4 * q));
            }
            add_products(row, s.V + r * t.stride, t.stride, s.mixed + o, t.C);
            put_positive(s.rows + r * (t.C + 4) + o, row);
        }
    }
}

// The rows of a later block in the place of those of the block before: a lane needs no row but its own.
DEVICE void next_rows(const Network &t, Space &s, int rows, int block) {
    float *to = t.C > CHUNK ? s.spare : s.rows;
    for EACH_OF_WARP(r, rows) {
        const float *before = s.rows + r * (t.C + 4);
        for (int o = 0; o < t.C; o += CHUNK) {
            Four row[CHUNK / 4];
            UNROLL for (int q = 0; q < CHUNK / 4; q++) row[q] = four_at(s.w.bias + (block - 1) * t.C + o + 4 * q);
            add_products(row, s.V + r * t.stride, t.stride, s.mixed + block * t.stride * t.C + o, t.C);
            if (t.skips) add_products(row, before, t.C, s.w.skip + (block - 1) * t.C * t.C + o, t.C);
            put_positive(to + r * (t.C + 4) + o, row);
        }
    }
    if (t.C > CHUNK) s.spare = s.rows, s.rows = to;
}

// Adds VᵀX of a tile: a lane has four channels, and every fourth column of V.
DEVICE void project(const Network &t, const Space &s, int rows, float *out) {
    int quads = t.C / 4;
    for EACH_OF_WARP(i, 4 * quads) {
        int c = i % quads * 4, own = i / quads;
        for (int k = own; k < t.stride; k += 4 * QUADS) {
            Four sum[QUADS];
            UNROLL for (int q = 0; q < QUADS; q++) sum[q] = four(0);
            UNROLL_4 for (int r = 0; r < rows; r++) {
                Four x = four_at(s.rows + r * (t.C + 4) + c);
                UNROLL for (int q = 0; q < QUADS; q++)
                    if (k + 4 * q < t.stride) add(sum[q], s.V[r * t.stride + k + 4 * q], x);
            }
            UNROLL for (int q = 0; q < QUADS; q++) {
                if (k + 4 * q >= t.stride) continue;
                Four x = four_at(out + (k + 4 * q) * t.C + c);
                add(x, 1, sum[q]);
                put(out + (k + 4 * q) * t.C + c, x);
            }
        }
    }
}

// Adds the rows of a tile to the sums of their classes, and keeps the largest entries.
DEVICE void pool(const Network &t, const Space &s, int rows, float *classes, float *largest) {
    for EACH_OF_WARP(c, t.C) {
        int label = s.label[0];
        float sum = 0, most = largest[c];
        for (int r = 0; r < rows; r++) {
            if (s.label[r] != label) {
                classes[label * t.C + c] += sum;
                sum = 0, label = s.label[r];
            }
            float x = s.rows[r * (t.C + 4) + c];
            sum += x;
            most = x > most ? x : most;
        }
        classes[label * t.C + c] += sum;
        largest[c] = most;
    }
}

// One block: the rows of all nodes, what is pooled of them, and VᵀX for the next block.
DEVICE void run_block(const Network &t, Space &s, int64 p, int n, int block, float *out) {
    bool last = block == t.blocks - 1, pooled = last || t.jumping;
    int H = t.channels * (t.jumping ? t.blocks : 1), at = t.jumping ? block * t.channels : 0;
    float *classes = s.sums + t.stride * t.C, *largest = classes + t.classes * t.C;
    float *ends = out + t.classes * (H + 1) + H;
    clear(s, (t.stride + t.classes + 1) * t.C);
    for (int base = WARP * TILE; base < n; base += WARPS * TILE) {
        int rows = n - base < TILE ? n - base : TILE;
        load_tile(t, s, p + base, rows);
        first_rows(t, s, rows);
        for (int b = 1; b <= block; b++) next_rows(t, s, rows, b);
        SYNC_WARP();
        if (!last) project(t, s, rows, s.sums);
        if (pooled) pool(t, s, rows, classes, largest);
        if (last && t.ends && base == 0)
            for EACH_OF_WARP(i, 2 * t.channels) ends[i] = s.rows[i / t.channels * (t.C + 4) + i % t.channels];
    }
    SYNC();
    if (!last)
        for EACH(i, t.kappa * t.C) s.spectrum[i] = all_warps(s, i);
    if (pooled) {
        for EACH(i, t.classes * t.channels) {
            int j = i / t.channels, c = i % t.channels;
            float count = s.count[j];
            out[j * (H + 1) + at + c] = all_warps(s, (t.stride + j) * t.C + c) / (count > 1 ? count : 1);
        }
        for EACH(c, t.channels) {
            int i = (t.stride + t.classes) * t.C + c;
            float most = s.all_sums[i];
            for (int w = 1; w < WARPS; w++) {
                float x = s.all_sums[w * s.apart + i];
                most = x > most ? x : most;
            }
            out[t.classes * (H + 1) + at + c] = most;
        }
    }
    SYNC();
}

// The features of the two ends, filtered S times and as they are.
DEVICE void filtered_ends(const Network &t, const Space &s, int64 p, float *out) {
    int F = t.features, S = t.filters;
    for EACH(i, 2 * (S + 1) * F) {
        int c = i % F, f = i / F % (S + 1), end = i / F / (S + 1);
        float sum = 0;
        if (f == S) {
            sum = t.table[t.node[p + end] * F + c];
        } else {
            const float *gain = s.gain + (t.blocks * S + f) * t.stride, *v = t.vectors + (p + end) * t.kappa;
            for (int k = 0; k < t.kappa; k++) sum += gain[k] * v[k] * s.ends[k * F + c];
        }
        out[i] = sum;
    }
}

KERNEL network(Network t) {
    Space s = space_of(t);
    // padding is zero, and stays so
    for (float *at = (float *)room + LANE; at < s.end; at += GROUP) *at = 0;
    SYNC();
    Resident unused;
    for EACH(i, resident_of(unused, nullptr, t)) s.w.base[i] = t.resident[i];
    int H = t.channels * (t.jumping ? t.blocks : 1);
    for (int b = next_of(t.counter); b < t.links; b = next_of(t.counter)) {
        int64 p = t.ptr[b];
        int n = (int)(t.ptr[b + 1] - p);
        float *out = t.out + b * t.width;
        gains(t, s, t.values + (int64)b * t.kappa);
        first_spectrum(t, s, p, n);
        for EACH(j, t.classes) out[j * (H + 1) + H] = log1pf(s.count[j]);
        first_mixed(t, s);
        for (int block = 0; block < t.blocks; block++) {
            if (block) next_mixed(t, s, block);
            run_block(t, s, p, n, block, out);
        }
        if (t.features) filtered_ends(t, s, p, out + t.classes * (H + 1) + H + t.ends * 2 * t.channels);
        SYNC();
    }
}
