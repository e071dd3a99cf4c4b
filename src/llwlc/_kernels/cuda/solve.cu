// Ritz pairs of PLP, one graph to a group, in float64: the algorithm of `_kernels/numba/krylov.py`; the small
// eigenproblem by Jacobi's rotations, many of which a group does at once.
//
// A group keeps its graph's data in a `Scratch`, in fast memory (`solve`); the Krylov vectors in global memory where
// that is too small (`solve_far`), and at last everything there (`solve_global`). Which it is is known when the kernel
// is compiled: an address that may be in either memory takes twice the registers.
#include "group.cuh"

#ifndef SOLVE
#define SOLVE solve
#endif
#ifdef ALL_GLOBAL
typedef int Position;
#else
typedef unsigned short Position;  // no larger graph fits
#endif

#define EPS 8.881784197001252e-16  // a few units of rounding: the error of one dot product
#define ROUNDING 2e-15
#define ENOUGH 1e-5
#define ENOUGH_IN_FLOAT 1e-11  // of the largest entry of T: what a rotation may leave where results have 24 bits
#define LONG_ROW 31  // longer rows are summed by the lanes of a warp together
#define AHEAD 4      // edges that a lane reads before it uses the first
#define SWEEPS 60
#define INFINITE (1.0 / 0.0)
#define BOUNDARY 1
#define DEGREE 2

struct Task {
    // ragged: ptr, first [B + 1], row, col [E]; weight [E] or null
    const int64 *ptr, *first, *row, *col;
    const double *weight;
    // columns [N, k], or null for the Neumann columns by hop [N]; block [N, b], or null for the query nodes u, v [B];
    // deleted [N] where the projector has a closed form, else null
    const double *columns, *block;
    const int64 *hop, *u, *v;
    const bool *deleted;
    // the graphs of this launch [links], and the number of the next one
    const int64 *order;
    int *counter;
    // the output, float or (wide) double; live [B]; the degrees of the nodes, which are at hand
    void *values, *vectors, *residual;
    int64 *live;
    void *degree;  // [N]: int64, or double where edges have weights
    double *scratch;
    int64 stride;
    double tolerance, rank_tolerance;
    int links, k, b, steps, normalized, wide, neumann;
};

struct Scratch {
    int n, edges, k, b, steps;
    double *scale, *diagonal, *w, *z, *rest, *A, *g, *y, *weight;  // A: the rows of Y, then those of Q
    double *T, *Z, *c, *R, *rotation, *part;
    int *begin, *owner, *merged;
    Position *neighbor, *order;
    int many;  // rows longer than LONG_ROW, at the end of order
};

// The layout of the scratch for a graph of n nodes, with FAR the Krylov vectors from `far` on;
// `cuda.solving.scratch_bytes` and `far_bytes` count the same.
DEVICE Scratch scratch_of(double *at, double *far, const Task &t, int n, int edges) {
    int m = t.steps, k = t.deleted ? 0 : t.k, b = t.b;
    Scratch s;
    s.n = n, s.edges = edges, s.k = k, s.b = b, s.steps = m;
    s.T = at, at += m * m;
    s.Z = at, at += m * m;
    s.rotation = at, at += m + 1;
    s.c = at, at += m + k + 1;
    s.R = at, at += b * b;
    s.part = at, at += WARPS > 1 ? WARPS * (m + k + 1) : 0;
    s.scale = at, at += n;
    s.diagonal = at, at += t.normalized ? 0 : n;
    s.w = at, at += n;
    s.z = at, at += n;
    s.g = at, at += t.deleted ? n : 0;
    s.y = at, at += t.deleted ? n : 0;
    s.weight = at, at += t.weight ? edges : 0;
#ifdef FAR
    s.rest = far, s.A = far + (int64)b * n;
#else
    (void)far;
    s.rest = at, at += (int64)b * n;
    s.A = at, at += (int64)(k + m) * n;
#endif
    int *whole = (int *)at;
    s.begin = whole, whole += n + 1;
    s.owner = whole, whole += b;
    s.merged = whole, whole += t.deleted ? n : 0;
    s.neighbor = (Position *)whole;
    s.order = s.neighbor + edges;
    s.many = 0;
    return s;
}

