// Loads a capture as a profile.
#pragma once

#include <string>
#include <utility>

#include "libprof/record/recorder.hpp"

inline void replay(const std::string& capture, const std::string& path) {
  using namespace gpuprof;
  wire::CaptureReader reader(capture);
  record::Recorder recorder(
      {.output = path, .files = {}, .loader = {.live = false}, .capture = {}});
  wire::Frame frame;
  while (reader.next(frame)) recorder.take(std::move(frame));
  recorder.finish();
}
