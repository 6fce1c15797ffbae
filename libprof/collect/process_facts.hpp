// What a process reports about itself in its hello.
#pragma once

#include <string>

#include "libprof/wire/codec.hpp"

namespace gpuprof::collect {

wire::Fields process_facts();

// The library that an environment variable names, if it is another one than this; otherwise empty.
std::string injection_besides_us(const char* variable);

// The whole content of a file; empty if it cannot be read.
std::string file_text(const char* path);

}  // namespace gpuprof::collect
