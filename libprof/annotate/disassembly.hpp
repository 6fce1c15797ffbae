// NVIDIA's disassembler, for the assembly of cubins.
#pragma once

#include <functional>
#include <istream>
#include <string>
#include <string_view>

#include "libprof/annotate/annotate.hpp"

namespace gpuprof::annotate {

// A path of nvdisasm: `given`, or the one in PATH, or that of /usr/local/cuda. Throws
// gpuprof::Error that says where to get it.
std::string find_disassembler(const std::string& given);

// What nvdisasm makes of a cubin, in a process of its own that gets 2 minutes and 512 MiB of text.
// `interrupted` is asked now and then whether to give up. Throws gpuprof::Error.
Assembly disassemble(const std::string& nvdisasm, std::string_view cubin,
                     const std::function<bool()>& interrupted);

// Reads nvdisasm's text.
Assembly parse_assembly(std::istream& text);

}  // namespace gpuprof::annotate
