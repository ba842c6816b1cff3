#pragma once

#include <cstddef>
#include <vector>

namespace sotta {

struct SymmetricEigen {
  std::vector<double> values;   // [n], greatest first
  std::vector<double> vectors;  // [n, n], a row for each value, of length 1
};

// Of a symmetric matrix [n, n] of a hundred rows or less. The entry of greatest
// magnitude of each vector is positive.
//
// LAPACK would do, but BLAS libraries share one pool of threads and its lock
// among all callers: 32 lanes that each wait for it take twenty times as long
// as one after the other, and the last bits would depend on the pool's size.
SymmetricEigen eigen_of(std::vector<double> matrix, size_t size);

}  // namespace sotta
