// The Lanczos stage as a plain loop in C++: the same algorithm as kernels/krylov.py for one start vector, the yardstick of `python -m research bench`.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

using Vec = std::vector<double>;

static double dot(const double* a, const double* b, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) s += a[i] * b[i];
    return s;
}

// w <- w - A A^T w, coefficients of all rows from the same w
static void purge(const double* A, int m, const double* B, int k, double* w, double* c, int n) {
    for (int j = 0; j < m; j++) c[j] = dot(A + j * n, w, n);
    for (int j = 0; j < k; j++) c[m + j] = dot(B + j * n, w, n);
    for (int j = 0; j < m; j++)
        for (int i = 0; i < n; i++) w[i] -= c[j] * A[j * n + i];
    for (int j = 0; j < k; j++)
        for (int i = 0; i < n; i++) w[i] -= c[m + j] * B[j * n + i];
}

static void scale(double* w, int n) {
    double s = 1 / std::sqrt(dot(w, w, n));
    for (int i = 0; i < n; i++) w[i] *= s;
}

// pivoted Gram-Schmidt, twice, in place
static int orthonormal(double* C, int k, int n, Vec& w, Vec& c) {
    for (int j = 0; j < k; j++) scale(C + j * n, n);
    int rank = 0;
    for (; rank < k; rank++) {
        int pivot = rank;
        double longest = -1;
        for (int j = rank; j < k; j++) {
            double s = dot(C + j * n, C + j * n, n);
            if (s > longest) longest = s, pivot = j;
        }
        std::copy(C + pivot * n, C + pivot * n + n, w.begin());
        std::copy(C + rank * n, C + rank * n + n, C + pivot * n);
        purge(C, rank, nullptr, 0, w.data(), c.data(), n);
        if (!(dot(w.data(), w.data(), n) > 1e-24)) break;
        scale(w.data(), n);
        purge(C, rank, nullptr, 0, w.data(), c.data(), n);
        scale(w.data(), n);
        std::copy(w.begin(), w.begin() + n, C + rank * n);
        for (int j = rank + 1; j < k; j++) purge(C + rank * n, 1, nullptr, 0, C + j * n, c.data(), n);
    }
    return rank;
}

// implicit QL on a tridiagonal matrix, vectors in the rows of Z
static void ql(Vec& d, Vec& e, int m, double* Z) {
    double top = 0;
    for (int i = 0; i < m; i++) top = std::max(top, std::abs(d[i]) + std::abs(e[i]));
    for (int low = 0; low < m; low++)
        for (int sweep = 0; sweep < 60; sweep++) {
            int high = low;
            while (high < m - 1 && std::abs(e[high]) > 2.3e-16 * top) high++;
            if (high == low) break;
            double g = (d[low + 1] - d[low]) / (2 * e[low]), r = std::hypot(g, 1.0), s = 1, c = 1, p = 0;
            g = d[high] - d[low] + e[low] / (g + std::copysign(r, g));
            int i = high - 1;
            for (; i >= low; i--) {
                double f = s * e[i], b = c * e[i];
                e[i + 1] = r = std::sqrt(f * f + g * g);
                if (r == 0) { d[i + 1] -= p; e[high] = 0; break; }
                s = f / r; c = g / r; g = d[i + 1] - p;
                r = (d[i] - g) * s + 2 * c * b;
                p = s * r; d[i + 1] = g + p; g = c * r - b;
                for (int k = 0; k < m; k++) {
                    double z = Z[(i + 1) * m + k];
                    Z[(i + 1) * m + k] = s * Z[i * m + k] + c * z;
                    Z[i * m + k] = c * Z[i * m + k] - s * z;
                }
            }
            if (i >= low) continue;
            d[low] -= p; e[low] = g; e[high] = 0;
        }
}

extern "C" void lanczos(int64_t graphs, int64_t n64, int64_t k64, int64_t steps64, const int64_t* start, const int32_t* near,
                        const double* value, const double* diagonal, const double* columns, const double* first, float* values,
                        float* vectors) {
    const int n = n64, k = k64, steps = steps64;
    Vec Y(k * n), Q(steps * n), w(n), c(steps + k), d(steps), e(steps), Z(steps * steps);
    for (int64_t g = 0; g < graphs; g++) {
        const int64_t* s = start + g * n;
        for (int j = 0; j < k; j++)
            for (int i = 0; i < n; i++) Y[j * n + i] = columns[(g * n + i) * k + j];
        int rank = orthonormal(Y.data(), k, n, w, c), count = 0;
        std::copy(first + g * n, first + (g + 1) * n, w.begin());
        scale(w.data(), n);
        for (int t = 0; t <= steps; t++) {
            if (t > 0) {
                const double* q = Q.data() + (t - 1) * n;
                for (int i = 0; i < n; i++) {
                    double sum = diagonal[g * n + i] * q[i];
                    for (int64_t at = s[i]; at < s[i + 1]; at++) sum += value[at] * q[near[at]];
                    w[i] = sum;
                }
            }
            for (int again = 0; again < 2; again++) {
                purge(Q.data(), count, Y.data(), rank, w.data(), c.data(), n);
                if (t > 0) d[t - 1] = c[t - 1] + (again ? d[t - 1] : 0);
            }
            double size = std::sqrt(dot(w.data(), w.data(), n));
            if (t > 0) e[t - 1] = t < steps ? size : 0;
            if (t == steps || !(size > 2e-5)) break;
            for (int i = 0; i < n; i++) Q[count * n + i] = w[i] / size;
            count++;
        }
        std::fill(Z.begin(), Z.end(), 0);
        for (int i = 0; i < count; i++) Z[i * count + i] = 1;
        ql(d, e, count, Z.data());
        for (int p = 0; p < count; p++) {
            values[g * steps + p] = d[p];
            std::fill(w.begin(), w.end(), 0);
            for (int j = 0; j < count; j++)
                for (int i = 0; i < n; i++) w[i] += Z[p * count + j] * Q[j * n + i];
            for (int i = 0; i < n; i++) vectors[(g * n + i) * steps + p] = w[i];
        }
    }
}
