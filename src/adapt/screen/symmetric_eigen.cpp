#include "adapt/screen/symmetric_eigen.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace sotta {
namespace {

constexpr size_t kMostSteps = 50;  // a value; two are usual

// A = V^T T V, with T tridiagonal and the rows of V orthonormal.
struct Tridiagonal {
  size_t size = 0;
  std::vector<double> diagonal;  // of T
  std::vector<double> beside;    // T[k + 1][k]
  std::vector<double> vectors;   // V

  double* row(size_t at) { return vectors.data() + at * size; }
};

// The reflection I - scale v v^T that takes a column to a multiple of its entry
// `first`; entries before that stay as they are.
struct Reflection {
  size_t first = 0;
  std::vector<double> v;  // 0 before `first`
  double scale = 0;
  double image = 0;  // of the entry
};

Reflection reflection_of(const double* column, size_t first, size_t size) {
  Reflection found;
  found.first = first;
  found.v.assign(size, 0);
  double greatest = 0;  // as a unit, since squares of tiny entries vanish
  for (size_t i = first; i < size; ++i)
    greatest = std::max(greatest, std::abs(column[i]));
  if (greatest == 0) return found;
  double squares = 0;
  for (size_t i = first; i < size; ++i) {
    found.v[i] = column[i] / greatest;
    squares += found.v[i] * found.v[i];
  }
  double& entry = found.v[first];
  const double image = -std::copysign(std::sqrt(squares), entry);
  found.image = image * greatest;
  found.scale = 1 / (squares - image * entry);
  entry -= image;
  return found;
}

// scale v^T M, from column `from` on.
std::vector<double> row_along(const Reflection& by, const double* matrix,
                              size_t from) {
  const size_t size = by.v.size();
  std::vector<double> along(size, 0);
  for (size_t i = by.first; i < size; ++i) {
    const double factor = by.scale * by.v[i];
    for (size_t j = from; j < size; ++j)
      along[j] += factor * matrix[i * size + j];
  }
  return along;
}

// What a symmetric matrix becomes in rows and columns from `first` on if it is
// reflected from both sides: A - v w^T - w v^T with w = u - scale / 2 (u^T v) v
// and u = scale A v.
void reflect_both_sides(const Reflection& by, double* matrix) {
  const size_t size = by.v.size();
  std::vector<double> w = row_along(by, matrix, by.first);
  const double half = 0.5 * by.scale *
                      std::inner_product(w.begin(), w.end(), by.v.begin(), 0.0);
  for (size_t i = by.first; i < size; ++i)
    w[i] -= half * by.v[i];
  for (size_t i = by.first; i < size; ++i)
    for (size_t j = by.first; j < size; ++j)
      matrix[i * size + j] -= by.v[i] * w[j] + w[i] * by.v[j];
}

void reflect_rows(const Reflection& by, double* matrix) {
  const size_t size = by.v.size();
  const std::vector<double> along = row_along(by, matrix, 0);
  for (size_t i = by.first; i < size; ++i)
    for (size_t j = 0; j < size; ++j)
      matrix[i * size + j] -= by.v[i] * along[j];
}

// By Householder's reflections.
Tridiagonal tridiagonal_of(std::vector<double> matrix, size_t size) {
  Tridiagonal found;
  found.size = size;
  found.vectors.assign(size * size, 0);
  for (size_t i = 0; i < size; ++i)
    found.vectors[i * size + i] = 1;
  for (size_t k = 0; k + 1 < size; ++k) {
    const Reflection by = reflection_of(matrix.data() + k * size, k + 1, size);
    found.beside.push_back(by.image);
    reflect_both_sides(by, matrix.data());
    reflect_rows(by, found.vectors.data());
  }
  for (size_t k = 0; k < size; ++k)
    found.diagonal.push_back(matrix[k * size + k]);
  return found;
}

// The eigenvalue of the last two rows of a block that is nearer to the last
// entry (Wilkinson's).
double shift_of(double above, double beside, double last) {
  const double half = (above - last) / 2;
  return last - beside * beside /
                    (half + std::copysign(std::hypot(half, beside), half));
}

// One step of the QR algorithm for the block of rows from `first` to `last`,
// none of whose entries beside the diagonal is 0 (Golub and Van Loan, Matrix
// Computations, section 8.3).
void qr_step(size_t first, size_t last, Tridiagonal& t) {
  double* d = t.diagonal.data();
  double* e = t.beside.data();
  double kept = d[first] - shift_of(d[last - 1], e[last - 1], d[last]);
  double chased = e[first];
  for (size_t k = first; k < last; ++k) {
    const double length = std::hypot(kept, chased);
    if (length == 0) break;
    const double c = kept / length, s = chased / length;
    if (k > first) e[k - 1] = length;
    const double a = d[k], b = e[k], z = d[k + 1];
    d[k] = c * c * a + 2 * c * s * b + s * s * z;
    d[k + 1] = s * s * a - 2 * c * s * b + c * c * z;
    e[k] = c * s * (z - a) + (c * c - s * s) * b;
    kept = e[k];
    if (k + 1 < last) {
      chased = s * e[k + 1];
      e[k + 1] *= c;
    }
    double* upper = t.row(k);
    double* lower = t.row(k + 1);
    for (size_t j = 0; j < t.size; ++j) {
      const double old = upper[j];
      upper[j] = c * old + s * lower[j];
      lower[j] = c * lower[j] - s * old;
    }
  }
}

// Makes T diagonal, but for what rounding of its greatest entry amounts to.
void diagonalise(Tridiagonal& t) {
  double greatest = 0;
  for (const auto* entries : {&t.diagonal, &t.beside})
    for (const double entry : *entries)
      greatest = std::max(greatest, std::abs(entry));
  const double small = greatest * std::numeric_limits<double>::epsilon();
  const auto is_small = [&](size_t k) {
    return std::abs(t.beside[k]) <= small;
  };
  size_t last = t.size - 1;
  for (size_t step = 0; last > 0 && step < kMostSteps * t.size; ++step) {
    while (last > 0 && is_small(last - 1))
      --last;
    size_t first = last;
    while (first > 0 && !is_small(first - 1))
      --first;
    if (first < last) qr_step(first, last, t);
  }
}

}  // namespace

SymmetricEigen eigen_of(std::vector<double> matrix, size_t size) {
  Tridiagonal t = tridiagonal_of(std::move(matrix), size);
  diagonalise(t);
  std::vector<size_t> order(size);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return t.diagonal[a] > t.diagonal[b];
  });
  SymmetricEigen found;
  for (const size_t which : order) {
    const double* vector = t.row(which);
    const double greatest = *std::max_element(
        vector, vector + size,
        [](double a, double b) { return std::abs(a) < std::abs(b); });
    found.values.push_back(t.diagonal[which]);
    for (size_t j = 0; j < size; ++j)
      found.vectors.push_back(greatest < 0 ? -vector[j] : vector[j]);
  }
  return found;
}

}  // namespace sotta
