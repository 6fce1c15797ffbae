// Kernels as text, as Markdown and as JSON.
#pragma once

#include <string>

#include "libprof/conclude/kernels/kernels.hpp"

namespace gpuprof::kernels {

// Lines have at most 100 characters where words allow it.
std::string kernels_text(const Kernels& kernels);
std::string kernels_markdown(const Kernels& kernels);
// docs/json.md describes it.
std::string kernels_json(const Kernels& kernels);

}  // namespace gpuprof::kernels
