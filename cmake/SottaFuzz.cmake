# Fuzzed code gets its own build: with clang, sanitizers throughout, and without
# LibTorch, which is not built for them.
if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "SOTTA_FUZZ needs clang: configure with -DCMAKE_CXX_COMPILER=clang++")
endif()

# sotta_add_fuzzed_library(<sources under src/...>): what the fuzzers link.
function(sotta_add_fuzzed_library)
  list(TRANSFORM ARGN PREPEND "${PROJECT_SOURCE_DIR}/src/" OUTPUT_VARIABLE sources)
  add_library(sotta_fuzzed STATIC EXCLUDE_FROM_ALL ${sources})
  target_include_directories(sotta_fuzzed PUBLIC
    "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}")
  target_link_libraries(sotta_fuzzed PUBLIC nlohmann_json::nlohmann_json
    $<TARGET_NAME_IF_EXISTS:ZLIB::ZLIB> $<TARGET_NAME_IF_EXISTS:JPEG::JPEG>
    $<TARGET_NAME_IF_EXISTS:PNG::PNG>)
  target_compile_options(sotta_fuzzed
    PUBLIC -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
    PRIVATE -fsanitize=fuzzer-no-link)
  add_custom_target(sotta_fuzzers)
endfunction()

# sotta_add_fuzzers(<names>): for each the program fuzz_<name> from
# <name>_fuzz.cpp; its seeds lie in corpus/<name>/.
function(sotta_add_fuzzers)
  foreach(name IN LISTS ARGN)
    add_executable(fuzz_${name} EXCLUDE_FROM_ALL ${name}_fuzz.cpp)
    target_link_libraries(fuzz_${name} PRIVATE sotta_fuzzed)
    target_compile_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer,address,undefined)
    add_dependencies(sotta_fuzzers fuzz_${name})
  endforeach()
endfunction()
