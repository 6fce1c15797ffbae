// A window of time as commands take it: --from, --to and --nvtx, each with its own help.
#pragma once

#include <string>

#include "libprof/read/window.hpp"

namespace gpuprof::app {

struct WindowWords {
  std::string from, to, nvtx;

  bool given() const { return !from.empty() || !to.empty() || !nvtx.empty(); }
  // --nvtx becomes the two others. Throws Error for what is no time, and for a window that ends
  // before it begins.
  void parse(reading::Moment& first, reading::Moment& last);
};

}  // namespace gpuprof::app
