# Toolchain of scripts/build --portable --arch aarch64: zig's compiler for Arm, with Debian's static libraries for it and
# NVIDIA's CUPTI in .aarch64/ (scripts/setup --arch aarch64). Programs that the build runs are emulated by qemu.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
get_filename_component(GPUPROF_FOREIGN ${CMAKE_CURRENT_LIST_DIR}/../.aarch64 ABSOLUTE)
set(CMAKE_CXX_COMPILER ${CMAKE_CURRENT_LIST_DIR}/portable_c++_aarch64)
foreach(_tool AR RANLIB STRIP)
  string(TOLOWER ${_tool} _name)
  set(CMAKE_${_tool} /usr/bin/aarch64-linux-gnu-${_name})
endforeach()
set(GPUPROF_PORTABLE ON)
set(CMAKE_INCLUDE_PATH ${GPUPROF_FOREIGN}/sysroot/usr/include ${GPUPROF_FOREIGN}/sysroot/usr/include/aarch64-linux-gnu)
set(CMAKE_LIBRARY_PATH ${GPUPROF_FOREIGN}/sysroot/usr/lib/aarch64-linux-gnu)
set(CMAKE_CROSSCOMPILING_EMULATOR /usr/bin/qemu-aarch64 -L ${GPUPROF_FOREIGN}/sysroot)
