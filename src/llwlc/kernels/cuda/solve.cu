// Ritz pairs of PLP, one graph to a group, in float64: the algorithm of `kernels/krylov.py` and `kernels/small_eigen.py`, see there.
//
// A group keeps everything of its graph in `space`: in shared memory where that is large enough, else in global memory.
#include "group.cuh"

#define EPS 8.881784197001252e-16  // a few units of rounding: what one dot product leaves
#define ROUNDING 2e-15
#define ENOUGH 1e-5
#define LONG_ROW 48  // longer rows are summed by all lanes together
#define SWEEPS 60
#define INFINITE (1.0 / 0.0)

struct Task {
    // ragged: ptr, first [B + 1], row, col [E]; weight [E] or null; columns [N, k]; block [N, b], or null for the query nodes u, v [B];
    // deleted [N] where the closed form of the projector serves, else null
    const int64 *ptr, *first, *row, *col;
    const double *weight, *columns, *block;
    const int64 *u, *v;
    const bool *deleted;
    // the graphs of this launch [links], and how far they have got
    const int64 *order;
    int *counter;
    // the output, float or (wide) double; live [B]
    void *values, *vectors, *residual;
    int64 *live;
    double *scratch;
    int64 stride;
    double tolerance, rank_tolerance;
    int links, k, b, steps, normalized, wide;
};

struct Space {
    int n, edges, k, b, steps;
    double *degree, *scale, *diagonal, *w, *z, *start, *A, *g, *y;  // A: the rows of Y, then those of Q
    double *T, *Z, *d, *e, *c, *R, *rotation;
    int *begin, *near, *owner, *glued, *lengthy;
    double *weight;
    int many;  // long rows
};

// Where everything is for a graph of n nodes; `cuda.solving.space_bytes` counts the same.
DEVICE Space space_of(double *at, const Task &t, int n, int edges) {
    int m = t.steps, k = t.deleted ? 0 : t.k, b = t.b;
    Space s;
    s.n = n, s.edges = edges, s.k = k, s.b = b, s.steps = m;
    s.T = at, at += m * m;
    s.Z = at, at += m * m;
    s.d = at, at += m;
    s.e = at, at += m;
    s.rotation = at, at += 2 * m;
    s.c = at, at += m + k + 1;
    s.R = at, at += b * b;
    s.degree = at, at += n;
    s.scale = at, at += n;
    s.diagonal = at, at += n;
    s.w = at, at += n;
    s.z = at, at += n;
    s.start = at, at += (int64)b * n;
    s.g = at, at += t.deleted ? n : 0;
    s.y = at, at += t.deleted ? n : 0;
    s.A = at, at += (int64)(k + m) * n;
    s.weight = at, at += t.weight ? edges : 0;
    int *whole = (int *)at;
    s.begin = whole, whole += n + 1;
    s.near = whole, whole += edges;
    s.owner = whole, whole += b;
    s.glued = whole, whole += t.deleted ? n : 0;
    s.lengthy = whole;
    s.many = 0;
    return s;
}

// The CSR of the graph in its own positions. The last lane to begin a row before an edge says where it begins: rows may be empty.
DEVICE void load(const Task &t, Space &s, int64 p, int64 first) {
    for EACH(e, s.edges) {
        int here = (int)(t.row[first + e] - p), before = e ? (int)(t.row[first + e - 1] - p) : -1;
        for (int i = before + 1; i <= here; i++) s.begin[i] = e;
        s.near[e] = (int)(t.col[first + e] - p);
        if (t.weight) s.weight[e] = t.weight[first + e];
        if (e == s.edges - 1)
            for (int i = here + 1; i <= s.n; i++) s.begin[i] = s.edges;
    }
    if (s.edges == 0)
        for EACH(i, s.n + 1) s.begin[i] = 0;
    SYNC();
    for (int base = 0; base < s.n; base += GROUP) {
        int i = base + LANE, count;
        bool lengthy = i < s.n && s.begin[i + 1] - s.begin[i] > LONG_ROW;
        int rank = group_rank(lengthy, count);
        if (lengthy) s.lengthy[s.many + rank] = i;
        s.many += count;
    }
    SYNC();
}

DEVICE double entry(const Task &t, const Space &s, int e) { return t.weight ? s.weight[e] : 1.0; }

