# How a folder becomes a target. Sources are globbed, so that adding a file needs no edit here; a
# folder without sources becomes an INTERFACE library (headers only) or no program at all.

function(gpuprof_sources out dir)
  file(GLOB_RECURSE _files CONFIGURE_DEPENDS ${dir}/*.cpp)
  list(SORT _files)
  set(${out} ${_files} PARENT_SCOPE)
endfunction()

# gpuprof_room(folder [NAME target] [EXCEPT names...] [USES rooms...] [LIBRARIES targets...]
#              [SOURCES more.cpp...])
# makes a library of a folder: of record/launch, gpuprof_record_launch. USES: all folders of libprof,
# and schema, that its files include. EXCEPT: files, and folders that are rooms of their own.
# Folders in GPUPROF_LEFT_OUT become none, and are no USES.
function(gpuprof_room folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "NAME" "EXCEPT;USES;LIBRARIES;SOURCES")
  if(folder IN_LIST GPUPROF_LEFT_OUT)
    return()
  endif()
  list(REMOVE_ITEM arg_USES ${GPUPROF_LEFT_OUT})
  set(_dir ${CMAKE_CURRENT_SOURCE_DIR}/${folder})
  gpuprof_sources(_sources ${_dir})
  foreach(_other IN LISTS arg_EXCEPT)
    list(FILTER _sources EXCLUDE REGEX "^${_dir}/${_other}(/|$)")
  endforeach()
  list(TRANSFORM arg_USES REPLACE "/" "_")
  list(TRANSFORM arg_USES PREPEND gpuprof_)
  string(REPLACE "/" "_" _name gpuprof_${folder})
  if(arg_NAME)
    set(_name ${arg_NAME})
  endif()
  add_library(${_name} STATIC ${_sources} ${arg_SOURCES})
  target_link_libraries(${_name} PUBLIC gpuprof_schema ${arg_USES} ${arg_LIBRARIES})
  set_property(GLOBAL APPEND PROPERTY GPUPROF_ROOMS ${_name})
endfunction()

# gpuprof_list(folder MACRO output.inc): a line MACRO(name) for each NAME.cpp of the folder.
function(gpuprof_list folder macro output)
  file(GLOB _files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cpp)
  list(SORT _files)
  set(_list "// Generated from the files of libprof/${folder}.\n")
  foreach(_file IN LISTS _files)
    get_filename_component(_name ${_file} NAME_WE)
    string(APPEND _list "${macro}(${_name})\n")
  endforeach()
  file(CONFIGURE OUTPUT ${GPUPROF_GENERATED}/libprof/${output} CONTENT "${_list}" @ONLY)
endfunction()

# gpuprof_program(name DIR dir [DESTINATION bin|lib/gpuprof] [SOURCES only.cpp...] [USES folders...])
# Without DESTINATION it is not installed.
function(gpuprof_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "DIR;DESTINATION" "SOURCES;USES")
  if(arg_SOURCES)
    list(TRANSFORM arg_SOURCES PREPEND ${arg_DIR}/ OUTPUT_VARIABLE _sources)
  else()
    gpuprof_sources(_sources ${arg_DIR})
  endif()
  if(NOT _sources)
    return()
  endif()
  add_executable(${name} ${_sources})
  list(TRANSFORM arg_USES REPLACE "/" "_")
  list(TRANSFORM arg_USES PREPEND gpuprof_)
  target_link_libraries(${name} PRIVATE ${arg_USES} Threads::Threads ${CMAKE_DL_LIBS})
  target_link_options(${name} PRIVATE ${GPUPROF_STATIC_RUNTIME})
  if(arg_DESTINATION)
    set_target_properties(${name} PROPERTIES
      RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${arg_DESTINATION})
    install(TARGETS ${name} RUNTIME DESTINATION ${arg_DESTINATION})
  endif()
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
