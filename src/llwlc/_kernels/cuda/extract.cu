// Enclosing subgraphs, one link to a group: the same arrays, in the same order, as `subgraphs.extract`.
//
// A node's place in its subgraph is looked up in a hash table in shared memory; a link whose nodes do not fit is left
// to a launch with a larger one, and at last to one in which every node of the graph has a word of global memory for
// its place. A slot holds the place, or ABSENT, or, while a chunk of neighbours is processed, CANDIDATE + the first
// lane that holds the node: so nodes are found in the order of the list, whatever the order in which threads run.
#include "group.cuh"

#define ABSENT 0x7fffffff
#define CANDIDATE 0x40000000
#define EMPTY (-1)
#define ALL_DRAWS (~0ull)
#define NO_LIMIT 0x7fffffffffffffffll
#define MOST_HOPS 15
// a row this many times longer than the subgraph is searched for the subgraph's nodes instead of read
#define LONG_ROW 24

struct Extraction {
    // the graph, the pairs [B, 2], and which of them this launch is for [links] (null: all)
    const int64 *indptr, *indices, *pairs, *order;
    const int64 *drawn_by;  // what random draws identify the nodes by, null for their numbers
    // rows of more than `longer_than` nodes in the order of windows: the nodes, ascending, where their rows begin, and
    // the rows; null: none is ordered
    const int64 *hub, *hub_begin;
    const int *hub_neighbor;
    int *counter;
    // by link: nodes and directed edges, −1 where the table is too small
    int64 *sizes, *edges;
    // the output, null while counting
    const int64 *ptr, *first;
    int64 *node, *row, *col, *hop, *dist_u, *dist_v;
    int64 *edge;  // the places of the edges in the graph, where it has weights
    // a large launch: `stride` words of scratch for each group
    int *scratch;
    int64 stride;
    int64 num_nodes;
    uint64 key;
    int64 cap, longer_than;
    int links, hops, slots;
    int hubs;
};

struct Table {
    int *keys, *places;
    unsigned mask;
};

struct Found {
    int *node, *by_id;         // by_id: room for the nodes once more, where rows are ordered
    int level[MOST_HOPS + 2];  // hop h owns the nodes level[h] to level[h + 1]
    int n, used;               // used: places taken in the table, also by nodes that the cap dropped later
    // whether it dropped or left out any: such a node may be found again a hop later than it is near
    bool dropped;
};

DEVICE uint64 mix(uint64 x) {
    x += 0x9E3779B97F4A7C15ull;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    return x ^ (x >> 31);
}

DEVICE uint64 identity(const Extraction &x, int node) { return x.drawn_by ? x.drawn_by[node] : node; }

// How a pair draws the nodes of a capped hop: those with the lowest mix(key ^ identity) − shift, as signed numbers.
struct Draw {
    uint64 key, shift;
};

DEVICE Draw draw_of(const Extraction &x, int u, int v) {
    uint64 a = identity(x, u), b = identity(x, v);
    return Draw{x.key, mix(mix(x.key ^ (a < b ? a : b)) ^ (a < b ? b : a))};
}

// The draw of a node, as an unsigned number in the same order.
DEVICE uint64 drawn(const Extraction &x, const Draw &how, int node) {
    return (mix(how.key ^ identity(x, node)) - how.shift) ^ (1ull << 63);
}

DEVICE unsigned scatter(int x) { return ((unsigned)x * 0x9E3779B1u) >> 7; }

DEVICE int *place_of(const Table &t, int x) {
    if (!t.keys) return t.places + x;
    for (unsigned at = scatter(x) & t.mask;; at = (at + 1) & t.mask) {
        int there = ((volatile int *)t.keys)[at];
        if (there == EMPTY) there = atomicCAS(t.keys + at, EMPTY, x);
        if (there == EMPTY || there == x) return t.places + at;
    }
}

