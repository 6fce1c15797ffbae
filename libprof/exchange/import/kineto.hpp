// A trace of PyTorch's profiler (Kineto), or one in that format from gpuprof export.
#pragma once

#include "libprof/exchange/import/import.hpp"

namespace gpuprof::importing {

NotImported import_kineto(const Job& job);

}  // namespace gpuprof::importing
