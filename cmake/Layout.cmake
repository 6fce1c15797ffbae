# The build tree has the layout of the installed tree, so that in both gpuprof finds its parts
# relative to its own path:
#   bin/gpuprof   lib/gpuprof/{libgpuprof_collector.so,gpuprof-salvage,libcupti.so.*}
#   lib/gpuprof/host/{libcupti.so.13,libnvperf_host.so}   for machines without a driver
#   share/gpuprof/{LICENSE,docs,examples}

set(GPUPROF_LIBDIR lib/gpuprof)
set(GPUPROF_SHAREDIR share/gpuprof)
set(GPUPROF_GENERATED ${PROJECT_BINARY_DIR}/generated)

file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/bin ${PROJECT_BINARY_DIR}/${GPUPROF_LIBDIR}
     ${PROJECT_BINARY_DIR}/${GPUPROF_SHAREDIR} ${GPUPROF_GENERATED})

# A link in the build tree; the installed tree gets the file itself.
function(gpuprof_link_in_build source link)
  get_filename_component(_dir ${PROJECT_BINARY_DIR}/${link} DIRECTORY)
  file(MAKE_DIRECTORY ${_dir})
  file(CREATE_LINK ${source} ${PROJECT_BINARY_DIR}/${link} SYMBOLIC)
endfunction()

gpuprof_link_in_build(${PROJECT_SOURCE_DIR}/LICENSE ${GPUPROF_SHAREDIR}/LICENSE)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${GPUPROF_SHAREDIR})