DEVICE int find(const Table &t, int x) {
    if (!t.keys) return ((volatile int *)t.places)[x];
    for (unsigned at = scatter(x) & t.mask;; at = (at + 1) & t.mask) {
        int there = t.keys[at];
        if (there == x) return t.places[at];
        if (there == EMPTY) return ABSENT;
    }
}

// Rows of GROUP nodes as one list, so that no lane waits for the longest row.
struct Rows {
    int64 *begin, *offset;
    int64 total;
};

DEVICE int64 row_length(const Extraction &x, int node) { return x.indptr[node + 1] - x.indptr[node]; }

// A row of more than `longest` entries counts as one of `instead`, and begins at −1.
DEVICE Rows rows_of(const Extraction &x, const int *node, int base, int end, int64 longest, int instead) {
    SHARED int64 begin[GROUP], offset[GROUP];
    int64 at = 0, length = 0;
    if (base + LANE < end) {
        at = x.indptr[node[base + LANE]];
        length = row_length(x, node[base + LANE]);
        if (length > longest) at = -1, length = instead;
    }
    Rows rows = {begin, offset, 0};
    SYNC();
    offset[LANE] = group_scan(length, rows.total);
    begin[LANE] = at;
    SYNC();
    return rows;
}

// Which of the rows holds entry q: the last whose offset is not beyond it.
DEVICE int owner_of(const Rows &rows, int64 q) {
    int low = 0;
    for (int step = GROUP / 2; step; step >>= 1)
        if (rows.offset[low + step] <= q) low += step;
    return low;
}

// The neighbours of node[begin:end] that are not in the table yet and whose draws are up to `highest`, behind the nodes
// found. False where the table would overflow.
DEVICE bool find_rows(const Extraction &x, const Table &t, int begin, int end, const Draw &how, uint64 highest,
                      int limit, Found &f) {
    for (int base = begin; base < end; base += GROUP) {
        Rows rows = rows_of(x, f.node, base, end, NO_LIMIT, 0);
        for (int64 c = 0; c < rows.total; c += GROUP) {
            if (f.used + GROUP > limit) return false;
            int64 q = c + LANE;
            int y = 0, *place = nullptr;
            if (q < rows.total) {
                int j = owner_of(rows, q);
                y = (int)x.indices[rows.begin[j] + q - rows.offset[j]];
                if (highest == ALL_DRAWS || drawn(x, how, y) <= highest) {
                    place = place_of(t, y);
                    atomicMin(place, CANDIDATE + LANE);
                }
            }
            SYNC();
            bool first = place && *(volatile int *)place == CANDIDATE + LANE;
            int count;
            int rank = group_rank(first, count);
            if (first) {
                f.node[f.n + rank] = y;
                *place = f.n + rank;
            }
            f.n += count;
            f.used += count;
            SYNC();
        }
    }
    return true;
}

// An ordered row, from the node with the pair's lowest draw on, and around.
struct Window {
    const int *row;
    int64 length, begin;
};

DEVICE Window window_of(const Extraction &x, int node, const Draw &how) {
    int64 place = search_sorted(x.hub, 0, x.hubs, node);
    Window w = {x.hub_neighbor + x.hub_begin[place], x.hub_begin[place + 1] - x.hub_begin[place], 0};
    int64 end = w.length;
    while (w.begin < end) {
        int64 middle = (w.begin + end) / 2;
        if (mix(how.key ^ identity(x, w.row[middle])) < how.shift + (1ull << 63))
            w.begin = middle + 1;
        else
            end = middle;
    }
    return w;
}

DEVICE int in_window(const Window &w, int64 q) {
    int64 at = w.begin + q;
    return w.row[at < w.length ? at : at - w.length];
}

