find_package(GTest QUIET)
if(SOTTA_DEVELOPER AND NOT GTest_FOUND)
  message(STATUS "GoogleTest not found: the C++ tests are left out")
endif()

# sotta_add_tests(<module> [LABELS ...]): every tests/<module>/*_test.cpp in one
# program and one ctest entry. Loading LibTorch costs over half a second a
# process, so one process per test case would cost minutes.
function(sotta_add_tests module)
  if(NOT GTest_FOUND)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "LABELS")
  if(NOT ARG_LABELS)
    set(ARG_LABELS fast)
  endif()
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/${module}/*_test.cpp")
  add_executable(sotta_${module}_test ${sources})
  target_include_directories(sotta_${module}_test PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}")
  target_link_libraries(sotta_${module}_test PRIVATE sotta::${module} GTest::gtest_main)
  target_compile_definitions(sotta_${module}_test PRIVATE
    SOTTA_GOLDEN_DIR="${PROJECT_SOURCE_DIR}/tests/golden")
  sotta_strict_warnings(sotta_${module}_test)
  add_test(NAME ${module} COMMAND sotta_${module}_test)
  set_tests_properties(${module} PROPERTIES LABELS "${ARG_LABELS}")
endfunction()