DEVICE int length_of(const Scratch &s, int i) { return s.begin[i + 1] - s.begin[i]; }

// Rows by length, so that lanes side by side have rows of like length; rows of one length stand in any order, which
// changes no result.
DEVICE void sort_rows(Scratch &s) {
    SHARED int place[LONG_ROW + 2];  // of the longest rows last
    for EACH(i, LONG_ROW + 2) place[i] = 0;
    SYNC();
    for EACH(i, s.n) atomicAdd(place + (length_of(s, i) > LONG_ROW ? LONG_ROW + 1 : length_of(s, i)), 1);
    SYNC();
    int64 before = 0, total;
    for (int base = 0; base < LONG_ROW + 2; base += GROUP) {
        int i = base + LANE, count = i < LONG_ROW + 2 ? place[i] : 0;
        int64 here = before + group_scan(count, total);
        if (i < LONG_ROW + 2) place[i] = (int)here;
        before += total;
    }
    SYNC();
    s.many = s.n - place[LONG_ROW + 1];
    SYNC();
    for EACH(i, s.n)
        s.order[atomicAdd(place + (length_of(s, i) > LONG_ROW ? LONG_ROW + 1 : length_of(s, i)), 1)] = (Position)i;
    SYNC();
}

// Loads the CSR of the graph, with positions inside it. Rows begin where an edge has another row than the edge before;
// some rows are empty.
DEVICE void load(const Task &t, Scratch &s, int64 p, int64 first) {
    for (int base = LANE; base < s.edges; base += AHEAD * GROUP) {
        int row[AHEAD], before[AHEAD], neighbor[AHEAD];
        UNROLL for (int o = 0; o < AHEAD; o++) {
            int e = base + o * GROUP < s.edges ? base + o * GROUP : s.edges - 1;
            row[o] = (int)(t.row[first + e] - p), before[o] = e ? (int)(t.row[first + e - 1] - p) : -1;
            neighbor[o] = (int)(t.col[first + e] - p);
        }
        UNROLL for (int o = 0; o < AHEAD; o++) {
            int e = base + o * GROUP;
            if (e >= s.edges) break;
            for (int i = before[o] + 1; i <= row[o]; i++) s.begin[i] = e;
            s.neighbor[e] = (Position)neighbor[o];
            if (t.weight) s.weight[e] = t.weight[first + e];
            if (e == s.edges - 1)
                for (int i = row[o] + 1; i <= s.n; i++) s.begin[i] = s.edges;
        }
    }
    if (s.edges == 0)
        for EACH(i, s.n + 1) s.begin[i] = 0;
    SYNC();
    sort_rows(s);
}

DEVICE double degree_of(const Task &t, const Scratch &s, int i) {
    if (!t.weight) return length_of(s, i);
    double degree = 0;
    for (int e = s.begin[i]; e < s.begin[i + 1]; e++) degree += s.weight[e];
    return degree;
}

// Σ_e term(i, e) over the edges of every row i, given to `use(i, sum)` by one lane each; a long row is a warp's.
template <class Term, class Use> DEVICE void sum_rows(const Scratch &s, Term term, Use use) {
    int short_rows = s.n - s.many;
    for EACH(r, short_rows) {
        int i = s.order[r], end = s.begin[i + 1];
        double total = 0;
        UNROLL_4 for (int e = s.begin[i]; e < end; e++) total += term(i, e);
        use(i, total);
    }
    for (int r = short_rows + WARP; r < s.n; r += WARPS) {
        int i = s.order[r], end = s.begin[i + 1];
        double total = 0;
        UNROLL_4 for (int e = s.begin[i] + PLACE; e < end; e += WIDTH) total += term(i, e);
        total = warp_sum(total);
        if (PLACE == 0) use(i, total);
    }
}

// Σ_e w_e x_neighbor(e) for every row, or with |w_e|.
template <class Use> DEVICE void row_sums(const Task &t, const Scratch &s, const double *x, bool sizes, Use use) {
    if (t.weight)
        sum_rows(s, [&](int, int e) { return (sizes ? fabs(s.weight[e]) : s.weight[e]) * x[s.neighbor[e]]; }, use);
    else
        sum_rows(s, [&](int, int e) { return x[s.neighbor[e]]; }, use);
}

