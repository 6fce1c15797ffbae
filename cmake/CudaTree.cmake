# Finds the CUDA tree to build against; without one the build fails. Sets
#   GPUPROF_CUPTI_INCLUDE_DIRS                        headers for the collector
#   GPUPROF_CUDA_ROOT, GPUPROF_CUDA_VERSION           the tree; "13.5"
#   GPUPROF_NVCC                                      for examples/*.cu, may be empty
#   GPUPROF_LIBCUPTI                                  libcupti.so.<major>, may be empty
# and the target gpuprof_cuda_headers (include directories and GPUPROF_HAVE_CUPTI).
#
# Order: CUDAToolkit_ROOT (variable, then environment), the result of an earlier run, .cuda/
# (unpacked by scripts/setup), CUDA_HOME, /usr/local/cuda*, the tree of the nvcc on PATH. Both the
# layout of a toolkit and that of the wheels (nvidia/cu13/{include,lib,bin}) are supported.

set(GPUPROF_CUPTI_MINIMUM 130500)
set(GPUPROF_CUPTI_INCLUDE_DIRS)
set(GPUPROF_CUDA_ROOT)
set(GPUPROF_CUDA_VERSION)
set(GPUPROF_NVCC)
set(GPUPROF_LIBCUPTI)

# 130500 -> 13.5; CUPTI before 12.6 counted 1, 2, 3 instead.
function(gpuprof_cupti_version_text number out)
  if(number LESS 10000)
    set(${out} "${number} (before CUDA 12.6)" PARENT_SCOPE)
  else()
    math(EXPR major "${number} / 10000")
    math(EXPR minor "${number} % 10000 / 100")
    set(${out} "${major}.${minor}" PARENT_SCOPE)
  endif()
endfunction()

# Examines one tree; if suitable, sets the variables above in the caller.
macro(gpuprof_try_cuda_tree root)
  unset(_cupti_dir)
  unset(_cuda_dir)
  foreach(_dir include extras/CUPTI/include targets/x86_64-linux/include targets/sbsa-linux/include)
    if(NOT _cupti_dir AND EXISTS ${root}/${_dir}/cupti.h
       AND EXISTS ${root}/${_dir}/cupti_activity.h
       AND EXISTS ${root}/${_dir}/generated_cuda_runtime_api_meta.h)
      set(_cupti_dir ${root}/${_dir})
    endif()
    if(NOT _cuda_dir AND EXISTS ${root}/${_dir}/cuda.h)
      set(_cuda_dir ${root}/${_dir})
    endif()
  endforeach()
  if(_cupti_dir AND _cuda_dir)
    set(_number 0)
    if(EXISTS ${_cupti_dir}/cupti_version.h)
      file(STRINGS ${_cupti_dir}/cupti_version.h _line
           REGEX "^#define[ \t]+CUPTI_API_VERSION[ \t]+[0-9]+")
      if(_line MATCHES "CUPTI_API_VERSION[ \t]+([0-9]+)")
        set(_number ${CMAKE_MATCH_1})
      endif()
    endif()
    gpuprof_cupti_version_text(${_number} _version)
    if(_number LESS GPUPROF_CUPTI_MINIMUM)
      message(STATUS "CUDA: skipped ${root}: CUPTI ${_version}, 13.5 or newer is needed")
    else()
      set(GPUPROF_CUDA_ROOT ${root})
      set(GPUPROF_CUDA_VERSION ${_version})
      set(GPUPROF_CUPTI_INCLUDE_DIRS ${_cupti_dir} ${_cuda_dir})
      list(REMOVE_DUPLICATES GPUPROF_CUPTI_INCLUDE_DIRS)
    endif()
  elseif(_cuda_dir)
    message(STATUS "CUDA: skipped ${root}: no CUPTI headers")
  endif()
endmacro()

set(_trees ${CUDAToolkit_ROOT} $ENV{CUDAToolkit_ROOT} ${GPUPROF_CUDA_TREE}
    ${PROJECT_SOURCE_DIR}/.cuda $ENV{CUDA_HOME} /usr/local/cuda)
file(GLOB _versioned LIST_DIRECTORIES TRUE /usr/local/cuda-*)
list(SORT _versioned COMPARE NATURAL ORDER DESCENDING)
list(APPEND _trees ${_versioned})
find_program(GPUPROF_NVCC_ON_PATH nvcc)
mark_as_advanced(GPUPROF_NVCC_ON_PATH)
if(GPUPROF_NVCC_ON_PATH)
  get_filename_component(_nvcc ${GPUPROF_NVCC_ON_PATH} REALPATH)
  get_filename_component(_bin ${_nvcc} DIRECTORY)
  get_filename_component(_tree ${_bin} DIRECTORY)
  list(APPEND _trees ${_tree})
endif()
set(_seen)
foreach(_tree IN LISTS _trees)
  foreach(_root ${_tree}/nvidia/cu13 ${_tree})
    get_filename_component(_real ${_root} REALPATH)
    if(NOT GPUPROF_CUDA_ROOT AND EXISTS ${_root} AND NOT _real IN_LIST _seen)
      list(APPEND _seen ${_real})
      gpuprof_try_cuda_tree(${_root})
    endif()
  endforeach()
