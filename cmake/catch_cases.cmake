# Read by ctest. Asks PROGRAM for its test cases (LIST_OPTIONS) and adds one test PREFIX<case> for
# each, with the label FOLDER, and tsan where the case has that tag. ONLY_TSAN leaves out the rest.

cmake_policy(VERSION 3.22)

# A name may hold [ ] and ;, which CMake's lists do not survive.
function(gpuprof_list_cases out)
  execute_process(COMMAND ${PROGRAM} ${ARGN} ${LIST_OPTIONS}
                  OUTPUT_VARIABLE text ERROR_VARIABLE errors RESULT_VARIABLE result)
  # Catch2 2 returns the number of test cases (modulo 256), Catch2 3 returns 0.
  if(NOT result MATCHES "^[0-9]+$")
    message(WARNING "${PROGRAM} cannot list its test cases: ${result}\n${errors}")
  endif()
  string(REPLACE "[" "<LB>" text "${text}")
  string(REPLACE "]" "<RB>" text "${text}")
  string(REPLACE ";" "<SC>" text "${text}")
  string(REGEX REPLACE "[\r\n]+" ";" text "${text}")
  set(${out} ${text} PARENT_SCOPE)
endfunction()

if(NOT EXISTS ${PROGRAM})
  add_test(${PREFIX}${FOLDER}.NOT_BUILT ${PROGRAM})
  return()
endif()

gpuprof_list_cases(tsan_cases "[tsan]")
if(ONLY_TSAN)
  set(cases ${tsan_cases})
else()
  gpuprof_list_cases(cases)
endif()

foreach(case IN LISTS cases)
  set(labels ${FOLDER})
  if(case IN_LIST tsan_cases)
    list(APPEND labels tsan)
  endif()
  string(REPLACE "<LB>" "[" name "${case}")
  string(REPLACE "<RB>" "]" name "${name}")
  string(REPLACE "<SC>" ";" name "${name}")
  string(STRIP "${name}" name)
  # These mean something in a Catch2 test specification.
  string(REGEX REPLACE "([][,\\])" "\\\\\\1" spec "${name}")
  add_test("${PREFIX}${FOLDER}: ${name}" ${PROGRAM} "${spec}")
  set_tests_properties("${PREFIX}${FOLDER}: ${name}" PROPERTIES
    LABELS "${labels}" TIMEOUT 120 ENVIRONMENT "${ENVIRONMENT}"
    # What tests/unit/host_library.hpp says where there is no libcupti.
    SKIP_REGULAR_EXPRESSION "skipped: ")
endforeach()