// Scale and diagonal: D − A, or D^(−1/2) (D − A) D^(−1/2) with 0 at isolated nodes. Returns Gershgorin's bound on ‖L‖,
// not finite where some weight is not.
DEVICE double laplacian(const Task &t, Scratch &s) {
    double wrong = 0, bound = 0;
    for EACH(i, s.n) {
        double degree = degree_of(t, s, i);
        wrong += !(fabs(degree) < INFINITE);
        s.scale[i] = !t.normalized ? 1.0 : degree > 0 ? 1.0 / sqrt(degree) : 0.0;
        if (!t.normalized) s.diagonal[i] = degree;
    }
    SYNC();
    if (group_sum(wrong) > 0) return INFINITE;
    row_sums(t, s, s.scale, true, [&](int i, double total) {
        double row = fabs(t.normalized ? s.scale[i] > 0 : s.diagonal[i]) + s.scale[i] * total;
        if (!(row <= bound)) bound = row;
    });
    return group_max(bound);
}

// out = L x.
DEVICE void apply(const Task &t, const Scratch &s, const double *x, double *out) {
    for EACH(i, s.n) s.z[i] = s.scale[i] * x[i];
    SYNC();
    row_sums(t, s, s.z, false, [&](int i, double total) {
        double own = !t.normalized ? s.diagonal[i] * x[i] : s.scale[i] > 0 ? x[i] : 0.0;
        out[i] = own - s.scale[i] * total;
    });
    SYNC();
}

// c = A w for the first m rows of A, and c[m] = wᵀw.
DEVICE void dots(const Scratch &s, const double *A, int m, const double *w, double *c) {
    int n = s.n;
    for (int j = 0; j <= m; j += SUMS) {
        double sum[SUMS];
        const double *a[SUMS];
        UNROLL for (int q = 0; q < SUMS; q++) sum[q] = 0, a[q] = j + q < m ? A + (int64)(j + q) * n : w;
        for EACH(i, n) {
            double x = w[i];
            UNROLL for (int q = 0; q < SUMS; q++) sum[q] += a[q][i] * x;
        }
        warp_sums(sum, m + 1 - j, WARPS > 1 ? s.part + WARP * (m + 1) + j : c + j);
    }
    SYNC();
    if (WARPS > 1) {
        for EACH(j, m + 1) {
            double total = 0;
            for (int o = 0; o < WARPS; o++) total += s.part[o * (m + 1) + j];
            c[j] = total;
        }
        SYNC();
    }
}

// w ← w − Aᵀc; returns ‖w‖. No lane reads another's entries before the next SYNC.
DEVICE double subtract(const double *A, int m, int n, const double *c, double *w) {
    double square = 0;
    for EACH(i, n) {
        double x = w[i];
        UNROLL_4 for (int j = 0; j < m; j++) x -= c[j] * A[(int64)j * n + i];
        w[i] = x;
        square += x * x;
    }
    double size = sqrt(group_sum(square));
    SYNC();
    return size;
}

DEVICE double norm(const double *w, int n) {
    double total = 0;
    for EACH(i, n) total += w[i] * w[i];
    return sqrt(group_sum(total));
}

DEVICE void divide(double *w, int n, double by) {
    for EACH(i, n) w[i] /= by;
    SYNC();
}

// w ← w/‖w‖, by the largest entry first; false where w is zero or not finite.
DEVICE bool normalise(double *w, int n) {
    double largest = 0;
    for EACH(i, n) {
        double x = fabs(w[i]);
        if (!(x <= largest)) largest = x;
    }
    largest = group_max(largest);
    if (!(largest > 0 && largest < INFINITE)) return false;
    divide(w, n, largest);
    divide(w, n, norm(w, n));
    return true;
}

DEVICE void copy(double *to, const double *from, int n) {
    for EACH(i, n) to[i] = from[i];
    SYNC();
}