endforeach()
if(NOT GPUPROF_CUDA_ROOT)
  message(FATAL_ERROR "CUPTI's headers are missing: run scripts/setup, which gets those of CUDA 13.5, "
                      "or name a toolkit with CUPTI 13.5 or newer: -DCUDAToolkit_ROOT=DIR")
endif()

set(GPUPROF_CUDA_TREE "${GPUPROF_CUDA_ROOT}" CACHE INTERNAL "The CUDA tree in use")

if(EXISTS ${GPUPROF_CUDA_ROOT}/bin/nvcc AND NOT GPUPROF_FOREIGN)
  set(GPUPROF_NVCC ${GPUPROF_CUDA_ROOT}/bin/nvcc)
endif()
# The headers are the same for all processors.
set(_libraries lib lib64 extras/CUPTI/lib64 targets/x86_64-linux/lib targets/sbsa-linux/lib)
list(TRANSFORM _libraries PREPEND ${GPUPROF_CUDA_ROOT}/)
set(_licence ${GPUPROF_CUDA_ROOT}/../../nvidia_cuda_cupti-*.dist-info/licenses/License.txt)
set(_host ${PROJECT_SOURCE_DIR}/.cuda/host)
if(GPUPROF_FOREIGN)
  set(_libraries ${GPUPROF_FOREIGN}/cuda/lib)
  set(_licence ${GPUPROF_FOREIGN}/cuda/License.txt)
  set(_host ${GPUPROF_FOREIGN}/host)
endif()
foreach(_dir IN LISTS _libraries)
  file(GLOB _found ${_dir}/libcupti.so.[0-9][0-9])
  if(_found AND NOT GPUPROF_LIBCUPTI)
    list(GET _found 0 GPUPROF_LIBCUPTI)
  endif()
endforeach()
message(STATUS "CUDA: CUPTI ${GPUPROF_CUDA_VERSION} headers in ${GPUPROF_CUDA_ROOT}")
if(NOT GPUPROF_NVCC)
  message(STATUS "CUDA: no nvcc there: the examples (examples/*.cu) are not built")
endif()
if(NOT GPUPROF_LIBCUPTI)
  message(STATUS "CUDA: no libcupti.so.* there: gpuprof will look for one when it runs")
endif()

add_library(gpuprof_cuda_headers INTERFACE)
target_include_directories(gpuprof_cuda_headers SYSTEM INTERFACE ${GPUPROF_CUPTI_INCLUDE_DIRS})
target_compile_definitions(gpuprof_cuda_headers INTERFACE GPUPROF_HAVE_CUPTI)

# gpuprof's own libcupti is next to the collector, with the libraries that it opens by name. The big
# ones are links in the build tree.
if(GPUPROF_LIBCUPTI)
  get_filename_component(_dir ${GPUPROF_LIBCUPTI} DIRECTORY)
  get_filename_component(_name ${GPUPROF_LIBCUPTI} NAME)
  file(COPY ${GPUPROF_LIBCUPTI} DESTINATION ${PROJECT_BINARY_DIR}/${GPUPROF_LIBDIR}
       FOLLOW_SYMLINK_CHAIN)
  install(FILES ${GPUPROF_LIBCUPTI} DESTINATION ${GPUPROF_LIBDIR} COMPONENT cupti)
  # The wheels contain NVIDIA's licence; it accompanies the copy.
  file(GLOB _licence ${_licence})
  if(_licence)
    install(FILES ${_licence} DESTINATION ${GPUPROF_SHAREDIR} RENAME LICENSE.NVIDIA-CUPTI
            COMPONENT cupti)
  endif()
  foreach(_name libnvperf_host.so libnvperf_target.so libpcsamplingutil.so libcheckpoint.so)
    if(EXISTS ${_dir}/${_name})
      gpuprof_link_in_build(${_dir}/${_name} ${GPUPROF_LIBDIR}/${_name})
      get_filename_component(_real ${_dir}/${_name} REALPATH)
      install(FILES ${_real} DESTINATION ${GPUPROF_LIBDIR} RENAME ${_name} COMPONENT cupti)
    endif()
  endforeach()
endif()

# A second libcupti for machines without a driver, where versions from 13.2 on know no chips; and
# its answers as a file, for packages that have neither (scripts/metric_catalogue).
if(EXISTS ${_host}/lib/libcupti.so.13)
  foreach(_name libcupti.so.13 libnvperf_host.so)
    gpuprof_link_in_build(${_host}/lib/${_name} ${GPUPROF_LIBDIR}/host/${_name})
    install(FILES ${_host}/lib/${_name} DESTINATION ${GPUPROF_LIBDIR}/host COMPONENT cupti)
  endforeach()
  install(FILES ${_host}/License.txt DESTINATION ${GPUPROF_SHAREDIR} RENAME LICENSE.NVIDIA-CUPTI
          COMPONENT cupti)
  set(_catalogue ${PROJECT_SOURCE_DIR}/.cuda/host/metrics.catalogue)
  if(EXISTS ${_catalogue})
    gpuprof_link_in_build(${_catalogue} ${GPUPROF_LIBDIR}/metrics.catalogue)
    install(FILES ${_catalogue} DESTINATION ${GPUPROF_LIBDIR})
  endif()
else()
  message(STATUS "CUDA: no .cuda/host: metrics are listed only where there is a driver; "
                 "scripts/setup gets it")
endif()
