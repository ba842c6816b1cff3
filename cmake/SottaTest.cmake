find_package(GTest QUIET)
if(SOTTA_DEVELOPER AND NOT GTest_FOUND)
  message(STATUS "GoogleTest not found: the C++ tests are left out")
endif()

# Where the tests find tests/golden, and what they read it with.
if(SOTTA_DEVELOPER AND GTest_FOUND)
  configure_file("${PROJECT_SOURCE_DIR}/tests/support/golden_dir.cpp.in" "${PROJECT_BINARY_DIR}/golden_dir.cpp" @ONLY)
  add_library(sotta_golden_dir STATIC "${PROJECT_BINARY_DIR}/golden_dir.cpp")
  target_include_directories(sotta_golden_dir PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(sotta_golden_dir INTERFACE nlohmann_json::nlohmann_json)
endif()

# sotta_add_tests(<module> [LABELS ...] [LINK <modules...>]): every
# tests/<module>/*.cpp in one program and one ctest entry. LINK names
# modules that only the tests need. Loading LibTorch costs over half a second a
# process, so one process per test case would cost minutes.
function(sotta_add_tests module)
  if(NOT GTest_FOUND)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "LABELS;LINK")
  if(NOT ARG_LABELS)
    set(ARG_LABELS fast)
  endif()
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/${module}/*.cpp")
  add_executable(sotta_${module}_test ${sources})
  target_include_directories(sotta_${module}_test PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}")
  list(TRANSFORM ARG_LINK PREPEND "sotta::")
  # tests/support/ has tests too, but no library of its name.
  target_link_libraries(sotta_${module}_test PRIVATE $<TARGET_NAME_IF_EXISTS:sotta::${module}> ${ARG_LINK} sotta_golden_dir GTest::gtest_main)
  sotta_strict_warnings(sotta_${module}_test)
  # The tests' own code need not be fast, only soon compiled: clang with sanitizers takes 2.5 times
  # as long with -O1 as with -O0.
  target_compile_options(sotta_${module}_test PRIVATE $<$<CONFIG:Release,Debug>:-O0>)
  sotta_sanitize_threads(sotta_${module}_test tests)
  if(NOT module MATCHES "^(core|record|report|support)$" AND NOT "tests" IN_LIST SOTTA_THREAD_SANITIZED)
    sotta_precompile(sotta_${module}_test tests <map> <memory> <string> <vector> <gtest/gtest.h> <nlohmann/json.hpp> <ATen/core/Tensor.h> <ATen/TensorOperators.h>)
  endif()
  add_test(NAME ${module} COMMAND sotta_${module}_test)
  # The report lets tools/run_tests.py count test cases instead of programs. Threads
  # that spin while they wait take the processor from the test that runs beside.
  set_tests_properties(${module} PROPERTIES LABELS "${ARG_LABELS}"
    ENVIRONMENT "GTEST_OUTPUT=json:${PROJECT_BINARY_DIR}/test-results/${module}.json;OMP_WAIT_POLICY=passive;OPENBLAS_THREAD_TIMEOUT=4")
endfunction()

# sotta_add_cli_test(<name> <script>): a bash script that runs the program from
# outside; tests/cli/expect.sh says how to write one. One that exits with 77 was
# skipped.
function(sotta_add_cli_test name script)
  add_test(NAME ${name} COMMAND bash "${script}")
  set_tests_properties(${name} PROPERTIES LABELS cli TIMEOUT 900 SKIP_RETURN_CODE 77
    ENVIRONMENT "SOTTA_BIN=$<TARGET_FILE:sotta>;SOTTA_ROOT=${PROJECT_SOURCE_DIR}")
endfunction()

# sotta_add_stress_test(<name> <script> <arguments...>): a Python script under
# tests/stress that CI runs for a moment; with a larger count, for as long as one
# likes. One that exits with 77 was skipped.
function(sotta_add_stress_test name script)
  add_test(NAME stress_${name} COMMAND python3 "${CMAKE_CURRENT_SOURCE_DIR}/${script}" ${ARGN})
  set_tests_properties(stress_${name} PROPERTIES LABELS stress TIMEOUT 900 SKIP_RETURN_CODE 77
    ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)
endfunction()

# sotta_add_stress_program(<name> <module> <sources...>): what such a script or a person runs.
function(sotta_add_stress_program name module)
  add_executable(${name} ${ARGN})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE sotta::${module})
  sotta_strict_warnings(${name})
endfunction()

# sotta_add_preloaded_library(<name> <source>): comes before the C library in a test, so
# without a sanitizer, whose own has to come first.
function(sotta_add_preloaded_library name source)
  add_library(${name} MODULE ${source})
  target_compile_options(${name} PRIVATE -fno-sanitize=all)
  target_link_options(${name} PRIVATE -fno-sanitize=all)
  target_link_libraries(${name} PRIVATE ${CMAKE_DL_LIBS})
  sotta_strict_warnings(${name})
endfunction()