// Pivoted Gram–Schmidt, twice, in place on the first k rows of A; returns the rank.
DEVICE int orthonormal(Scratch &s, double tolerance) {
    int n = s.n, rank = 0;
    double *C = s.A, *w = s.w;
    for (int j = 0; j < s.k; j++) normalise(C + (int64)j * n, n);
    while (rank < s.k) {
        int pivot = rank;
        double longest = -1;
        for (int j = rank; j < s.k; j++) {
            double size = norm(C + (int64)j * n, n);
            if (size > longest) pivot = j, longest = size;
        }
        copy(w, C + (int64)pivot * n, n);
        copy(C + (int64)pivot * n, C + (int64)rank * n, n);
        dots(s, C, rank, w, s.c);
        double size = subtract(C, rank, n, s.c, w);
        if (!(size > tolerance)) break;
        divide(w, n, size);
        dots(s, C, rank, w, s.c);
        divide(w, n, subtract(C, rank, n, s.c, w));
        double *q = C + (int64)rank * n;
        copy(q, w, n);
        rank++;
        for (int j = rank; j < s.k; j++) {
            dots(s, q, 1, C + (int64)j * n, s.c);
            subtract(q, 1, n, s.c, C + (int64)j * n);
        }
    }
    return rank;
}

// The closed-form projector where all columns are vertex-deleted ones; see `linalg._projector.vertex_deleted`.
DEVICE void closed_form_projector(const Task &t, Scratch &s, int64 p) {
    double isolated = 0, count = 0;
    for EACH(i, s.n) {
        bool gone = t.deleted[p + i];
        s.y[i] = degree_of(t, s, i);
        s.merged[i] = gone && s.y[i] > 0;
        isolated += gone && s.y[i] <= 0;
        count += gone;
    }
    isolated = group_sum(isolated);
    count = group_sum(count);
    for EACH(i, s.n) s.g[i] = s.merged[i] && isolated == 0 ? 1.0 / s.y[i] : 0.0;
    double size = norm(s.g, s.n);
    if (size > 0) divide(s.g, s.n, size);
    double dot = 0;
    for EACH(i, s.n) {
        s.y[i] = count == 0 ? 0.0 : s.y[i] * (t.deleted[p + i] ? 1.0 - 1.0 / count : 1.0);
        dot += s.g[i] * s.y[i];
    }
    dot = group_sum(dot);
    for EACH(i, s.n)
        if (s.merged[i]) s.y[i] = s.g[i] * dot;
    size = norm(s.y, s.n);
    if (size > 0) divide(s.y, s.n, size);
}

DEVICE void project_closed_form(const Scratch &s, double *w) {
    double along = 0, t = 0;
    for EACH(i, s.n) along += s.g[i] * w[i];
    along = group_sum(along);
    for EACH(i, s.n) {
        if (s.merged[i]) w[i] = along * s.g[i];
        t += s.y[i] * w[i];
    }
    t = group_sum(t);
    for EACH(i, s.n) w[i] -= t * s.y[i];
    SYNC();
}

// w ← w − YYᵀw − QQᵀw, all coefficients from the same w; those of Q are in c[rank:]. Returns ‖w‖ before and after.
struct Norms {
    double before, after;
};

DEVICE Norms orthogonalise(const Task &t, const Scratch &s, int rank, int count, double *w) {
    dots(s, s.A, rank + count, w, s.c);
    double before = sqrt(s.c[rank + count]);
    if (t.deleted) project_closed_form(s, w);
    return {before, subtract(s.A, rank + count, s.n, s.c, w)};
}

// Loads column j of the start block to w; false where it is zero.
DEVICE bool load_start(const Task &t, const Scratch &s, int j, int64 graph, int64 p) {
    for EACH(i, s.n) s.w[i] = t.block ? t.block[(p + i) * s.b + j] : p + i == (j ? t.v[graph] : t.u[graph]) ? 1.0 : 0.0;
    SYNC();
    return !t.block || normalise(s.w, s.n);
}

