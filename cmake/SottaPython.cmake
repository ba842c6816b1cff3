# SOTTA_PYTHON: build the Python package. On where there is a Python whose torch is the LibTorch
# that was found, with headers of both and of pybind11. SOTTA_PYTHON_EXECUTABLE names the Python;
# by default the first of the path's and the system's that can import torch. Off by default in builds
# with sanitizers or for coverage: Python is not built for them (tools/python_asan.py is for that).
set(SOTTA_PYTHON_EXECUTABLE "" CACHE FILEPATH "the Python that the package is for")

# Sets `result` to torch's version in a Python, empty if there is none.
function(sotta_torch_of python result)
  execute_process(COMMAND "${python}" -c "import torch; print(torch.__version__.split('+')[0])"
    OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  set(${result} "${version}" PARENT_SCOPE)
endfunction()

function(sotta_find_python)
  set(candidates "${SOTTA_PYTHON_EXECUTABLE}")
  if(NOT SOTTA_PYTHON_EXECUTABLE)
    find_program(path_python python3 NO_CACHE)
    set(candidates "${path_python}" /usr/bin/python3)
  endif()
  list(REMOVE_DUPLICATES candidates)
  string(REGEX MATCH "^[0-9]+\\.[0-9]+" wanted "${Torch_VERSION}")
  foreach(python IN LISTS candidates)
    sotta_torch_of("${python}" found)
    if(found MATCHES "^${wanted}\\.")
      set(SOTTA_PYTHON_FOUND "${python}" PARENT_SCOPE)
      set(SOTTA_PYTHON_TORCH "${found}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

if(NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize|--coverage" OR SOTTA_PYTHON_EXECUTABLE)
  sotta_find_python()
endif()
set(sotta_python_default OFF)
if(SOTTA_PYTHON_FOUND)
  set(Python_EXECUTABLE "${SOTTA_PYTHON_FOUND}")
  find_package(Python QUIET COMPONENTS Interpreter Development.Module)
  # Upstream's torch brings the pybind11 it was built with; Debian's is the system's.
  find_path(PYBIND11_HEADERS pybind11/pybind11.h PATHS ${TORCH_INCLUDE_DIRS} NO_DEFAULT_PATH)
  find_path(PYBIND11_HEADERS pybind11/pybind11.h)
  find_library(TORCH_PYTHON_LIBRARY torch_python HINTS "${TORCH_INSTALL_PREFIX}/lib")
  if(Python_Development.Module_FOUND AND PYBIND11_HEADERS AND TORCH_PYTHON_LIBRARY)
    set(sotta_python_default ON)
  endif()
endif()
option(SOTTA_PYTHON "Build the Python package" ${sotta_python_default})
if(SOTTA_PYTHON AND NOT sotta_python_default)
  message(FATAL_ERROR "SOTTA_PYTHON needs a Python with torch ${Torch_VERSION}, the headers of both "
    "and of pybind11; -DSOTTA_PYTHON_EXECUTABLE names one")
endif()
if(SOTTA_PYTHON)
  message(STATUS "Python package: for ${SOTTA_PYTHON_FOUND} with torch ${SOTTA_PYTHON_TORCH}")
else()
  message(STATUS "Python package: none, no Python with torch ${Torch_VERSION} and the headers was found, or sanitizers are on")
endif()
