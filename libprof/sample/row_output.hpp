// The output of a sampler: rows, in order, on its one channel.
//
// Any thread; one sends at a time.
#pragma once

#include <mutex>

#include "libprof/collect/channel.hpp"
#include "libprof/wire/row_sender.hpp"

namespace gpuprof::sample {

class Output {
 public:
  explicit Output(collect::Channel& channel) : channel_(channel) {}

  // `fill` adds rows to the sender, which are sent before this returns. false: the launcher is gone
  // or has been stalled for long, and the rows are lost.
  template <class Fill>
  bool send(Fill&& fill) {
    const std::lock_guard lock(sending_);
    fill(rows_);
    return flush();
  }

 private:
  bool flush();

  collect::Channel& channel_;
  std::mutex sending_;  // guards rows_
  wire::RowSender rows_;
};

}  // namespace gpuprof::sample