// Fills the rows of Q and T, returns the number of live rows; see `_kernels.numba.krylov.krylov`.
DEVICE int krylov(const Task &t, Scratch &s, int rank, double bound, int64 graph, int64 p) {
    int n = s.n, m = s.steps, count = 0, left = 0;
    double *w = s.w, *Q = s.A + (int64)rank * n, *h = s.c + rank;
    double loss = EPS;  // a bound on |[Y Q]ᵀ[Y Q] − I|
    for (int turn = 0; turn < m + s.b; turn++) {
        int c = turn - s.b;
        if (c < 0) {
            if (!load_start(t, s, turn, graph, p)) continue;
        } else if (c >= count) {
            break;
        } else {
            apply(t, s, Q + (int64)c * n, w);
        }
        Norms norms = orthogonalise(t, s, rank, count, w);
        double size = norms.after;
        for EACH(i, c + 1) s.T[i * m + c] = h[i];
        double leak = (loss + EPS) * norms.before;
        if (leak > t.tolerance * ENOUGH * size) {
            SYNC();  // all lanes have read the coefficients
            size = orthogonalise(t, s, rank, count, w).after;
            for EACH(i, c + 1) s.T[i * m + c] += h[i];
        } else {
            loss = leak / size > loss ? leak / size : loss;
        }
        for EACH(i, c + 1) {
            double x = s.T[i * m + c];
            x = fabs(x) > ROUNDING * bound ? x : 0.0;
            s.T[i * m + c] = x;
            s.T[c * m + i] = x;
        }
        if (size > (c < 0 ? t.tolerance : t.tolerance * bound) && count < m) {
            double *q = Q + (int64)count * n;
            for EACH(i, n) q[i] = w[i] / size;
            count++;
        } else if (c >= 0) {
            for EACH(i, n) s.rest[(int64)left * n + i] = w[i];
            if (LANE == 0) s.owner[left] = c;
            left++;
        }
        SYNC();
    }
    if (LANE == 0)
        for (int i = left; i < s.b; i++) s.owner[i] = -1;
    SYNC();
    return count;
}

// The pair of rows at a table in a round of a round-robin tournament with an even number of players: all pairs meet in
// players − 1 rounds.
struct Pair {
    int p, q;
};

DEVICE Pair pair_of(int players, int round, int table) {
    int circle = players - 1;
    if (table == 0) return {round, circle};
    int p = round + table, q = round - table;
    p -= p >= circle ? circle : 0;
    q += q < 0 ? circle : 0;
    return p < q ? Pair{p, q} : Pair{q, p};
}

// The largest entry of T, or of T without its diagonal.
DEVICE double largest_entry(const Scratch &s, int count, bool diagonal) {
    double top = 0;
    for EACH(i, count * count) {
        double x = fabs(s.T[i / count * s.steps + i % count]);
        if (x > top && (diagonal || i / count != i % count)) top = x;
    }
    return group_max(top);
}

// The rotations of all tables of a round, as sine and cosine.
DEVICE void find_rotations(const Scratch &s, int count, int players, int round, double least) {
    int m = s.steps;
    const double *T = s.T;
    for EACH(table, players / 2) {
        Pair at = pair_of(players, round, table);
        double sine = 0, cosine = 1;
        double off = at.q < count ? T[at.p * m + at.q] : 0.0;
        if (fabs(off) > least) {
            double theta = (T[at.q * m + at.q] - T[at.p * m + at.p]) / (2.0 * off);
            double tangent = copysign(1.0, theta) / (fabs(theta) + sqrt(theta * theta + 1.0));
            cosine = 1.0 / sqrt(tangent * tangent + 1.0);
            sine = tangent * cosine;
        }
        s.rotation[2 * table] = sine;
        s.rotation[2 * table + 1] = cosine;
    }
    SYNC();
}

