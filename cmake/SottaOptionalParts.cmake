# Libraries that may be absent. A module links sotta::<part> if the target
# exists and compiles the source that says "not in this build" if it does not;
# `sotta info` lists the outcome.
find_package(ZLIB QUIET)
find_package(JPEG QUIET)
find_package(PNG QUIET)
# OpenSSL: what tokens are hashed with, and TLS.
find_package(OpenSSL QUIET)
# LibTorch may come without its distributed part, the meeting place of several
# processes.
find_file(C10D_HEADER torch/csrc/distributed/c10d/TCPStore.hpp
  PATHS ${TORCH_INCLUDE_DIRS} NO_CACHE)
if(C10D_HEADER AND NOT APPLE)
  set(C10D_FOUND ON)
endif()
# Highway, the vector instructions of the fused engine's kernels.
find_package(hwy QUIET)
if(TARGET hwy::hwy)
  set(HWY_FOUND ON)
endif()
# Boost.Beast, what `sotta serve` speaks HTTP with: headers alone. Those of 1.74, Debian's
# default, lie in the same place and are too old.
find_path(BEAST_HEADERS boost/beast/core/tcp_stream.hpp)
if(BEAST_HEADERS)
  file(STRINGS "${BEAST_HEADERS}/boost/version.hpp" beast_version REGEX "define BOOST_VERSION ")
  string(REGEX REPLACE "[^0-9]" "" beast_version "${beast_version}")
  if(beast_version GREATER_EQUAL 108100)
    set(BEAST_FOUND ON)
    add_library(sotta_beast INTERFACE)
    add_library(sotta::beast ALIAS sotta_beast)
    target_include_directories(sotta_beast SYSTEM INTERFACE "$<BUILD_INTERFACE:${BEAST_HEADERS}>")
  endif()
endif()
# hiredis, what a fleet of `sotta serve` reaches Redis with.
find_path(HIREDIS_HEADERS hiredis/hiredis.h)
find_library(HIREDIS_LIBRARY hiredis)
if(HIREDIS_HEADERS AND HIREDIS_LIBRARY)
  set(HIREDIS_FOUND ON)
  add_library(sotta_hiredis INTERFACE)
  add_library(sotta::hiredis ALIAS sotta_hiredis)
  target_include_directories(sotta_hiredis SYSTEM INTERFACE "$<BUILD_INTERFACE:${HIREDIS_HEADERS}>")
  target_link_libraries(sotta_hiredis INTERFACE "${HIREDIS_LIBRARY}")
endif()
foreach(part ZLIB JPEG PNG C10D HWY BEAST OPENSSL HIREDIS)
  if(${part}_FOUND)
    set(SOTTA_WITH_${part} 1)
  else()
    set(SOTTA_WITH_${part} 0)
  endif()
  message(STATUS "Optional part ${part}: ${SOTTA_WITH_${part}}")
endforeach()

# Header-only libraries every build needs. CONFIG packages where they are
# installed as packages, plain headers anywhere on CMAKE_PREFIX_PATH otherwise.
function(sotta_find_header_library target package header)
  find_package(${package} QUIET)
  if(NOT TARGET ${target})
    find_path(${package}_HEADERS ${header} REQUIRED)
    add_library(${target} INTERFACE IMPORTED)
    target_include_directories(${target} SYSTEM INTERFACE "${${package}_HEADERS}")
  endif()
endfunction()
sotta_find_header_library(nlohmann_json::nlohmann_json nlohmann_json nlohmann/json.hpp)
sotta_find_header_library(CLI11::CLI11 CLI11 CLI/CLI.hpp)
# toml++ by its headers alone: Debian's package file would link a library too.
find_path(TOMLPLUSPLUS_HEADERS toml++/toml.h REQUIRED)
add_library(sotta_tomlplusplus INTERFACE)
add_library(sotta::tomlplusplus ALIAS sotta_tomlplusplus)
target_include_directories(sotta_tomlplusplus SYSTEM INTERFACE "${TOMLPLUSPLUS_HEADERS}")