// Σ_e |w_e| x_near(e) over a row (or w_e, without the bars), by lane `from` of `step`.
DEVICE double row_sum(const Task &t, const Space &s, int i, const double *x, int from, int step, bool bars) {
    double total = 0;
    for (int e = s.begin[i] + from; e < s.begin[i + 1]; e += step) {
        double weight = entry(t, s, e);
        total += (bars ? fabs(weight) : weight) * x[s.near[e]];
    }
    return total;
}

DEVICE bool is_long(const Space &s, int i) { return s.begin[i + 1] - s.begin[i] > LONG_ROW; }

// Degrees, scale and diagonal: D − A, or D^(−1/2) (D − A) D^(−1/2) with 0 at isolated nodes. Returns Gershgorin's bound on ‖L‖.
DEVICE double laplacian(const Task &t, Space &s) {
    for EACH(i, s.n) {
        double degree = s.begin[i + 1] - s.begin[i];
        if (t.weight) {
            degree = 0;
            for (int e = s.begin[i]; e < s.begin[i + 1]; e++) degree += s.weight[e];
        }
        s.degree[i] = degree;
        if (t.normalized) {
            bool linked = !(degree <= 0);  // a NaN has to get through
            s.diagonal[i] = linked ? degree / degree : 0.0;
            s.scale[i] = linked ? 1.0 / sqrt(degree) : 0.0;
        } else {
            s.diagonal[i] = degree;
            s.scale[i] = 1.0;
        }
    }
    SYNC();
    double bound = 0;
    for EACH(i, s.n) {
        double row = fabs(s.diagonal[i]) + s.scale[i] * row_sum(t, s, i, s.scale, 0, 1, true);
        if (!(row <= bound)) bound = row;
        if (bound != bound) break;
    }
    return group_max(bound);
}

// out = L x.
DEVICE void apply(const Task &t, const Space &s, const double *x, double *out) {
    for EACH(i, s.n) s.z[i] = s.scale[i] * x[i];
    SYNC();
    for EACH(i, s.n) {
        if (!is_long(s, i)) out[i] = s.diagonal[i] * x[i] - s.scale[i] * row_sum(t, s, i, s.z, 0, 1, false);
    }
    for (int j = 0; j < s.many; j++) {
        int i = s.lengthy[j];
        double total = group_sum(row_sum(t, s, i, s.z, LANE, GROUP, false));
        if (LANE == 0) out[i] = s.diagonal[i] * x[i] - s.scale[i] * total;
    }
    SYNC();
}

// c = A w for the first m rows of A.
DEVICE void dots(const double *A, int m, int n, const double *w, double *c) {
    for (int j = 0; j < m; j += 4) {
        double sum[4] = {0, 0, 0, 0};
        const double *a0 = A + (int64)j * n, *a1 = a0 + (j + 1 < m ? n : 0), *a2 = a1 + (j + 2 < m ? n : 0), *a3 = a2 + (j + 3 < m ? n : 0);
        for EACH(i, n) {
            double x = w[i];
            sum[0] += a0[i] * x;
            sum[1] += a1[i] * x;
            sum[2] += a2[i] * x;
            sum[3] += a3[i] * x;
        }
        group_sums<4>(sum);
        if (LANE == 0)
            UNROLL for (int q = 0; q < 4; q++)
                if (j + q < m) c[j + q] = sum[q];
    }
    SYNC();
}

// w ← w − Aᵀc; no lane reads another's entries before the next SYNC.
DEVICE void subtract(const double *A, int m, int n, const double *c, double *w) {
    for EACH(i, n) {
        double x = w[i];
        for (int j = 0; j < m; j++) x -= c[j] * A[(int64)j * n + i];
        w[i] = x;
    }
    SYNC();
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
DEVICE int orthonormal(Space &s, double tolerance) {
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
        dots(C, rank, n, w, s.c);
        subtract(C, rank, n, s.c, w);
        double size = norm(w, n);
        if (!(size > tolerance)) break;
        divide(w, n, size);
        dots(C, rank, n, w, s.c);
        subtract(C, rank, n, s.c, w);
        divide(w, n, norm(w, n));
        double *q = C + (int64)rank * n;
        copy(q, w, n);
        rank++;
        for (int j = rank; j < s.k; j++) {
            dots(q, 1, n, C + (int64)j * n, s.c);
            subtract(q, 1, n, s.c, C + (int64)j * n);
        }
    }
    return rank;
}

