// What a sampler sends: rows, in order, on the one channel.
//
// Any thread; one sends at a time.
#pragma once

#include <cstdint>
#include <mutex>

#include "libprof/collect/channel.hpp"
#include "libprof/wire/row_sender.hpp"

namespace gpuprof::sample {

class Output {
 public:
  explicit Output(collect::Channel& channel) : channel_(channel) {}

  // `fill` adds rows to the sender, which go out before this returns. false: the launcher is gone
  // or has stood still for long, and they are lost.
  template <class Fill>
  bool send(Fill&& fill) {
    const std::lock_guard lock(sending_);
    fill(rows_);
    return flush();
  }

 private:
  bool flush();

  collect::Channel& channel_;
  std::mutex sending_;  // guards the next
  wire::RowSender rows_;
};

}  // namespace gpuprof::sample
