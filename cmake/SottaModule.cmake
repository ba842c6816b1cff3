# Warnings for our own code; errors for those who develop it.
function(sotta_strict_warnings target)
  if(SOTTA_DEVELOPER)
    target_compile_options(${target} PRIVATE
      "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;-Wno-sign-conversion;-Werror>")
    # g++ 13 follows LibTorch's inlined templates and sees overruns and
    # uninitialised values that are not there; that they are system headers does
    # not silence these three.
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
      target_compile_options(${target} PRIVATE
        "$<$<COMPILE_LANGUAGE:CXX>:-Wno-array-bounds;-Wno-stringop-overflow;-Wno-maybe-uninitialized>")
    endif()
  endif()
endfunction()

# LibTorch's headers are most of what a compiler reads here: read once and kept,
# they make a clean build two to three times shorter. Developers only: a
# precompiled header hides an include that is missing, and they build without it
# for the coverage.
option(SOTTA_PCH "precompile LibTorch's headers" ${SOTTA_DEVELOPER})

# The whole program under the thread sanitizer (preset tsan) takes hours to compile: this builds parts of
# it so, with all else as in the preset it is given to. What the other parts do is not looked at.
set(SOTTA_THREAD_SANITIZED "" CACHE STRING "modules that are built with the thread sanitizer, and \"tests\"")
if(SOTTA_THREAD_SANITIZED)
  add_link_options(-fsanitize=thread)
endif()
function(sotta_sanitize_threads target part)
  if(part IN_LIST SOTTA_THREAD_SANITIZED)
    target_compile_options(${target} PRIVATE -fsanitize=thread -fno-omit-frame-pointer -g1
      $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)  # it does not know fences, which Boost.Asio has
  endif()
endfunction()

# sotta_precompile(<target> <group> <headers...>): the first target of a group
# precompiles the headers, the others, which must have the same flags, share
# them.
function(sotta_precompile target group)
  if(NOT SOTTA_PCH)
    return()
  endif()
  get_property(first GLOBAL PROPERTY SOTTA_PCH_${group})
  if(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
  else()
    target_precompile_headers(${target} PRIVATE ${ARGN})
    set_property(GLOBAL PROPERTY SOTTA_PCH_${group} ${target})
  endif()
endfunction()

# In debug builds, which have sanitizers, only what computes for long is optimised: the rest compiles
# in less than half the time without.
set(SOTTA_COMPUTING_MODULES gpu nn engine corrupt adapt)

# sotta_add_module(<name> [TORCH] DEPENDS <modules...> HEADERS <public...> SOURCES <private...>)
#
# The only way to declare a library module. DEPENDS is the list that
# tools/check_layers.py holds the #include lines to.
function(sotta_add_module name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "TORCH" "" "DEPENDS;HEADERS;SOURCES")
  add_library(sotta_${name} STATIC ${ARG_SOURCES})
  add_library(sotta::${name} ALIAS sotta_${name})
  list(TRANSFORM ARG_HEADERS PREPEND "${PROJECT_SOURCE_DIR}/include/sotta/${name}/")
  target_sources(sotta_${name} PUBLIC FILE_SET HEADERS
    BASE_DIRS "${PROJECT_SOURCE_DIR}/include" FILES ${ARG_HEADERS})
  target_compile_features(sotta_${name} PUBLIC cxx_std_17)
  # Headers that are not installed lie beside the sources; modules above may use them.
  target_include_directories(sotta_${name} PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>")
  list(TRANSFORM ARG_DEPENDS PREPEND "sotta::")
  target_link_libraries(sotta_${name} PUBLIC ${ARG_DEPENDS} $<$<BOOL:${ARG_TORCH}>:sotta::torch>)
  set_target_properties(sotta_${name} PROPERTIES
    EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON VERIFY_INTERFACE_HEADER_SETS ${SOTTA_DEVELOPER})
  sotta_strict_warnings(sotta_${name})
  sotta_sanitize_threads(sotta_${name} ${name})
  set(group modules)
  if(CMAKE_BUILD_TYPE STREQUAL "Debug" AND name IN_LIST SOTTA_COMPUTING_MODULES)
    set(group computing_modules)
  elseif(CMAKE_BUILD_TYPE STREQUAL "Debug")
    target_compile_options(sotta_${name} PRIVATE -O0)
  endif()
  if(ARG_TORCH AND NOT name IN_LIST SOTTA_THREAD_SANITIZED)
    sotta_precompile(sotta_${name} ${group} <map> <memory> <string> <vector> <ATen/core/Tensor.h> <ATen/TensorOperators.h>)
  endif()
  install(TARGETS sotta_${name} EXPORT sottaTargets ARCHIVE COMPONENT dev FILE_SET HEADERS COMPONENT dev)
  set_property(GLOBAL APPEND PROPERTY SOTTA_MODULES sotta::${name})
endfunction()
