// A window of time as commands take it: --from, --to and --nvtx, each with its own help.
#pragma once

#include <string>
#include <string_view>

#include "apps/gpuprof/command/grammar.hpp"
#include "libprof/read/window.hpp"

namespace gpuprof::app {

struct WindowWords {
  std::string from, to, nvtx;

  // The three options, with what --from and --to are for; both texts live for ever.
  void take(Grammar& grammar, std::string_view from_help, std::string_view to_help);
  bool given() const { return !from.empty() || !to.empty() || !nvtx.empty(); }
  // --nvtx becomes the two others. Throws Error for what is no time, and for a window that ends
  // before it begins.
  void parse(reading::Moment& first, reading::Moment& last);
};

}  // namespace gpuprof::app
