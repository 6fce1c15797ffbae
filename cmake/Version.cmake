# gpuprof_version.hpp (the version, which changes with a release) and gpuprof_version.cpp (the
# commit, which every build rewrites if it changed, so that a new commit recompiles only one file).

configure_file(${PROJECT_SOURCE_DIR}/cmake/gpuprof_version.hpp.in
               ${GPUPROF_GENERATED}/gpuprof_version.hpp @ONLY)

find_package(Git QUIET)
add_custom_target(gpuprof_commit
  BYPRODUCTS ${GPUPROF_GENERATED}/gpuprof_version.cpp
  COMMAND ${CMAKE_COMMAND}
          -DGIT=$<IF:$<BOOL:${GIT_FOUND}>,${GIT_EXECUTABLE},>
          -DSOURCE_DIR=${PROJECT_SOURCE_DIR}
          -DOUTPUT=${GPUPROF_GENERATED}/gpuprof_version.cpp
          -P ${PROJECT_SOURCE_DIR}/cmake/write_commit.cmake
  COMMENT ""
  VERBATIM)