// The four entries where the rows of one table meet the columns of another, rotated from both sides: nobody else reads
// or writes them.
DEVICE void rotate_entries(const Scratch &s, int count, Pair a, Pair b, double sa, double ca, double sb, double cb) {
    int m = s.steps;
    double *P = s.T + a.p * m, *Q = s.T + a.q * m;
    bool rows = a.q < count, columns = b.q < count, same = a.p == b.p;
    double pp = P[b.p], pq = columns ? P[b.q] : 0, qp = rows ? Q[b.p] : 0, qq = rows && columns ? Q[b.q] : 0;
    double up = ca * pp - sa * qp, uq = ca * pq - sa * qq, vp = sa * pp + ca * qp, vq = sa * pq + ca * qq;
    P[b.p] = cb * up - sb * uq;
    // exactly zero where a rotation aims at zero: rounding noise would be rotated again for ever
    if (columns) P[b.q] = same ? 0.0 : sb * up + cb * uq;
    if (rows) Q[b.p] = same ? 0.0 : cb * vp - sb * vq;
    if (rows && columns) Q[b.q] = sb * vp + cb * vq;
}

// Eigenpairs of T by Jacobi's rotations, half as many at a time as there are rows: values on its diagonal, in no order,
// vectors in the rows of Z. Entries up to `tolerance` of the largest are left.
DEVICE void eigh(const Scratch &s, int count, double tolerance) {
    int m = s.steps, players = count + count % 2, tables = players / 2;
    double *Z = s.Z;
    for EACH(i, count * m) Z[i] = i / m == i % m ? 1.0 : 0.0;
    double least = tolerance * largest_entry(s, count, true);
    for (int sweep = 0; sweep < SWEEPS && largest_entry(s, count, false) > least; sweep++) {
        for (int round = 0; round < players - 1; round++) {
            SYNC();
            find_rotations(s, count, players, round, least);
            for EACH(i, tables * (tables + count)) {
                int table = i % tables, other = i / tables;
                double sine = s.rotation[2 * table], cosine = s.rotation[2 * table + 1];
                Pair at = pair_of(players, round, table);
                if (other < tables) {
                    double sb = s.rotation[2 * other], cb = s.rotation[2 * other + 1];
                    if (sine == 0.0 && sb == 0.0) continue;
                    rotate_entries(s, count, at, pair_of(players, round, other), sine, cosine, sb, cb);
                } else if (sine != 0.0) {
                    int j = other - tables;
                    double x = Z[at.p * m + j], y = Z[at.q * m + j];
                    Z[at.p * m + j] = cosine * x - sine * y;
                    Z[at.q * m + j] = sine * x + cosine * y;
                }
            }
        }
        SYNC();
    }
    SYNC();
}

DEVICE void store(void *at, int64 i, double x, int wide) {
    if (wide)
        ((double *)at)[i] = x;
    else
        ((float *)at)[i] = (float)x;
}

// Reduces the leftover candidates to the triangular factor R of their QR factorisation; returns how many there are.
DEVICE int triangular(const Scratch &s) {
    int left = 0, n = s.n;
    while (left < s.b && s.owner[left] >= 0) left++;
    for (int j = 0; j < left; j++) {
        double *w = s.rest + (int64)j * n;
        for (int i = 0; i < j; i++) {
            double *q = s.rest + (int64)i * n;
            dots(s, q, 1, w, s.c);
            if (LANE == 0) s.R[i * s.b + j] = s.c[0];
            subtract(q, 1, n, s.c, w);
        }
        double size = norm(w, n);
        if (LANE == 0) s.R[j * s.b + j] = size;
        for EACH(i, n) w[i] = size > 0 ? w[i] / size : 0.0;
        SYNC();
    }
    return left;
}

