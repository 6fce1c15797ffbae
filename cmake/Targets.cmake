# How a folder becomes a target. Sources are globbed, so that adding a file needs no edit here; a
# folder without sources becomes an INTERFACE library (headers only) or no program at all.

function(gpuprof_sources out dir)
  file(GLOB_RECURSE _files CONFIGURE_DEPENDS ${dir}/*.cpp)
  list(SORT _files)
  set(${out} ${_files} PARENT_SCOPE)
endfunction()

# gpuprof_library(name DIR dir [SOURCES more.cpp...] [EXCEPT main.cpp...] [DEPS targets...])
function(gpuprof_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "DIR" "SOURCES;EXCEPT;DEPS")
  gpuprof_sources(_sources ${arg_DIR})
  foreach(_file IN LISTS arg_EXCEPT)
    list(REMOVE_ITEM _sources ${arg_DIR}/${_file})
  endforeach()
  list(APPEND _sources ${arg_SOURCES})
  if(_sources)
    add_library(${name} STATIC ${_sources})
    target_link_libraries(${name} PUBLIC gpuprof_schema ${arg_DEPS})
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE gpuprof_schema ${arg_DEPS})
  endif()
endfunction()

# gpuprof_program(name DIR dir DESTINATION bin|lib/gpuprof [SOURCES only.cpp...] [DEPS targets...])
function(gpuprof_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "DIR;DESTINATION" "SOURCES;DEPS")
  if(arg_SOURCES)
    list(TRANSFORM arg_SOURCES PREPEND ${arg_DIR}/ OUTPUT_VARIABLE _sources)
  else()
    gpuprof_sources(_sources ${arg_DIR})
  endif()
  if(NOT _sources)
    return()
  endif()
  add_executable(${name} ${_sources})
  target_link_libraries(${name} PRIVATE ${arg_DEPS} Threads::Threads ${CMAKE_DL_LIBS})
  target_link_options(${name} PRIVATE ${GPUPROF_STATIC_RUNTIME})
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${arg_DESTINATION})
  install(TARGETS ${name} RUNTIME DESTINATION ${arg_DESTINATION})
endfunction()

# gpuprof_embed_sql(output.cpp HEADER h TYPE t FUNCTION f FILES a.sql…): see embed_sql.cmake.
function(gpuprof_embed_sql output)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "HEADER;TYPE;FUNCTION" "FILES")
  set(_script ${PROJECT_SOURCE_DIR}/cmake/embed_sql.cmake)
  string(REPLACE ";" "|" _files "${arg_FILES}")
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} "-DFILES=${_files}" -DHEADER=${arg_HEADER}
            -DTYPE=${arg_TYPE} -DFUNCTION=${arg_FUNCTION} -P ${_script}
    DEPENDS ${arg_FILES} ${_script}
    COMMENT "Embedding SQL: ${arg_FUNCTION}"
    VERBATIM)
endfunction()

# gpuprof_embed_files(output.cpp FILES a.js…): see embed_files.cmake.
function(gpuprof_embed_files output)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "FILES")
  set(_script ${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake)
  string(REPLACE ";" "|" _files "${arg_FILES}")
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} "-DFILES=${_files}" -P ${_script}
    DEPENDS ${arg_FILES} ${_script}
    COMMENT "Embedding the viewer's page"
    VERBATIM)
endfunction()
