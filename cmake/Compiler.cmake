# Language level, warnings, sanitizers, ccache. Everything is position independent and hidden by
# default, because the same static libraries go into the collector and into the programs.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

add_compile_options(-fPIC)  # programs too, which then share precompiled headers with libraries
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  # Compilers for Arm round a * b + c once, those for x86-64 twice, and profiles are to be equal.
  add_compile_options(-ffp-contract=off)
endif()
add_compile_options(-Wall -Wextra -Werror=return-type -Werror=switch)
# Files that are compiled as one make Clang warn of shadowed names, and GCC of local types in members.
add_compile_options("$<$<CXX_COMPILER_ID:GNU>:-Wshadow;-Wno-subobject-linkage>")

find_program(GPUPROF_CCACHE ccache)
if(GPUPROF_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${GPUPROF_CCACHE})
endif()

# Forty files are compiled as one, which takes a third of the time; so local names of a folder are unique.
# All builds do so, because what one of them compiled another way would be tested by nobody.
if(NOT DEFINED CMAKE_UNITY_BUILD)  # scripts/lint looks at each by itself
  set(CMAKE_UNITY_BUILD ON)
endif()
set(CMAKE_UNITY_BUILD_BATCH_SIZE 40)

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

# Sanitizer builds keep assert() and use the shared runtime libraries; all others carry libstdc++
# and libgcc inside, so that a program needs nothing but glibc.
if(GPUPROF_SANITIZE)
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g0")
  if(GPUPROF_LINES)  # a tenth of the time of compiling; without them, reports name functions
    set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1")
  endif()
  add_compile_options(-fno-omit-frame-pointer)
  add_compile_definitions(GPUPROF_SANITIZED)
  # Clang compiles these builds in two thirds of the time that GCC takes.
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "GPUPROF_SANITIZE takes clang with libFuzzer: remove this folder, and scripts/build finds one")
  endif()
  # The collector and the programs it is loaded into share one runtime.
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-runtime-dir
                  OUTPUT_VARIABLE GPUPROF_CLANG_RUNTIME OUTPUT_STRIP_TRAILING_WHITESPACE)
  # Half a million addresses are relocated whenever gpuprof starts: in this form they are small.
  add_link_options(-shared-libsan -Wl,-rpath,${GPUPROF_CLANG_RUNTIME} -Wl,-z,pack-relative-relocs)
  # LLVM's linker takes a sixth of the time of the system's.
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-prog-name=ld.lld
                  OUTPUT_VARIABLE _lld OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(EXISTS "${_lld}")
    add_link_options(-fuse-ld=lld)
  endif()
  if(GPUPROF_SANITIZE STREQUAL "address")
    # One build serves all tests with ASan and UBSan and the fuzz targets. Null pointers show under ASan too.
    set(_sanitize -fsanitize=address,undefined -fno-sanitize-recover=undefined
        -fno-sanitize=null,vptr,object-size,function)
    # What -fsanitize=fuzzer-no-link does. That option itself matters to the parser, too (Precompiled.cmake).
    set(GPUPROF_FUZZED -fsanitize-coverage=inline-8bit-counters,indirect-calls,trace-cmp,pc-table,stack-depth
        -fno-builtin-bcmp -fno-builtin-memcmp -fno-builtin-memmem -fno-builtin-strcmp -fno-builtin-strncmp
        -fno-builtin-strcasecmp -fno-builtin-strncasecmp -fno-builtin-strstr -fno-builtin-strcasestr)
  elseif(GPUPROF_SANITIZE STREQUAL "thread")
    set(_sanitize -fsanitize=thread -fsanitize-ignorelist=${PROJECT_SOURCE_DIR}/cmake/tsan_ignored.txt)
    add_compile_options("SHELL:-include ${PROJECT_SOURCE_DIR}/cmake/tsan_clocklock.hpp")
    # Folders of libprof that none of the tests for TSan reaches: a fifth of the time of compiling.
    # apps/CMakeLists.txt leaves out the commands that need them.
    set(GPUPROF_LEFT_OUT conclude/compare conclude/kernels doctor exchange/export exchange/import exchange/merge view/model view/page
        view/server)
  else()
    message(FATAL_ERROR "GPUPROF_SANITIZE must be address or thread, not ${GPUPROF_SANITIZE}")
  endif()
  add_compile_options(${_sanitize})
  add_link_options(${_sanitize})
  set(GPUPROF_STATIC_RUNTIME)
else()
  # Lines, for backtraces; all of -g takes a quarter of the time of compiling. What is shipped has none.
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")
  if(GPUPROF_PORTABLE)
    set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g0 -DNDEBUG")  # zig's default is -g
  endif()
  set(GPUPROF_STATIC_RUNTIME -static-libstdc++ -static-libgcc)
  add_link_options(-Wl,--gc-sections)  # of the static libraries; a fifteenth of each program
endif()

# For what takes longer to compile than to run: tests, and with a sanitizer the front door and what
# people look at.
set(GPUPROF_QUICK_TO_COMPILE -O0)
if(GPUPROF_SANITIZE STREQUAL "address")
  list(APPEND GPUPROF_QUICK_TO_COMPILE -fno-sanitize=alignment)
elseif(GPUPROF_PORTABLE)
  list(APPEND GPUPROF_QUICK_TO_COMPILE -fno-sanitize=undefined)  # zig turns it on without optimisation
endif()
