# Third-party libraries, each wrapped in a target of this project.

# Sets `variable` to the header's folder. In a portable build that is a folder of links, because
# /usr/include also has the headers of this machine's glibc.
function(gpuprof_find_header variable header)
  find_path(${variable} ${header})
  if(NOT GPUPROF_PORTABLE OR NOT ${variable})
    return()
  endif()
  string(REGEX REPLACE "/.*" "" _first ${header})
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/include)
  file(CREATE_LINK ${${variable}}/${_first} ${PROJECT_BINARY_DIR}/include/${_first} SYMBOLIC)
  set(${variable} ${PROJECT_BINARY_DIR}/include PARENT_SCOPE)
endfunction()

# SQLite: the static library, so that the tested version is the one that runs. Under TSan the shared
# one, which tests/tsan.supp can name.
gpuprof_find_header(GPUPROF_SQLITE_INCLUDE sqlite3.h)
if(GPUPROF_SANITIZE STREQUAL "thread")
  find_library(GPUPROF_SQLITE_LIBRARY NAMES sqlite3)
else()
  find_library(GPUPROF_SQLITE_LIBRARY NAMES libsqlite3.a sqlite3)
endif()
if(NOT GPUPROF_SQLITE_INCLUDE OR NOT GPUPROF_SQLITE_LIBRARY)
  message(FATAL_ERROR "SQLite is missing: install libsqlite3-dev, or run scripts/setup")
endif()
if(NOT GPUPROF_SQLITE_LIBRARY MATCHES "\\.a$" AND NOT GPUPROF_SANITIZE STREQUAL "thread")
  message(STATUS "SQLite: no libsqlite3.a, linking ${GPUPROF_SQLITE_LIBRARY}")
endif()
add_library(gpuprof_sqlite INTERFACE)
target_include_directories(gpuprof_sqlite SYSTEM INTERFACE ${GPUPROF_SQLITE_INCLUDE})
target_link_libraries(gpuprof_sqlite INTERFACE ${GPUPROF_SQLITE_LIBRARY} Threads::Threads
                      ${CMAKE_DL_LIBS} m)

# PCRE2, static for the same reason.
gpuprof_find_header(GPUPROF_PCRE2_INCLUDE pcre2.h)
find_library(GPUPROF_PCRE2_LIBRARY NAMES libpcre2-8.a pcre2-8)
if(NOT GPUPROF_PCRE2_INCLUDE OR NOT GPUPROF_PCRE2_LIBRARY)
  message(FATAL_ERROR "PCRE2 is missing: install libpcre2-dev, or run scripts/setup")
endif()
add_library(gpuprof_pcre2 INTERFACE)
target_include_directories(gpuprof_pcre2 SYSTEM INTERFACE ${GPUPROF_PCRE2_INCLUDE})
target_link_libraries(gpuprof_pcre2 INTERFACE ${GPUPROF_PCRE2_LIBRARY})

# libiberty's demangler, which does not allocate and returns its text piece by piece.
gpuprof_find_header(GPUPROF_IBERTY_INCLUDE libiberty/demangle.h)
find_library(GPUPROF_IBERTY_LIBRARY NAMES libiberty.a)
if(NOT GPUPROF_IBERTY_INCLUDE OR NOT GPUPROF_IBERTY_LIBRARY)
  message(FATAL_ERROR "libiberty is missing: install libiberty-dev, or run scripts/setup")
endif()
add_library(gpuprof_iberty INTERFACE)
target_include_directories(gpuprof_iberty SYSTEM INTERFACE ${GPUPROF_IBERTY_INCLUDE})
target_link_libraries(gpuprof_iberty INTERFACE ${GPUPROF_IBERTY_LIBRARY})

# zlib decompresses traces of other tools.
gpuprof_find_header(GPUPROF_ZLIB_INCLUDE zlib.h)
gpuprof_find_header(GPUPROF_ZLIB_CONFIG_INCLUDE zconf.h)
find_library(GPUPROF_ZLIB_LIBRARY NAMES libz.a z)
if(NOT GPUPROF_ZLIB_INCLUDE OR NOT GPUPROF_ZLIB_CONFIG_INCLUDE OR NOT GPUPROF_ZLIB_LIBRARY)
  message(FATAL_ERROR "zlib is missing: install zlib1g-dev, or run scripts/setup")
endif()
add_library(gpuprof_zlib INTERFACE)
target_include_directories(gpuprof_zlib SYSTEM INTERFACE ${GPUPROF_ZLIB_INCLUDE})
target_link_libraries(gpuprof_zlib INTERFACE ${GPUPROF_ZLIB_LIBRARY})

gpuprof_find_header(GPUPROF_CLI11_INCLUDE CLI/CLI.hpp)
if(NOT GPUPROF_CLI11_INCLUDE)
  message(FATAL_ERROR "CLI11 is missing: install libcli11-dev, or run scripts/setup")
endif()
add_library(gpuprof_cli11 INTERFACE)
target_include_directories(gpuprof_cli11 SYSTEM INTERFACE ${GPUPROF_CLI11_INCLUDE})

gpuprof_find_header(GPUPROF_JSON_INCLUDE nlohmann/json.hpp)
if(NOT GPUPROF_JSON_INCLUDE)
  message(FATAL_ERROR "nlohmann/json is missing: install nlohmann-json3-dev, or run scripts/setup")
endif()
add_library(gpuprof_json INTERFACE)
target_include_directories(gpuprof_json SYSTEM INTERFACE ${GPUPROF_JSON_INCLUDE})
