# Toolchain of scripts/build --portable: zig's C++ compiler (clang with a static libc++, installed
# by scripts/setup --portable), which links against the glibc named by its wrapper, however new this
# machine's glibc is.
set(CMAKE_CXX_COMPILER ${CMAKE_CURRENT_LIST_DIR}/portable_c++)
set(GPUPROF_PORTABLE ON)
# The static libraries are this machine's. They must need nothing from its glibc that the older one
# lacks; scripts/check_portable reports it if they do.
set(CMAKE_LIBRARY_PATH /usr/lib/x86_64-linux-gnu /usr/lib64)
