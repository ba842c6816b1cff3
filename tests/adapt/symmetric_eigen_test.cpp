#include "adapt/screen/symmetric_eigen.h"

#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace sotta {
namespace {

// B B^T of a normal B [size, rank].
std::vector<double> random_matrix(size_t size, size_t rank, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal;
  std::vector<double> root(size * rank);
  for (double& value : root)
    value = normal(engine);
  std::vector<double> matrix(size * size);
  for (size_t i = 0; i < size; ++i)
    for (size_t j = 0; j < size; ++j)
      for (size_t k = 0; k < rank; ++k)
        matrix[i * size + j] += root[i * rank + k] * root[j * rank + k];
  return matrix;
}

void expect_decomposed(const std::vector<double>& matrix, size_t size) {
  const SymmetricEigen eigen = eigen_of(matrix, size);
  ASSERT_EQ(eigen.values.size(), size);
  ASSERT_EQ(eigen.vectors.size(), size * size);
  const double* v = eigen.vectors.data();
  const double tolerance = 1e-13 * std::max(1.0, std::abs(eigen.values[0]));
  for (size_t i = 0; i < size; ++i)
    for (size_t j = 0; j < size; ++j) {
      double product = 0, back = 0;
      for (size_t k = 0; k < size; ++k) {
        product += v[i * size + k] * v[j * size + k];
        back += eigen.values[k] * v[k * size + i] * v[k * size + j];
      }
      ASSERT_NEAR(product, i == j, 1e-13) << i << " " << j;
      ASSERT_NEAR(back, matrix[i * size + j], tolerance) << i << " " << j;
    }
  for (size_t i = 1; i < size; ++i)
    EXPECT_GE(eigen.values[i - 1], eigen.values[i]);
}

// 3 along (1, 1), 1 along (1, -1).
TEST(SymmetricEigen, OfTwoRowsIsComputedByHand) {
  const SymmetricEigen eigen = eigen_of({2, 1, 1, 2}, 2);
  EXPECT_NEAR(eigen.values[0], 3, 1e-15);
  EXPECT_NEAR(eigen.values[1], 1, 1e-15);
  EXPECT_NEAR(eigen.vectors[0], std::sqrt(0.5), 1e-15);
  EXPECT_NEAR(eigen.vectors[1], std::sqrt(0.5), 1e-15);
  EXPECT_NEAR(std::abs(eigen.vectors[2]), std::sqrt(0.5), 1e-15);
  EXPECT_NEAR(eigen.vectors[2], -eigen.vectors[3], 1e-15);
}

TEST(SymmetricEigen, GreatestEntriesArePositive) {
  const SymmetricEigen eigen = eigen_of({-1, 0, 0, 0, 5, 0, 0, 0, 2}, 3);
  EXPECT_EQ(eigen.values, (std::vector<double>{5, 2, -1}));
  EXPECT_EQ(eigen.vectors, (std::vector<double>{0, 1, 0, 0, 0, 1, 1, 0, 0}));
}

TEST(SymmetricEigen, OfAnySizeGivesTheMatrixBack) {
  for (const size_t size : {1, 2, 3, 4, 5, 20, 60})
    expect_decomposed(random_matrix(size, 2 * size, 7), size);
}

TEST(SymmetricEigen, OfAMatrixOfLowRankGivesItBack) {
  for (const size_t rank : {1, 2, 5, 19})
    expect_decomposed(random_matrix(20, rank, 3), 20);
}

TEST(SymmetricEigen, OfEqualValuesGivesTheMatrixBack) {
  std::vector<double> matrix(36);
  expect_decomposed(matrix, 6);  // 0
  for (size_t i = 0; i < 6; ++i)
    matrix[i * 6 + i] = 4;
  expect_decomposed(matrix, 6);
  for (double& value : matrix)
    value += 1;
  expect_decomposed(matrix, 6);
}

TEST(SymmetricEigen, OfFarApartValuesGivesTheMatrixBack) {
  std::vector<double> matrix = random_matrix(20, 40, 5);
  for (size_t i = 0; i < 20; ++i)
    for (size_t j = 0; j < 20; ++j)
      matrix[i * 20 + j] *= std::pow(10.0, -0.5 * static_cast<double>(i + j));
  expect_decomposed(matrix, 20);
}

TEST(SymmetricEigen, OfTinyEntriesBesideOthersGivesTheMatrixBack) {
  for (const double tiny : {1e-100, 1e-155, 1e-160, 1e-200, 1e-310}) {
    std::vector<double> matrix = random_matrix(20, 40, 5);
    for (size_t i = 0; i < 20; ++i)
      for (size_t j = 0; j < 20; ++j)
        if (i > 7 || j > 7) matrix[i * 20 + j] *= tiny;
    expect_decomposed(matrix, 20);
  }
}

TEST(SymmetricEigen, OfATinyMatrixAreAsOfOneThatIsNot) {
  const std::vector<double> matrix = random_matrix(20, 40, 5);
  std::vector<double> scaled = matrix;
  for (double& value : scaled)
    value = std::ldexp(value, -700);
  const SymmetricEigen a = eigen_of(matrix, 20), b = eigen_of(scaled, 20);
  for (size_t i = 0; i < 400; ++i)
    EXPECT_NEAR(a.vectors[i], b.vectors[i], 1e-12) << i;
}

TEST(SymmetricEigen, OfWhatIsNoNumberEnds) {
  std::vector<double> matrix = random_matrix(20, 40, 5);
  matrix[3 * 20 + 7] = matrix[7 * 20 + 3] =
      std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(eigen_of(matrix, 20).vectors.size(), 400);
}

}  // namespace
}  // namespace sotta