// The closed form for vertex-deleted columns alone; see `linalg.projector.vertex_deleted`.
DEVICE void glue_of(const Task &t, Space &s, int64 p) {
    double loose = 0, count = 0;
    for EACH(i, s.n) {
        bool gone = t.deleted[p + i];
        s.glued[i] = gone && s.degree[i] > 0;
        loose += gone && s.degree[i] <= 0;
        count += gone;
    }
    loose = group_sum(loose);
    count = group_sum(count);
    for EACH(i, s.n) s.g[i] = s.glued[i] && loose == 0 ? 1.0 / s.degree[i] : 0.0;
    SYNC();
    double size = norm(s.g, s.n);
    if (size > 0) divide(s.g, s.n, size);
    double dot = 0;
    for EACH(i, s.n) {
        s.y[i] = count == 0 ? 0.0 : s.degree[i] * (t.deleted[p + i] ? 1.0 - 1.0 / count : 1.0);
        dot += s.g[i] * s.y[i];
    }
    dot = group_sum(dot);
    for EACH(i, s.n)
        if (s.glued[i]) s.y[i] = s.g[i] * dot;
    SYNC();
    size = norm(s.y, s.n);
    if (size > 0) divide(s.y, s.n, size);
}

DEVICE void glue(const Space &s, double *w) {
    double along = 0, t = 0;
    for EACH(i, s.n) along += s.g[i] * w[i];
    along = group_sum(along);
    for EACH(i, s.n) {
        if (s.glued[i]) w[i] = along * s.g[i];
        t += s.y[i] * w[i];
    }
    t = group_sum(t);
    for EACH(i, s.n) w[i] -= t * s.y[i];
    SYNC();
}

// w ← w − YYᵀw − QQᵀw, all coefficients from the same w; Q's are left in c[rank:].
DEVICE void purge(const Task &t, const Space &s, int rank, int count, double *w) {
    dots(s.A, rank + count, s.n, w, s.c);
    if (t.deleted) glue(s, w);
    subtract(s.A, rank + count, s.n, s.c, w);
}

