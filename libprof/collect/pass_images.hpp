// Counter data to which several runs of the program add their passes.
//
// Each run adds its pass, window by window, to the image that the previous run left (measured:
// CUPTI accepts the image of another process). The launches of a window must be the same ones: what
// they were is stored after the image. The previous run's file is kept, in case this run is
// repeated.
//
// One thread at a time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "libprof/wire/measures.hpp"

namespace gpuprof::collect {

class PassImages {
 public:
  // In this folder, for the context with this number (wire::CounterData::context_number).
  PassImages(std::string folder, std::uint32_t context)
      : folder_(std::move(folder)), context_(context) {}

  // For the next window: the image left by the previous pass. false: there is none.
  bool load(const wire::CollectGroup& group, std::vector<std::uint8_t>& image);
  // Identifies the launches of the window, and marks those that differed in an earlier pass.
  void compare(const wire::CollectGroup& group, std::span<const wire::MeasuredRange> rows,
               const std::vector<std::string>& names);
  bool is_other(std::size_t row) const { return prints_[row] == other_; }
  // For the next pass. false: it could not be written.
  bool save(const wire::CollectGroup& group, const std::vector<std::uint8_t>& image);
  void next_window() { ++window_; }

  std::string file(const wire::CollectGroup& group, std::uint32_t pass) const;

 private:
  static constexpr std::uint64_t other_ = 0;  // the print of a launch that differed in another pass

  const std::string folder_;
  const std::uint32_t context_;
  std::uint32_t window_ = 0;
  std::vector<std::uint64_t> prints_;  // of the window's launches
};

}  // namespace gpuprof::collect
