# The man page and the shells' completions, which gpuprof generates from its table of options.

set(_files)
function(gpuprof_command_line_file path)
  get_filename_component(_folder ${path} DIRECTORY)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/${_folder})
  add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/${path}
                     COMMAND gpuprof ${ARGN} > ${PROJECT_BINARY_DIR}/${path}
                     DEPENDS gpuprof COMMENT "Writing ${path}" VERBATIM)
  install(FILES ${PROJECT_BINARY_DIR}/${path} DESTINATION ${_folder})
  set(_files ${_files} ${PROJECT_BINARY_DIR}/${path} PARENT_SCOPE)
endfunction()

gpuprof_command_line_file(share/man/man1/gpuprof.1 man)
gpuprof_command_line_file(share/bash-completion/completions/gpuprof completion bash)
gpuprof_command_line_file(share/zsh/site-functions/_gpuprof completion zsh)
gpuprof_command_line_file(share/fish/vendor_completions.d/gpuprof.fish completion fish)
add_custom_target(gpuprof_command_line_files ALL DEPENDS ${_files})
