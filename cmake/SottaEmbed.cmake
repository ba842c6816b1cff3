# sotta_embed(<target> <file> <function>): the bytes of a file travel inside the
# target as `std::string_view sotta::<function>()`, which a header declares.
function(sotta_embed target file function)
  get_filename_component(path "${file}" ABSOLUTE)
  file(READ "${path}" SOTTA_EMBEDDED_BYTES HEX)
  string(REGEX REPLACE "(..)" "'\\\\x\\1'," SOTTA_EMBEDDED_BYTES "${SOTTA_EMBEDDED_BYTES}")
  configure_file("${PROJECT_SOURCE_DIR}/cmake/embedded_file.cpp.in" "${function}.cpp" @ONLY)
  target_sources(${target} PRIVATE "${CMAKE_CURRENT_BINARY_DIR}/${function}.cpp")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${path}")
endfunction()
