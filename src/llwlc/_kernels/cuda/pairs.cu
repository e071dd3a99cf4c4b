// What is known of a pair beside its subgraph, one pair to a group: the statistics of `heuristics._pair_statistics` as
// `bases.PairInputs` has them, and the product of two sparse rows. Sums are in float64, by lane and then over the
// lanes, so a pair has the same bits in any batch.
#include "group.cuh"

struct Pairs {
    const int64 *indptr, *indices, *pairs;  // the graph, rows sorted; pairs [B, 2]
    const int64 *row_ptr, *columns;         // sparse rows of length one, null for none
    const double *entries;
    int *counter;
    float *out;  // [B, width]
    int links, width;
};

// Calls use(i, j) for every entry that rows u and v share, at i and j: the shorter row is gone through, the longer
// searched.
template <class Use> DEVICE void shared_entries(const int64 *ptr, const int64 *entry, int64 u, int64 v, Use use) {
    if (ptr[u + 1] - ptr[u] > ptr[v + 1] - ptr[v]) {
        int64 other = u;
        u = v, v = other;
    }
    for (int64 i = ptr[u] + LANE; i < ptr[u + 1]; i += GROUP) {
        int64 j = search_sorted(entry, ptr[v], ptr[v + 1], entry[i]);
        if (j >= 0) use(i, j);
    }
}

DEVICE void statistics(const Pairs &t, int64 u, int64 v, float *out) {
    double common = 0, adamic_adar = 0, allocated = 0, linked = 0;
    shared_entries(t.indptr, t.indices, u, v, [&](int64 i, int64) {
        double degree = (double)(t.indptr[t.indices[i] + 1] - t.indptr[t.indices[i]]);
        common += 1;
        adamic_adar += 1 / log(degree > 2 ? degree : 2.0);
        allocated += 1 / degree;
    });
    if (LANE == 0) linked = search_sorted(t.indices, t.indptr[u], t.indptr[u + 1], v) >= 0;
    common = group_sum(common), adamic_adar = group_sum(adamic_adar);
    allocated = group_sum(allocated), linked = group_sum(linked);
    double a = (double)(t.indptr[u + 1] - t.indptr[u]) - linked, b = (double)(t.indptr[v + 1] - t.indptr[v]) - linked;
    if (LANE) return;
    out[0] = (float)log1p(common);
    out[1] = (float)log1p(adamic_adar);
    out[2] = (float)allocated;
    out[3] = (float)log1p(a < b ? a : b);
    out[4] = (float)log1p(a < b ? b : a);
}

KERNEL pairs(Pairs t) {
    for (int b = next_of(t.counter); b < t.links; b = next_of(t.counter)) {
        int64 u = t.pairs[2 * (int64)b], v = t.pairs[2 * (int64)b + 1];
        float *out = t.out + (int64)b * t.width;
        statistics(t, u, v, out);
        if (t.row_ptr) {
            double product = 0;
            shared_entries(t.row_ptr, t.columns, u, v,
                           [&](int64 i, int64 j) { product += t.entries[i] * t.entries[j]; });
            product = group_sum(product);
            if (LANE == 0) out[5] = (float)product;
        }
    }
}
