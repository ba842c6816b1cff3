include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
install(EXPORT sottaTargets NAMESPACE sotta:: DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/sotta")
configure_package_config_file(cmake/sottaConfig.cmake.in "${PROJECT_BINARY_DIR}/sottaConfig.cmake"
  INSTALL_DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/sotta")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/sottaConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/sottaConfig.cmake" "${PROJECT_BINARY_DIR}/sottaConfigVersion.cmake"
  DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/sotta")
