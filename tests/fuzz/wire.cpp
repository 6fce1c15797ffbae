// The wire's decoders, frame assembly, and the queue between the launcher's threads.
//
// The first byte selects the test for the rest. What can be decoded must survive encoding
// unchanged; frames must not depend on how their bytes arrive; the queue must keep its order, and
// lose nothing while there is room.
#include <algorithm>
#include <optional>

#include "libprof/base/error.hpp"
#include "libprof/base/file_name.hpp"
#include "libprof/record/launch/frame_queue.hpp"
#include "libprof/wire/code_values.hpp"
#include "libprof/wire/measures.hpp"
#include "libprof/wire/messages.hpp"
#include "tests/fuzz/support.hpp"

namespace gpuprof::fuzz {
namespace {

using Payload = std::span<const std::byte>;

template <class Value>
std::vector<std::byte> encoded(const Value& value) {
  wire::Encoder encoder;
  encode(encoder, value);
  return encoder.take();
}

template <class Value>
void there_and_back(Payload payload, std::optional<Value> (*decode)(Payload), const char* what) {
  const std::optional<Value> value = decode(payload);
  if (!value) return;
  const std::vector<std::byte> once = encoded(*value);
  const std::optional<Value> again = decode(once);
  if (!again || encoded(*again) != once) finding(std::string(what) + " changes on its way");
}

void code_values(Payload payload, wire::CodeKind kind) {
  if (const auto values = wire::decode_code_values(kind, payload)) {
    const std::vector<std::byte> once = encoded(*values);
    if (encoded(wire::decode_code_values(kind, once).value()) != once) finding("values change");
  }
  if (const auto counters = wire::decode_code_counters(kind, payload)) {
    const std::vector<std::byte> once = encoded(*counters);
    if (encoded(wire::decode_code_counters(kind, once).value()) != once) {
      finding("counters change");
    }
  }
}

void fields(Payload payload) {
  const wire::Fields fields = wire::Decoder(payload).fields();
  for (const auto& [name, value] : fields) {
    fields.integer(name);
    if (fields.numbers(name).size() > fields.text(name).size()) finding("numbers out of nothing");
  }
  wire::Encoder encoder;
  encoder.fields(fields);
  const wire::Fields again = wire::Decoder(encoder.bytes()).fields();
  if (!std::ranges::equal(fields, again)) finding("fields change on their way");
}

void batch(Payload payload) {
  const auto batch = wire::decode_batch(payload);
  if (!batch) return;
  for (const wire::Block& block : batch->blocks) {
    const auto strings = wire::decode_strings(block);
    if (strings && strings->size() != block.rows) finding("a string block has other strings");
  }
}

// What an assembler made from some bytes.
struct Assembled {
  std::vector<wire::Frame> frames;
  bool damaged = false;
};

Assembled assembled(Payload bytes, std::size_t most_at_once) {
  Assembled result;
  wire::FrameAssembler assembler;
  while (!bytes.empty()) {
    const auto room = assembler.room();
    if (room.empty()) {
      result.damaged = true;
      break;
    }
    const std::size_t count = std::min({room.size(), bytes.size(), most_at_once});
    std::ranges::copy(bytes.first(count), room.begin());
    bytes = bytes.subspan(count);
    assembler.filled(count);
    if (assembler.complete()) result.frames.push_back(assembler.take());
  }
  return result;
}

bool same(const wire::Frame& a, const wire::Frame& b) {
  return a.type == b.type && a.stream == b.stream && std::ranges::equal(a.payload(), b.payload());
}

void assembly(Payload bytes, std::size_t most_at_once) {
  const Assembled pieces = assembled(bytes, most_at_once);
  const Assembled whole = assembled(bytes, bytes.size());
  if (!std::ranges::equal(pieces.frames, whole.frames, same) || pieces.damaged != whole.damaged) {
    finding("frames depend on how their bytes arrive");
  }
}

// Each step is a byte: push a batch or a note of that many bytes, or pop. A frame's stream is its
// sequence number.
void queue(Payload steps, bool has_disk, std::size_t memory) {
  launch::FrameQueue queue(memory, has_disk ? folder() : "/nowhere");
  std::uint32_t pushed = 0;
  std::uint32_t popped = 0;
  std::uint64_t arrived = 0;
  const auto pop = [&] {
    wire::Frame frame;
    if (!queue.pop(frame)) return false;
    if (frame.stream <= popped) finding("the queue changed the order");
    popped = frame.stream;
    ++arrived;
    return true;
  };
  std::size_t left = 300;
  while (!steps.empty() && left-- > 0) {
    const auto step = std::to_integer<unsigned>(steps[0]);
    steps = steps.subspan(1);
    if (step & 1) {
      pop();
      continue;
    }
    const auto length = std::min<std::size_t>(step << (step & 2 ? 3 : 0), steps.size());
    const auto type = step & 4 ? wire::FrameType::batch : wire::FrameType::info;
    queue.push(wire::make_frame(type, ++pushed, steps.first(length)));
    if (step & 8) steps = steps.subspan(length);
  }
  queue.close();
  while (pop()) {
  }
  if (!queue.exhausted()) finding("a closed queue that gives nothing is not exhausted");
  const auto counts = queue.counts();
  if (counts.waiting_bytes != 0) finding("an empty queue has bytes waiting");
  if (arrived < pushed && (has_disk || arrived + counts.discarded_blocks < pushed)) {
    finding("the queue lost frames");
  }
}

void file_name(std::string_view pattern) {
  if (pattern.find('\0') != pattern.npos) return;
  try {
    names_process(pattern);
    expand_name(pattern, 7);
  } catch (const Error&) {
  }
}

}  // namespace
}  // namespace gpuprof::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gpuprof;
  using namespace gpuprof::fuzz;
  if (size < 2) return 0;
  const Input input(data, size);
  const unsigned how = input[0];
  const Payload payload = fuzz::as_bytes(input.subspan(1));
  switch (how % 16) {
    case 0: there_and_back(payload, wire::decode_table, "a table"); break;
    case 1: batch(payload); break;
    case 2: there_and_back(payload, wire::decode_statistics, "a list of statistics"); break;
    case 3: there_and_back(payload, wire::decode_api_names, "a list of API names"); break;
    case 4: there_and_back(payload, wire::decode_clock, "a clock"); break;
    case 5: there_and_back(payload, wire::decode_counter_data, "counter data"); break;
    case 6: there_and_back(payload, wire::decode_metrics, "a list of metrics"); break;
    case 7: there_and_back(payload, wire::decode_collect_config, "a configuration"); break;
    case 8: (void)wire::decode_own_rows(payload); break;
    case 9: fuzz::fields(payload); break;
    case 10:
    case 11: assembly(payload, 1 + how / 16); break;
    case 12: queue(payload, how & 16, how & 32 ? 0 : how & 64 ? 1024 : 1 << 20); break;
    case 13:
      code_values(payload, how & 16 ? wire::CodeKind::pc_samples : wire::CodeKind::sass_metrics);
      break;
    case 14: there_and_back(payload, wire::decode_payload_schema, "a payload's layout"); break;
    default: file_name(as_text(input.subspan(1)));
  }
  return 0;
}
