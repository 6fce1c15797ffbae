# Catch2, version 2 (Debian 12, Ubuntu 22.04) or 3; tests include <catch2/catch.hpp> with both.
# main() is compiled once.

gpuprof_find_header(GPUPROF_CATCH2_HEADER catch2/catch.hpp)
if(GPUPROF_CATCH2_HEADER)
  file(CONFIGURE OUTPUT ${GPUPROF_GENERATED}/catch_main.cpp
       CONTENT "#define CATCH_CONFIG_MAIN\n#include <catch2/catch.hpp>\n")
  add_library(gpuprof_catch_main OBJECT ${GPUPROF_GENERATED}/catch_main.cpp)
  target_compile_options(gpuprof_catch_main PRIVATE ${GPUPROF_QUICK_TO_COMPILE})
  target_include_directories(gpuprof_catch_main SYSTEM PUBLIC ${GPUPROF_CATCH2_HEADER})
  add_library(gpuprof_catch INTERFACE)
  target_link_libraries(gpuprof_catch INTERFACE gpuprof_catch_main
                        $<TARGET_OBJECTS:gpuprof_catch_main>)
  set(GPUPROF_CATCH2_OPTIONS --warn NoTests)
else()
  find_package(Catch2 3 QUIET)
  if(NOT Catch2_FOUND)
    message(FATAL_ERROR "Catch2 is missing: install catch2, run scripts/setup, or configure with "
                        "-DGPUPROF_BUILD_TESTS=OFF")
  endif()
  file(MAKE_DIRECTORY ${GPUPROF_GENERATED}/catch2_v3/catch2)
  file(WRITE ${GPUPROF_GENERATED}/catch2_v3/catch2/catch.hpp
       "#pragma once\n#include <catch2/catch_all.hpp>\nusing Catch::Approx;\n")
  add_library(gpuprof_catch INTERFACE)
  target_include_directories(gpuprof_catch SYSTEM INTERFACE ${GPUPROF_GENERATED}/catch2_v3)
  target_link_libraries(gpuprof_catch INTERFACE Catch2::Catch2WithMain)
  set(GPUPROF_CATCH2_OPTIONS)  # no tests are a failure by themselves
endif()

# Builds tests/<folder>/*.cpp into test_<folder>. The test cases of a file are one test: starting the
# program for each case takes longer than most cases do.
function(gpuprof_catch_tests folder)
  file(GLOB _sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cpp)
  # The ThreadSanitizer build has the files with tests for it alone.
  if(GPUPROF_SANITIZE STREQUAL "thread")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${_sources})
    foreach(_source IN LISTS _sources)
      file(STRINGS ${_source} _tags REGEX "\\[tsan\\]")
      if(NOT _tags)
        list(REMOVE_ITEM _sources ${_source})
      endif()
    endforeach()
  endif()
  if(NOT _sources)
    return()
  endif()
  set(_target test_${folder})
  add_executable(${_target} ${_sources})
  target_link_libraries(${_target} PRIVATE gpuprof_catch ${GPUPROF_TEST_LIBRARIES})
  target_compile_options(${_target} PRIVATE ${GPUPROF_QUICK_TO_COMPILE})
  # Helpers of tests have the same names in many files: these share what takes longest to read.
  set_target_properties(${_target} PROPERTIES UNITY_BUILD OFF)
  if(GPUPROF_SANITIZE STREQUAL "address")
    target_precompile_headers(${_target} PRIVATE <algorithm> <chrono> <filesystem> <functional> <map>
      <memory> <optional> <set> <span> <sstream> <string> <thread> <variant> <vector>
      <catch2/catch.hpp>)
  endif()
  target_compile_definitions(${_target} PRIVATE
    GPUPROF_SOURCE_DIR="${PROJECT_SOURCE_DIR}" GPUPROF_BUILD_DIR="${PROJECT_BINARY_DIR}")
  set_target_properties(${_target} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})

  foreach(_source IN LISTS _sources)
    file(STRINGS ${_source} _cases REGEX "^(TEST_CASE|TEMPLATE_TEST_CASE|SCENARIO)")
    if(NOT _cases)
      continue()
    endif()
    get_filename_component(_stem ${_source} NAME_WE)
    set(_labels ${folder})
    set(_chosen "[#${_stem}]")
    file(STRINGS ${_source} _tags REGEX "\\[tsan\\]")
    if(_tags)
      list(APPEND _labels tsan)
    endif()
    if(GPUPROF_SANITIZE STREQUAL "thread")
      string(APPEND _chosen "[tsan]")
    endif()
    set(_name ${GPUPROF_TEST_PREFIX}${folder}.${_stem})
    add_test(NAME ${_name} COMMAND ${_target} --filenames-as-tags ${GPUPROF_CATCH2_OPTIONS} ${_chosen})
    set_tests_properties(${_name} PROPERTIES LABELS "${_labels}" TIMEOUT 600
                         ENVIRONMENT "${GPUPROF_TEST_ENVIRONMENT}")
  endforeach()
endfunction()

# Registers tests/<folder>/test_*.py.
function(gpuprof_python_tests folder)
  file(GLOB _files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/test_*.py)
  if(NOT _files)
    return()
  endif()
  find_program(GPUPROF_PYTHON python3 REQUIRED)
  foreach(_file IN LISTS _files)
    get_filename_component(_stem ${_file} NAME_WE)
    set(_labels ${folder})
    file(STRINGS ${_file} _line REGEX "^# ctest-labels:")
    if(_line MATCHES "^# ctest-labels: *([^;]*)")
      string(REGEX REPLACE "[ ,]+" ";" _more "${CMAKE_MATCH_1}")
      list(APPEND _labels ${_more})
    endif()
    if(GPUPROF_SANITIZE STREQUAL "thread" AND NOT tsan IN_LIST _labels)
      continue()
    endif()
    if(GPUPROF_SANITIZE AND plain IN_LIST _labels)
      continue()
    endif()
    set(_name ${GPUPROF_TEST_PREFIX}${folder}.${_stem})
    add_test(NAME ${_name} COMMAND ${GPUPROF_PYTHON} ${_file}
             WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/${folder})
    # The longer ones first, so that no processor is idle at the end.
    set(_cost 10)
    if(GPUPROF_SANITIZE STREQUAL "thread")
      set(_cost 20)
    endif()
    set_tests_properties(${_name} PROPERTIES LABELS "${_labels}" TIMEOUT 900 COST ${_cost}
                         ENVIRONMENT "${GPUPROF_PYTHON_TEST_ENVIRONMENT}" SKIP_RETURN_CODE 77)
  endforeach()
endfunction()
