#include "libprof/sample/row_output.hpp"

namespace gpuprof::sample {

bool Output::flush() {
  bool sent = true;
  for (const wire::Frame& frame : rows_.take(0)) {
    sent &= channel_.send(frame.type, frame.payload()) != collect::Channel::Sent::refused;
  }
  return sent;
}

}  // namespace gpuprof::sample
