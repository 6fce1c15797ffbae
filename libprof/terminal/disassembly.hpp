// NVIDIA's disassembler, for the assembly of cubins.
#pragma once

#include <functional>
#include <istream>
#include <string>
#include <string_view>

#include "libprof/terminal/annotate.hpp"

namespace gpuprof::terminal {

// The path of nvdisasm: `given`, or found in PATH or /usr/local/cuda. Throws gpuprof::Error that
// says where to get it.
std::string find_disassembler(const std::string& given);

// Runs nvdisasm on a cubin, in a separate process limited to 2 minutes and 512 MiB of text.
// `interrupted` is polled for whether to give up. Throws gpuprof::Error.
Assembly disassemble(const std::string& nvdisasm, std::string_view cubin,
                     const std::function<bool()>& interrupted);

// Parses nvdisasm's output.
Assembly parse_assembly(std::istream& text);

}  // namespace gpuprof::terminal
