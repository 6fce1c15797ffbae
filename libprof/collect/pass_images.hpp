// Counter data that several runs of the program add their passes to.
//
// A run adds its pass to the image that the one before it left, window by window (measured: CUPTI
// takes the image of another process). The launches of a window must be the same ones: behind the
// image lies what they were. The run before is left as it was, in case that this one is made again.
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
  // In this folder, of the context with this number (wire::CounterData::context_number).
  PassImages(std::string folder, std::uint32_t context)
      : folder_(std::move(folder)), context_(context) {}

  // Of the window that comes next: the image that the pass before left. false: there is none.
  bool load(const wire::CollectGroup& group, std::vector<std::uint8_t>& image);
  // What the launches of the window are, and which of them were others in an earlier pass.
  void compare(const wire::CollectGroup& group, std::span<const wire::MeasuredRange> rows,
               const std::vector<std::string>& names);
  bool is_other(std::size_t row) const { return prints_[row] == other_; }
  // For the next pass. false: it could not be written.
  bool save(const wire::CollectGroup& group, const std::vector<std::uint8_t>& image);
  void next_window() { ++window_; }

  std::string file(const wire::CollectGroup& group, std::uint32_t pass) const;

 private:
  static constexpr std::uint64_t other_ = 0;  // the print of one that was another in another pass

  const std::string folder_;
  const std::uint32_t context_;
  std::uint32_t window_ = 0;
  std::vector<std::uint64_t> prints_;  // of the window's launches
};

}  // namespace gpuprof::collect
