# sotta::sotta: every module at once, for those who do not want to choose.
get_property(modules GLOBAL PROPERTY SOTTA_MODULES)
add_library(sotta_sotta INTERFACE)
add_library(sotta::sotta ALIAS sotta_sotta)
target_link_libraries(sotta_sotta INTERFACE ${modules})
set_target_properties(sotta_sotta PROPERTIES EXPORT_NAME sotta)
install(TARGETS sotta_sotta EXPORT sottaTargets)

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
install(EXPORT sottaTargets NAMESPACE sotta:: DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/sotta" COMPONENT dev)
configure_package_config_file(cmake/sottaConfig.cmake.in "${PROJECT_BINARY_DIR}/sottaConfig.cmake"
  INSTALL_DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/sotta")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/sottaConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/sottaConfig.cmake" "${PROJECT_BINARY_DIR}/sottaConfigVersion.cmake"
  DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/sotta" COMPONENT dev)
