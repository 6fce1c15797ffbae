# The standard library and JSON are parsed once for each set of compiler options that matter to the parser, and not
# by every target. Only for Clang: GCC takes as long with them as without. scripts/lint compiles without this, so a
# file includes all that it uses.

set(_headers algorithm array atomic charconv chrono cmath condition_variable cstdint cstring deque filesystem
    fstream functional iostream map memory mutex optional ranges set span string string_view thread
    unordered_map utility variant vector nlohmann/json.hpp)
list(TRANSFORM _headers REPLACE "(.+)" "<\\1>")
set(GPUPROF_PRECOMPILED ${_headers})
file(CONFIGURE OUTPUT ${GPUPROF_GENERATED}/precompiled.cpp CONTENT "")

# For the targets of a folder and of those below it, once all are there.
function(gpuprof_precompile folder)
  get_property(_targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(_target IN LISTS _targets)
    get_target_property(_type ${_target} TYPE)
    get_target_property(_sources ${_target} SOURCES)
    if(NOT _type MATCHES "STATIC|SHARED|MODULE|OBJECT|EXECUTABLE" OR NOT _sources MATCHES "cpp")
      continue()
    endif()
    get_target_property(_options ${_target} COMPILE_OPTIONS)
    # These matter to the generated code alone, and a precompiled header has none.
    list(FILTER _options EXCLUDE REGEX "^-g[0-9]?$|^-fno-sanitize=alignment$|^-fsanitize-coverage=|^-fno-builtin-")
    get_target_property(_visibility ${_target} CXX_VISIBILITY_PRESET)
    string(MD5 _name "${_options} ${_visibility}")
    string(PREPEND _name gpuprof_precompiled_)
    if(NOT TARGET ${_name})  # in the folder that calls, which is not asked again
      add_library(${_name} OBJECT ${GPUPROF_GENERATED}/precompiled.cpp)
      target_link_libraries(${_name} PRIVATE gpuprof_json Threads::Threads)
      set_target_properties(${_name} PROPERTIES COMPILE_OPTIONS "${_options}"
                            CXX_VISIBILITY_PRESET ${_visibility})
      target_precompile_headers(${_name} PRIVATE ${GPUPROF_PRECOMPILED})
    endif()
    target_precompile_headers(${_target} REUSE_FROM ${_name})
  endforeach()
  get_property(_folders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(_folder IN LISTS _folders)
    gpuprof_precompile(${_folder})
  endforeach()
endfunction()
