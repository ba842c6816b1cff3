# One target for LibTorch, so that no other file names its variables.
# Its headers count as system headers: warnings stay about our own code.
find_package(Torch REQUIRED)
add_library(sotta_torch INTERFACE)
add_library(sotta::torch ALIAS sotta_torch)
target_include_directories(sotta_torch SYSTEM INTERFACE "$<BUILD_INTERFACE:${TORCH_INCLUDE_DIRS}>")
target_link_libraries(sotta_torch INTERFACE "${TORCH_LIBRARIES}")
# Upstream's binaries come with one of two std::string layouts and say which
# one by a compiler flag; Debian's say nothing.
separate_arguments(sotta_torch_flags UNIX_COMMAND "${TORCH_CXX_FLAGS}")
target_compile_options(sotta_torch INTERFACE ${sotta_torch_flags})
# Upstream's binaries export parts of std::filesystem from an older compiler, and
# directory iterators made of two halves crash. The system's library, loaded
# first, keeps its halves together. Named in full: where CUDA's compiler comes
# with another C++ compiler, that one's folders are searched first and may hold
# only an archive, of which nothing would be loaded first.
# A compiler that does not know where it lies (a wrapper for another one)
# answers with the bare name, which the linker would look for in the build folder.
execute_process(COMMAND "${CMAKE_CXX_COMPILER}" -print-file-name=libstdc++.so
  OUTPUT_VARIABLE sotta_libstdcxx OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT IS_ABSOLUTE "${sotta_libstdcxx}")
  find_library(SOTTA_LIBSTDCXX NAMES libstdc++.so.6)
  if(SOTTA_LIBSTDCXX)
    set(sotta_libstdcxx "${SOTTA_LIBSTDCXX}")
  else()
    set(sotta_libstdcxx -lstdc++)
  endif()
endif()
target_link_options(sotta_torch INTERFACE
  "LINKER:--push-state,--no-as-needed"
  "$<BUILD_INTERFACE:${sotta_libstdcxx}>" "$<INSTALL_INTERFACE:-lstdc++>"
  "LINKER:--pop-state")
install(TARGETS sotta_torch EXPORT sottaTargets)
set_target_properties(sotta_torch PROPERTIES EXPORT_NAME torch)
