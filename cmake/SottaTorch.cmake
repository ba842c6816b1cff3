# One target for LibTorch, so that no other file names its variables.
# Its headers count as system headers: warnings stay about our own code.
# Kernels for GPUs are compiled by the compiler of all the rest: another one's
# libraries would come into every program, a std::filesystem of its own with
# them.
if(NOT DEFINED CMAKE_CUDA_HOST_COMPILER)
  set(CMAKE_CUDA_HOST_COMPILER "${CMAKE_CXX_COMPILER}")
endif()
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
# first, keeps its halves together.
target_link_options(sotta_torch INTERFACE
  "LINKER:--push-state,--no-as-needed" -lstdc++ "LINKER:--pop-state")
install(TARGETS sotta_torch EXPORT sottaTargets)
set_target_properties(sotta_torch PROPERTIES EXPORT_NAME torch)
