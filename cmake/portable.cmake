# Toolchain of scripts/build --portable: zig's C++ compiler (clang with a static libc++, scripts/setup
# --portable gets it), which links against the glibc that its wrapper names, however new the one of
# this machine is.
set(CMAKE_CXX_COMPILER ${CMAKE_CURRENT_LIST_DIR}/portable_c++)
set(GPUPROF_PORTABLE ON)
# The static libraries are this machine's. They need nothing of its glibc that the older one lacks:
# scripts/check_portable says so when they do.
set(CMAKE_LIBRARY_PATH /usr/lib/x86_64-linux-gnu /usr/lib64)