// The draw of the cap-th node of a window that is not found yet; ALL_DRAWS where there are fewer.
DEVICE uint64 nth_new_draw(const Extraction &x, const Table &t, const Window &w, const Draw &how) {
    SHARED uint64 highest;
    int64 left = x.cap;
    for (int64 c = 0; c < w.length; c += GROUP) {
        int y = c + LANE < w.length ? in_window(w, c + LANE) : 0, count;
        bool is_new = c + LANE < w.length && find(t, y) == ABSENT;
        int rank = group_rank(is_new, count);
        if (count >= left) {
            SYNC();
            if (is_new && rank == left - 1) highest = drawn(x, how, y);
            SYNC();
            return highest;
        }
        left -= count;
    }
    return ALL_DRAWS;
}

// Distinct numbers, ascending. Every exchange of this bitonic network puts the lower number first, so what lies behind
// the end need not be there.
DEVICE void sort(int *x, int n) {
    SYNC();
    for (int size = 2; size < 2 * n; size *= 2)
        for (int half = size / 2; half; half /= 2) {
            for (int k = LANE; 2 * k < n + size; k += GROUP) {
                int i = 2 * k - (k & (half - 1)), j = half == size / 2 ? i ^ (size - 1) : i + half;
                if (j < n && x[j] < x[i]) {
                    int other = x[i];
                    x[i] = x[j], x[j] = other;
                }
            }
            SYNC();
        }
}

// `find_rows` of one ordered row: no more of it is read than its draws up to `highest`.
DEVICE bool find_in_window(const Extraction &x, const Table &t, const Window &w, const Draw &how, uint64 highest,
                           int limit, Found &f) {
    int begin = f.n;
    for (int64 c = 0; c < w.length; c += GROUP) {
        if (f.used + GROUP > limit) return false;
        int y = c + LANE < w.length ? in_window(w, c + LANE) : 0, count, all;
        bool low = c + LANE < w.length && drawn(x, how, y) <= highest, is_new = low && find(t, y) == ABSENT;
        int rank = group_rank(is_new, count);
        group_rank(low, all);
        if (is_new) f.node[f.n + rank] = y;
        f.n += count;
        f.used += count;
        if (all < GROUP) break;
    }
    sort(f.node + begin, f.n - begin);
    for (int i = begin + LANE; i < f.n; i += GROUP) *place_of(t, f.node[i]) = i;
    SYNC();
    return true;
}

// The first of begin … end − 1 for which it holds, or `end`.
template <class Holds> DEVICE int first_of(int begin, int end, Holds holds) {
    SHARED int found;
    for (int base = begin; base < end; base += GROUP) {
        int i = base + LANE, count;
        bool flag = i < end && holds(i);
        int rank = group_rank(flag, count);
        if (!count) continue;
        SYNC();
        if (flag && rank == 0) found = i;
        SYNC();
        return found;
    }
    return end;
}

// The neighbours of node[begin:end] that are not in the table yet; where a row is ordered, of all of them only those
// that may be among the `cap` lowest. False where the table would overflow.
DEVICE bool find_hop(const Extraction &x, const Table &t, int begin, int end, const Draw &how, int limit, Found &f) {
    if (!x.hub) return find_rows(x, t, begin, end, how, ALL_DRAWS, limit, f);
    int64 mine = 0;
    for (int i = begin + LANE; i < end; i += GROUP) {
        int64 length = row_length(x, f.node[i]);
        if (length > mine) mine = length;
    }
    int64 longest = (int64)group_max((double)mine);
    if (longest <= x.longer_than) return find_rows(x, t, begin, end, how, ALL_DRAWS, limit, f);
    int hub = first_of(begin, end, [&](int i) { return row_length(x, f.node[i]) == longest; });
    uint64 highest = nth_new_draw(x, t, window_of(x, f.node[hub], how), how);
    f.dropped = f.dropped || highest != ALL_DRAWS;
    for (int i = begin; i < end; i++) {
        int next = first_of(i, end, [&](int j) { return row_length(x, f.node[j]) > x.longer_than; });
        if (!find_rows(x, t, i, next, how, highest, limit, f)) return false;
        if (next < end && !find_in_window(x, t, window_of(x, f.node[next], how), how, highest, limit, f)) return false;
        i = next;
    }
    return true;
}

