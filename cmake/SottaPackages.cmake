# Debian packages by `cpack -G DEB` (make deb): sotta, libsotta-dev and, where the Python
# extension is built, python3-sotta. A part belongs to a package by the COMPONENT of its
# install(): sotta, dev, python. docs/packages.md says what is in each.
include(GNUInstallDirs)
set(components sotta dev)
if(SOTTA_PYTHON)
  list(APPEND components python)
  # The folder that python/CMakeLists.txt makes. For the package alone: other prefixes have other
  # places, which pip knows.
  install(DIRECTORY "${PROJECT_BINARY_DIR}/python/sotta" DESTINATION lib/python3/dist-packages
    COMPONENT python EXCLUDE_FROM_ALL PATTERN __pycache__ EXCLUDE PATTERN "*.so" EXCLUDE)
  install(TARGETS sotta_python LIBRARY DESTINATION lib/python3/dist-packages/sotta
    COMPONENT python EXCLUDE_FROM_ALL)  # stripped, as files of a folder are not
endif()

# pkg-config: the archives, in any order, and what they need.
set(SOTTA_PC_LIBS "")
get_property(modules GLOBAL PROPERTY SOTTA_MODULES)
foreach(module ${modules})
  string(REPLACE "sotta::" "-lsotta_" library "${module}")
  string(APPEND SOTTA_PC_LIBS " ${library}")
endforeach()
set(SOTTA_PC_REQUIRES "")
foreach(pair ZLIB:zlib JPEG:libjpeg PNG:libpng OPENSSL:openssl HWY:libhwy)
  string(REPLACE ":" ";" pair "${pair}")
  list(GET pair 0 part)
  list(GET pair 1 package)
  if(SOTTA_WITH_${part})
    string(APPEND SOTTA_PC_REQUIRES " ${package}")
  endif()
endforeach()
# LibTorch has no file of its own for pkg-config.
set(SOTTA_PC_CFLAGS "")
foreach(folder ${TORCH_INCLUDE_DIRS})
  if(NOT folder STREQUAL "/usr/include")
    string(APPEND SOTTA_PC_CFLAGS " -isystem ${folder}")
  endif()
endforeach()
string(APPEND SOTTA_PC_CFLAGS " ${TORCH_CXX_FLAGS}")
get_filename_component(SOTTA_PC_TORCH_DIR "${TORCH_LIBRARY}" DIRECTORY)
# Wherever it is installed, or moved to afterwards.
file(RELATIVE_PATH SOTTA_PC_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
configure_file("${CMAKE_CURRENT_LIST_DIR}/sotta.pc.in" "${PROJECT_BINARY_DIR}/sotta.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/sotta.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT dev)

# The service; it is not started until somebody asks for it.
install(FILES "${PROJECT_SOURCE_DIR}/deploy/systemd/sotta.service" DESTINATION lib/systemd/system COMPONENT sotta)

# What Debian expects of every package: who may copy it, and a changelog.
execute_process(COMMAND git -C "${PROJECT_SOURCE_DIR}" log -1 --format=%cD
  OUTPUT_VARIABLE SOTTA_DATE OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT SOTTA_DATE)
  string(TIMESTAMP SOTTA_DATE "%a, %d %b %Y %H:%M:%S +0000" UTC)
endif()
set(SOTTA_PACKAGE_CONTACT "the sotta developers <developers@sotta.invalid>" CACHE STRING
  "who made the Debian packages, as \"name <address>\"")
set(CPACK_PACKAGE_CONTACT "${SOTTA_PACKAGE_CONTACT}")
set(debian "${PROJECT_SOURCE_DIR}/deploy/debian")
configure_file("${debian}/changelog.in" "${PROJECT_BINARY_DIR}/debian/changelog" @ONLY)
find_program(GZIP gzip REQUIRED)
execute_process(COMMAND "${GZIP}" -9nkf "${PROJECT_BINARY_DIR}/debian/changelog")
foreach(pair sotta:sotta dev:libsotta-dev python:python3-sotta)
  string(REPLACE ":" ";" pair "${pair}")
  list(GET pair 0 component)
  list(GET pair 1 package)
  if(component IN_LIST components)
    install(FILES "${debian}/copyright" "${PROJECT_BINARY_DIR}/debian/changelog.gz"
      DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/${package}" COMPONENT ${component})
  endif()
endforeach()

# Everything that is installed, and nothing of the tests.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)
add_custom_target(sotta_packaged DEPENDS sotta ${modules})
foreach(target sotta_manual sotta_python)
  if(TARGET ${target})
    add_dependencies(sotta_packaged ${target})
  endif()
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_ALL ${components})
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)

# The description's first line is the synopsis.
set(about "It learns from an unlabelled stream and stays sound when images are in it that\ndo not belong there: other objects, other domains, attacks, noise.")
set(CPACK_DEBIAN_SOTTA_PACKAGE_NAME sotta)
set(CPACK_DEBIAN_SOTTA_PACKAGE_SECTION science)
set(CPACK_DEBIAN_SOTTA_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_SOTTA_PACKAGE_RECOMMENDS libopenblas0-pthread)
set(CPACK_DEBIAN_SOTTA_PACKAGE_CONTROL_EXTRA "${debian}/postinst;${debian}/prerm;${debian}/postrm")
set(CPACK_DEBIAN_SOTTA_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_SOTTA_DESCRIPTION "robust test-time adaptation of image classifiers\n${about}\n\nThis package has the command and its service.")

set(needed "libtorch-dev")
foreach(pair ZLIB:zlib1g-dev JPEG:libjpeg-dev PNG:libpng-dev OPENSSL:libssl-dev HWY:libhwy-dev)
  string(REPLACE ":" ";" pair "${pair}")
  list(GET pair 0 part)
  list(GET pair 1 package)
  if(SOTTA_WITH_${part})
    string(APPEND needed ", ${package}")
  endif()
endforeach()
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libsotta-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "${needed}")
set(CPACK_DEBIAN_DEV_DESCRIPTION "robust test-time adaptation of image classifiers (library)\n${about}\n\nThis package has headers, static libraries, CMake files and a pkg-config file.")

set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-sotta)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3, python3-torch, python3-numpy")
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA "${debian}/python/postinst;${debian}/python/prerm")
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PYTHON_DESCRIPTION "robust test-time adaptation of image classifiers (Python)\n${about}\n\nThis package has the Python module.")
include(CPack)
