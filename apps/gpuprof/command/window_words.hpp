// The options for a time window: --from, --to and --nvtx. Each command has its own help for them.
#pragma once

#include <string>
#include <string_view>

#include "apps/gpuprof/command/grammar.hpp"
#include "libprof/read/window.hpp"

namespace gpuprof::app {

struct WindowWords {
  std::string from, to, nvtx;

  // Accepts the three options, with help for --from and --to; both texts must live forever.
  void take(Grammar& grammar, std::string_view from_help, std::string_view to_help);
  bool given() const { return !from.empty() || !to.empty() || !nvtx.empty(); }
  // Resolves --nvtx to the other two. Throws Error for an invalid time, or a window that ends
  // before it begins.
  void parse(reading::Moment& first, reading::Moment& last);
};

}  // namespace gpuprof::app