// The cap-th lowest of the draws of node[begin:end], as unsigned numbers in the same order; eight bits at a time from
// the top.
DEVICE uint64 lowest(const Extraction &x, const int *node, int begin, int end, const Draw &how) {
    SHARED int count[256];
    uint64 prefix = 0;
    int64 left = x.cap;
    for (int shift = 56; shift >= 0; shift -= 8) {
        SYNC();
        for EACH(i, 256) count[i] = 0;
        SYNC();
        for (int i = begin + LANE; i < end; i += GROUP) {
            uint64 bits = drawn(x, how, node[i]);
            if (shift == 56 || (bits >> (shift + 8)) == (prefix >> (shift + 8)))
                atomicAdd(count + ((bits >> shift) & 255), 1);
        }
        SYNC();
        int digit = 0;
        while (left > count[digit]) left -= count[digit++];
        prefix |= (uint64)digit << shift;
    }
    return prefix;
}

// Keeps the `cap` nodes with the lowest draws of the hop just found, in their order.
DEVICE void keep_lowest(const Extraction &x, const Table &t, int begin, const Draw &how, Found &f) {
    uint64 limit = lowest(x, f.node, begin, f.n, how);
    int kept = begin;
    for (int base = begin; base < f.n; base += GROUP) {
        int i = base + LANE, y = 0, count;
        bool stays = false;
        if (i < f.n) {
            y = f.node[i];
            stays = drawn(x, how, y) <= limit;
        }
        int rank = group_rank(stays, count);
        SYNC();
        if (i < f.n) *place_of(t, y) = stays ? kept + rank : ABSENT;
        if (stays) f.node[kept + rank] = y;
        kept += count;
        SYNC();
    }
    f.n = kept;
    f.dropped = true;
}

// All nodes of one subgraph. False where the table is too small.
DEVICE bool find_nodes(const Extraction &x, const Table &t, int u, int v, int limit, Found &f) {
    Draw how = draw_of(x, u, v);
    if (LANE == 0) {
        f.node[0] = u;
        f.node[1] = v;
        *place_of(t, u) = 0;
        *place_of(t, v) = 1;
    }
    f.n = f.used = f.level[1] = 2;
    f.level[0] = 0;
    f.dropped = false;
    SYNC();
    for (int h = 1; h <= x.hops; h++) {
        if (!find_hop(x, t, f.level[h - 1], f.level[h], how, limit, f)) return false;
        if (x.cap > 0 && f.n - f.level[h] > x.cap) keep_lowest(x, t, f.level[h], how, f);
        f.level[h + 1] = f.n;
    }
    return true;
}

// Edges among the nodes, without the link: returns their number, and writes them where there is an output.
DEVICE int64 find_edges(const Extraction &x, const Table &t, const Found &f, int64 p, int64 at) {
    int64 found = 0, longest = x.hub ? (int64)LONG_ROW * f.n : NO_LIMIT;
    if (x.hub && first_of(0, f.n, [&](int i) { return row_length(x, f.node[i]) > longest; }) < f.n) {
        for EACH(i, f.n) f.by_id[i] = f.node[i];
        sort(f.by_id, f.n);
    }
    for (int base = 0; base < f.n; base += GROUP) {
        Rows rows = rows_of(x, f.node, base, f.n, longest, f.n);
        for (int64 c = 0; c < rows.total; c += GROUP) {
            int64 q = c + LANE, where = 0;
            int i = 0, there = ABSENT;
            if (q < rows.total) {
                int j = owner_of(rows, q);
                i = base + j;
                if (rows.begin[j] >= 0) {
                    where = rows.begin[j] + q - rows.offset[j];
                    there = find(t, (int)x.indices[where]);
                } else {
                    int y = f.by_id[q - rows.offset[j]];
                    where = search_sorted(x.indices, x.indptr[f.node[i]], x.indptr[f.node[i] + 1], y);
                    if (where >= 0) there = find(t, y);
                }
                if (i < 2 && there == 1 - i) there = ABSENT;  // the link itself
            }
            bool inside = there < CANDIDATE;
            if (!x.row) {
                found += inside;
                continue;
            }
            int count;
            int64 e = at + found + group_rank(inside, count);
            if (inside) {
                x.row[e] = p + i;
                x.col[e] = p + there;
                if (x.edge) x.edge[e] = where;
            }
            found += count;
        }
    }
    if (x.row) return found;
    int64 total;
    group_scan(found, total);
    return total;
}

