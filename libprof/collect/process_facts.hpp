// What a process says of itself in its hello.
#pragma once

#include <string>

#include "libprof/wire/codec.hpp"

namespace gpuprof::collect {

wire::Fields process_facts();

// All that is in a file; empty where it cannot be read.
std::string file_text(const char* path);

}  // namespace gpuprof::collect