// Fills the rows of Q and T, returns the number of live rows; see `kernels.krylov.krylov`.
DEVICE int krylov(const Task &t, Space &s, int rank, double bound) {
    int n = s.n, m = s.steps, count = 0, left = 0;
    double *w = s.w, *Q = s.A + (int64)rank * n, *h = s.c + rank;
    double loss = EPS;  // a bound on |[Y Q]ᵀ[Y Q] − I|
    for (int turn = 0; turn < m + s.b; turn++) {
        int c = turn - s.b;
        if (c < 0) {
            copy(w, s.start + (int64)turn * n, n);
            if (!normalise(w, n)) continue;
        } else if (c >= count) {
            break;
        } else {
            apply(t, s, Q + (int64)c * n, w);
        }
        double before = norm(w, n);
        purge(t, s, rank, count, w);
        for EACH(i, c + 1) s.T[i * m + c] = h[i];
        double size = norm(w, n);
        double leak = (loss + EPS) * before;
        if (leak > t.tolerance * ENOUGH * size) {
            purge(t, s, rank, count, w);
            for EACH(i, c + 1) s.T[i * m + c] += h[i];
            size = norm(w, n);
        } else {
            loss = leak / size > loss ? leak / size : loss;
        }
        for EACH(i, c + 1) {
            double x = s.T[i * m + c];
            // T is banded; what rounding leaves outside the band would only cost reflections
            x = fabs(x) > ROUNDING * bound ? x : 0.0;
            s.T[i * m + c] = x;
            s.T[c * m + i] = x;
        }
        if (size > (c < 0 ? t.tolerance : t.tolerance * bound) && count < m) {
            double *q = Q + (int64)count * n;
            for EACH(i, n) q[i] = w[i] / size;
            count++;
        } else if (c >= 0) {
            for EACH(i, n) s.start[(int64)left * n + i] = w[i];
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

// T ← HTH, Z ← HZ for the reflections that clear row after row beyond the superdiagonal; s.e, s.c are scratch.
DEVICE void tridiagonalise(const Space &s, int count) {
    int m = s.steps;
    double *T = s.T, *Z = s.Z, *h = s.e, *p = s.c;
    for (int k = 0; k < count - 2; k++) {
        double beyond = 0;
        for (int i = k + 2; i < count; i++) beyond += T[k * m + i] * T[k * m + i];
        if (beyond == 0.0) continue;
        double next = T[k * m + k + 1];
        double alpha = -copysign(sqrt(beyond + next * next), next);
        double head = next - alpha, scale = 1.0 / sqrt(head * head + beyond);
        SYNC();
        for EACH(i, count)
            if (i > k) h[i] = (i == k + 1 ? head : T[k * m + i]) * scale;
        SYNC();
        for EACH(j, count)
            if (j > k) {
                double total = 0;
                for (int i = k + 1; i < count; i++) total += h[i] * T[i * m + j];
                p[j] = total;
            }
        SYNC();
        double dot = 0;
        for (int i = k + 1; i < count; i++) dot += h[i] * p[i];
        for EACH(j, count)
            if (j > k) {
                double q = p[j] - dot * h[j];
                for (int i = k + 1; i < count; i++) T[i * m + j] -= 2.0 * h[i] * q;
                for (int i = k + 1; i < count; i++) T[i * m + j] -= 2.0 * (p[i] - dot * h[i]) * h[j];
            }
        if (LANE == 0) T[k * m + k + 1] = alpha;
        for EACH(j, count) {
            double total = 0;
            for (int i = k + 1; i < count; i++) total += h[i] * Z[i * m + j];
            for (int i = k + 1; i < count; i++) Z[i * m + j] -= 2.0 * h[i] * total;
        }
        SYNC();
    }
}

// One lane turns the tridiagonal matrix, all of them turn the rows of Z: a sweep's rotations first, then their effect.
DEVICE void ql(const Space &s, int count) {
    int m = s.steps;
    double *d = s.d, *e = s.e, *Z = s.Z;
    SHARED int from, low;
    SHARED double top;
    if (LANE == 0) {
        top = 0;
        for (int i = 0; i < count; i++) top = fabs(d[i]) + fabs(e[i]) > top ? fabs(d[i]) + fabs(e[i]) : top;
        low = 0;
    }
    for (int sweep = 0; sweep < SWEEPS * count; sweep++) {
        SYNC();
        if (LANE == 0) {
            int high = low;
            for (; low < count; low++) {
                high = low;
                while (high < count - 1 && fabs(e[high]) > 2.220446049250313e-16 * top) high++;
                if (high > low) break;
            }
            from = high;
            if (low < count) {
                double g = (d[low + 1] - d[low]) / (2.0 * e[low]);
                double r = hypot(g, 1.0);
                g = d[high] - d[low] + e[low] / (g + copysign(r, g));
                double sine = 1, cosine = 1, p = 0;
                int i = high - 1;
                for (; i >= low; i--) {
                    double f = sine * e[i], b = cosine * e[i];
                    r = sqrt(f * f + g * g);
                    e[i + 1] = r;
                    if (r == 0.0) {  // the block falls apart here
                        d[i + 1] -= p;
                        e[high] = 0.0;
                        break;
                    }
                    sine = f / r;
                    cosine = g / r;
                    g = d[i + 1] - p;
                    r = (d[i] - g) * sine + 2.0 * cosine * b;
                    p = sine * r;
                    d[i + 1] = g + p;
                    g = cosine * r - b;
                    s.rotation[2 * i] = sine;
                    s.rotation[2 * i + 1] = cosine;
                }
                for (int j = i; j >= low; j--) s.rotation[2 * j] = 0, s.rotation[2 * j + 1] = 1;
                if (i < low) {
                    d[low] -= p;
                    e[low] = g;
                    e[high] = 0.0;
                }
            }
        }
        SYNC();
        if (low >= count) return;
        for EACH(k, count) {
            double z = Z[from * m + k];
            for (int i = from - 1; i >= low; i--) {
                double sine = s.rotation[2 * i], cosine = s.rotation[2 * i + 1], other = Z[i * m + k];
                Z[(i + 1) * m + k] = sine * other + cosine * z;
                z = cosine * other - sine * z;
            }
            Z[low * m + k] = z;
        }
    }
}

// Eigenpairs of T: values in s.d, in no order, vectors in the rows of s.Z; T is destroyed.
DEVICE void eigh(const Space &s, int count) {
    int m = s.steps;
    for EACH(i, count * m) s.Z[i] = i / m == i % m ? 1.0 : 0.0;
    SYNC();
    tridiagonalise(s, count);
    SYNC();
    for EACH(i, count) {
        s.d[i] = s.T[i * m + i];
        s.e[i] = i + 1 < count ? s.T[i * m + i + 1] : 0.0;
    }
    SYNC();
    ql(s, count);
    SYNC();
}

DEVICE void store(void *at, int64 i, double x, int wide) {
    if (wide)
        ((double *)at)[i] = x;
    else
        ((float *)at)[i] = (float)x;
}

// Reduces the leftover candidates to the triangular factor R of their QR factorisation; returns how many there are.
DEVICE int triangular(const Space &s) {
    int left = 0, n = s.n;
    while (left < s.b && s.owner[left] >= 0) left++;
    for (int j = 0; j < left; j++) {
        double *w = s.start + (int64)j * n;
        for (int i = 0; i < j; i++) {
            double *q = s.start + (int64)i * n;
            dots(q, 1, n, w, s.c);
            subtract(q, 1, n, s.c, w);
            if (LANE == 0) s.R[i * s.b + j] = s.c[0];
            SYNC();
        }
        double size = norm(w, n);
        if (LANE == 0) s.R[j * s.b + j] = size;
        for EACH(i, n) w[i] = size > 0 ? w[i] / size : 0.0;
        SYNC();
    }
    return left;
}

// Ritz pairs V = QB, and ‖PLPv − λv‖ = ‖R b‖, R of the candidates that found no place.
DEVICE void carry_back(const Task &t, const Space &s, int count, int rank, int64 graph, int64 p) {
    int m = s.steps, n = s.n, left = triangular(s);
    const double *Q = s.A + (int64)rank * n;
    eigh(s, count);
    // the place of row q among the values: `rotation` is free by now
    int *place = (int *)s.rotation;
    for EACH(q, count) {
        int at = 0;
        for (int o = 0; o < count; o++) at += s.d[o] < s.d[q] || (s.d[o] == s.d[q] && o < q);
        place[q] = at;
        store(t.values, graph * m + at, s.d[q], t.wide);
        double total = 0;
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
            const double *z0 = s.Z + q * m, *z1 = z0 + (q + 1 < count ? m : 0), *z2 = z1 + (q + 2 < count ? m : 0), *z3 = z2 + (q + 3 < count ? m : 0);
            for (int j = 0; j < count; j++) {
                double x = Q[(int64)j * n + i];
                sum[0] += z0[j] * x;
                sum[1] += z1[j] * x;
                sum[2] += z2[j] * x;
                sum[3] += z3[j] * x;
            }
            UNROLL for (int o = 0; o < 4; o++)
                if (q + o < count) store(t.vectors, (p + i) * m + place[q + o], sum[o], t.wide);
        }
    }
    SYNC();
}

// The start block and the columns of C as rows; 0 where all entries are finite.
DEVICE double fill(const Task &t, Space &s, int64 graph, int64 p) {
    double wrong = 0;
    for EACH(i, s.n) {
        for (int j = 0; j < s.b; j++) {
            double x = t.block ? t.block[(p + i) * s.b + j] : p + i == (j ? t.v[graph] : t.u[graph]) ? 1.0 : 0.0;
            s.start[(int64)j * s.n + i] = x;
            wrong += !(fabs(x) < INFINITE);
        }
        for (int j = 0; j < s.k; j++) {
            double x = t.columns[(p + i) * s.k + j];
            s.A[(int64)j * s.n + i] = x;
            wrong += !(fabs(x) < INFINITE);
        }
    }
    wrong = group_sum(wrong);
    SYNC();
    return wrong;
}

KERNEL solve(Task t) {
    double *mine = t.scratch ? t.scratch + BLOCK * t.stride : room;
    for (int turn = next_of(t.counter); turn < t.links; turn = next_of(t.counter)) {
        int64 graph = t.order[turn], p = t.ptr[graph], first = t.first[graph];
        int n = (int)(t.ptr[graph + 1] - p);
        if (n == 0) continue;
        Space s = space_of(mine, t, n, (int)(t.first[graph + 1] - first));
        load(t, s, p, first);
        double bound = laplacian(t, s);
        double wrong = fill(t, s, graph, p);
        if (!(bound < INFINITE) || wrong > 0) continue;
        if (t.deleted) glue_of(t, s, p);
        int rank = orthonormal(s, t.rank_tolerance);
        int count = krylov(t, s, rank, bound);
        carry_back(t, s, count, rank, graph, p);
        if (LANE == 0) t.live[graph] = count;
    }
}