// Ritz pairs V = QB, and ‖PLPv − λv‖ = ‖R b‖, R of the candidates that were not taken.
DEVICE void ritz_pairs(const Task &t, const Scratch &s, int count, int rank, int64 graph, int64 p) {
    int m = s.steps, n = s.n, left = triangular(s);
    const double *Q = s.A + (int64)rank * n;
    eigh(s, count, t.wide ? 1e-17 : ENOUGH_IN_FLOAT);
    int *place = (int *)s.rotation;  // of row q among the values
    for EACH(q, count) {
        double value = s.T[q * m + q], total = 0;
        int at = 0;
        for (int o = 0; o < count; o++) {
            double other = s.T[o * m + o];
            at += other < value || (other == value && o < q);
        }
        place[q] = at;
        store(t.values, graph * m + at, value, t.wide);
        for (int i = 0; i < left; i++) {
            double part = 0;
            for (int j = i; j < left; j++) part += s.R[i * s.b + j] * s.Z[q * m + s.owner[j]];
            total += part * part;
        }
        store(t.residual, graph * m + at, sqrt(total), t.wide);
    }
    SYNC();
    for EACH(i, n) {
        for (int q = 0; q < count; q += 4) {
            double sum[4] = {0, 0, 0, 0};
            const double *z[4];
            UNROLL for (int o = 0; o < 4; o++) z[o] = s.Z + (q + o < count ? q + o : q) * m;
            for (int j = 0; j < count; j++) {
                double x = Q[(int64)j * n + i];
                UNROLL for (int o = 0; o < 4; o++) sum[o] += z[o][j] * x;
            }
            UNROLL for (int o = 0; o < 4; o++)
                if (q + o < count) store(t.vectors, (p + i) * m + place[q + o], sum[o], t.wide);
        }
    }
    SYNC();
}

// The Neumann columns as rows of A: edges between hops 1 and 2 at a node, negative at hop 2; degrees at hop 1.
DEVICE void neumann(const Task &t, Scratch &s, int64 p) {
    double *boundary = s.A, *degree = s.A + (t.neumann & BOUNDARY ? s.n : 0);
    for EACH(i, s.n) s.z[i] = (double)t.hop[p + i];
    SYNC();
    if (t.neumann & BOUNDARY)
        sum_rows(
            s, [&](int i, int e) { return s.z[s.neighbor[e]] == 3 - s.z[i] ? t.weight ? s.weight[e] : 1.0 : 0.0; },
            [&](int i, double sum) { boundary[i] = s.z[i] == 1 ? sum : s.z[i] == 2 ? -sum : 0.0; });
    if (t.neumann & DEGREE)
        for EACH(i, s.n) degree[i] = s.z[i] == 1 ? degree_of(t, s, i) : 0.0;
    SYNC();
}

// The columns of C as rows of A; false where some entry of them or of the start block is not finite.
DEVICE bool constrain(const Task &t, Scratch &s, int64 p) {
    if (t.neumann) {
        neumann(t, s, p);
        return true;
    }
    double wrong = 0;
    for EACH(i, s.n) {
        for (int j = 0; t.block && j < s.b; j++) wrong += !(fabs(t.block[(p + i) * s.b + j]) < INFINITE);
        for (int j = 0; j < s.k; j++) {
            double x = t.columns[(p + i) * s.k + j];
            s.A[(int64)j * s.n + i] = x;
            wrong += !(fabs(x) < INFINITE);
        }
    }
    wrong = group_sum(wrong);
    SYNC();
    return wrong == 0;
}

KERNEL_OF(16) SOLVE(Task t) {
#if defined(ALL_GLOBAL)
    double *near = t.scratch + BLOCK * t.stride, *far = nullptr;
#elif defined(FAR)
    double *near = room, *far = t.scratch + BLOCK * t.stride;
#else
    double *near = room, *far = nullptr;
#endif
    for (int turn = next_of(t.counter); turn < t.links; turn = next_of(t.counter)) {
        int64 graph = t.order[turn], p = t.ptr[graph], first = t.first[graph];
        int n = (int)(t.ptr[graph + 1] - p);
        if (n == 0) continue;
        Scratch s = scratch_of(near, far, t, n, (int)(t.first[graph + 1] - first));
        load(t, s, p, first);
        for EACH(i, n) {
            if (t.weight)
                ((double *)t.degree)[p + i] = degree_of(t, s, i);
            else
                ((int64 *)t.degree)[p + i] = length_of(s, i);
        }
        double bound = laplacian(t, s);
        if (!(bound < INFINITE) || !constrain(t, s, p)) continue;
        if (t.deleted) closed_form_projector(t, s, p);
        int rank = orthonormal(s, t.rank_tolerance);
        int count = krylov(t, s, rank, bound, graph, p);
        ritz_pairs(t, s, count, rank, graph, p);
        if (LANE == 0) t.live[graph] = count;
    }
}
