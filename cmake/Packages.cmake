# Output of cpack (scripts/package): gpuprof-VERSION-linux-x86_64.tar.gz and
# gpuprof_VERSION_amd64.deb, or those of aarch64 and arm64. Neither has CUPTI, because of its licence: CUPTI is the component
# cupti, which `cmake --install` installs.

set(CPACK_GENERATOR TGZ DEB)
set(CPACK_PACKAGE_NAME gpuprof)
set(CPACK_PACKAGE_VENDOR "The authors of gpuprof")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "profiler for CUDA programs, with traces and metrics in SQLite")
set(CPACK_PACKAGE_DESCRIPTION "gpuprof ./program records what the program does on GPUs into an SQLite file.
NVIDIA's library CUPTI does the recording. It is not in this package: it comes with a CUDA toolkit
(12.6 or newer) or with pip's package nvidia-cuda-cupti; GPUPROF_CUPTI names one that is not found.")
set(CPACK_PACKAGE_FILE_NAME gpuprof-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_COMPONENTS_ALL gpuprof)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
# A top-level folder, only in the archive.
set(CPACK_PROJECT_CONFIG_FILE ${GPUPROF_GENERATED}/cpack_generator.cmake)
file(CONFIGURE OUTPUT ${CPACK_PROJECT_CONFIG_FILE} @ONLY CONTENT
     [[string(COMPARE EQUAL "${CPACK_GENERATOR}" TGZ CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY)
]])

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER ${CPACK_PACKAGE_VENDOR})
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
if(GPUPROF_FOREIGN)
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
endif()
# Only glibc is needed. Its version is known for a portable build, from scripts/check_portable.
find_program(GPUPROF_SHLIBDEPS dpkg-shlibdeps)
mark_as_advanced(GPUPROF_SHLIBDEPS)
if(GPUPROF_PORTABLE)
  set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= 2.28)")
elseif(GPUPROF_SHLIBDEPS)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
else()
  set(CPACK_DEBIAN_PACKAGE_DEPENDS libc6)
endif()
set(CPACK_DEBIAN_PACKAGE_SUGGESTS python3)
string(REPLACE . - _version ${GPUPROF_CUDA_VERSION})
string(PREPEND CPACK_DEBIAN_PACKAGE_SUGGESTS "cuda-cupti-${_version}, ")  # NVIDIA's name for it

# Licences of the linked libraries, as in Debian's packages.
foreach(_package libsqlite3-dev libpcre2-dev libiberty-dev zlib1g-dev libcli11-dev nlohmann-json3-dev)
  if(EXISTS /usr/share/doc/${_package}/copyright)
    install(FILES /usr/share/doc/${_package}/copyright DESTINATION ${GPUPROF_SHAREDIR}/licenses
            RENAME ${_package})
  endif()
endforeach()
if(GPUPROF_PORTABLE)
  foreach(_library libcxx libcxxabi libunwind)
    set(_licence ${PROJECT_SOURCE_DIR}/.zig/lib/${_library}/LICENSE.TXT)
    if(EXISTS ${_licence})
      install(FILES ${_licence} DESTINATION ${GPUPROF_SHAREDIR}/licenses RENAME ${_library})
    endif()
  endforeach()
endif()
# Where Debian looks.
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION share/doc/gpuprof RENAME copyright)

include(CPack)
