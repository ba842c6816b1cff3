# Man pages and completions come from the program's own flags, so it must be able to run here.
if(CMAKE_CROSSCOMPILING)
  return()
endif()
include(GNUInstallDirs)
find_program(GZIP gzip REQUIRED)
set(manual "${PROJECT_BINARY_DIR}/manual")
add_custom_command(OUTPUT "${manual}/_sotta" DEPENDS sotta
  COMMAND "${CMAKE_COMMAND}" -E rm -rf "${manual}"
  COMMAND sotta write-manual "${manual}"
  COMMAND sh -c "'${GZIP}' -9n '${manual}'/man1/*.1" VERBATIM)
add_custom_target(sotta_manual ALL DEPENDS "${manual}/_sotta")
install(DIRECTORY "${manual}/man1" DESTINATION "${CMAKE_INSTALL_MANDIR}" COMPONENT sotta)
install(FILES "${manual}/sotta.bash" RENAME sotta
  DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" COMPONENT sotta)
install(FILES "${manual}/_sotta" DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions" COMPONENT sotta)