// Distances from both ends, each with the other taken out, level by level over the edges; `far` where that or more. A
// node at distance d was found in hop d or before, and the edges are in the order of nodes, so the first levels need
// only the first of them.
DEVICE void distances(const Extraction &x, const Found &f, int64 p, int64 first, int64 edges,
                      volatile int *du, volatile int *dv) {
    int far = 2 * x.hops + 1, n = f.n;
    for EACH(i, n) {
        du[i] = i == 0 ? 0 : far;
        dv[i] = i == 1 ? 0 : far;
    }
    for (int d = 0; d < far - 1; d++) {
        int end = f.dropped || d >= x.hops ? n : f.level[d + 1];
        SYNC();
        UNROLL_4 for (int64 e = first + LANE; e < first + edges; e += GROUP) {
            int64 i = x.row[e] - p, j = x.col[e] - p;
            if (i >= end) break;
            if (j != 1 && du[i] == d && du[j] == far) du[j] = d + 1;
            if (j != 0 && dv[i] == d && dv[j] == far) dv[j] = d + 1;
        }
    }
    SYNC();
    for EACH(i, n) {
        x.dist_u[p + i] = du[i];
        x.dist_v[p + i] = dv[i];
    }
}

DEVICE void emit(const Extraction &x, const Found &f, int64 p) {
    for EACH(i, f.n) {
        int h = 0;
        while (i >= f.level[h + 1]) h++;
        x.node[p + i] = f.node[i];
        x.hop[p + i] = h;
    }
}

KERNEL extract(Extraction x) {
    Table t;
    Found f;
    int limit, *du, *dv;
    if (x.scratch) {
        int *mine = x.scratch + BLOCK * x.stride;
        t.keys = nullptr;
        t.places = mine;
        f.node = mine + x.num_nodes;
        limit = CANDIDATE;
        du = f.node + x.num_nodes;
        dv = du + x.num_nodes;
        f.by_id = dv + x.num_nodes;
    } else {
        t.keys = (int *)room;
        t.places = t.keys + x.slots;
        t.mask = x.slots - 1;
        f.node = t.places + x.slots;
        limit = x.slots - x.slots / 4;
        f.by_id = f.node + limit;
        du = t.keys;  // the table is no longer needed here
        dv = t.places;
        for EACH(i, x.slots) {
            t.keys[i] = EMPTY;
            t.places[i] = ABSENT;
        }
    }
    for (int turn = next_of(x.counter); turn < x.links; turn = next_of(x.counter)) {
        int64 b = x.order ? x.order[turn] : turn;
        SYNC();
        bool fits = find_nodes(x, t, (int)x.pairs[2 * b], (int)x.pairs[2 * b + 1], limit, f);
        if (!x.node) {
            int64 edges = fits ? find_edges(x, t, f, 0, 0) : -1;
            if (LANE == 0) {
                x.sizes[b] = fits ? f.n : -1;
                x.edges[b] = edges;
            }
        } else {
            int64 p = x.ptr[b], e = x.first[b];
            find_edges(x, t, f, p, e);
            emit(x, f, p);
            SYNC();
            distances(x, f, p, e, x.first[b + 1] - e, du, dv);
        }
        SYNC();
        if (!x.scratch) {
            for EACH(i, x.slots) {
                t.keys[i] = EMPTY;
                t.places[i] = ABSENT;
            }
        } else {
            for EACH(i, f.n) t.places[f.node[i]] = ABSENT;
        }
    }
}
