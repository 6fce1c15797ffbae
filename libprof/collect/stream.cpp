#include "libprof/collect/stream.hpp"

#include <utility>

#include "libprof/base/clock.hpp"
#include "libprof/collect/process_facts.hpp"

namespace gpuprof::collect {
namespace {

// The launcher answers within microseconds. If it is stalled, the target must not be.
constexpr int answer_patience_ms = 1000;

// The config that the launcher has left for all collectors, next to its socket.
std::optional<wire::Fields> written_config(const std::string& socket_path) {
  const std::string folder = socket_path.substr(0, socket_path.rfind('/') + 1);
  const std::string text = file_text((folder + std::string(wire::config_file)).c_str());
  wire::Decoder decoder(std::as_bytes(std::span(text)));
  wire::Fields config = decoder.fields();
  if (text.empty() || !decoder.ok()) return std::nullopt;
  return config;
}

}  // namespace

template <class Message>
bool Stream::send(wire::FrameType type, const Message& message) {
  wire::Encoder encoder;
  wire::encode(encoder, message);
  return channel_.send(type, encoder) == Channel::Sent::whole;
}

std::optional<wire::Fields> Stream::greet(const wire::Fields& facts,
                                          const std::string& socket_path) {
  if (!channel_.connect(socket_path.c_str())) return std::nullopt;
  answer_is_due_ = false;
  last_statistics_.clear();
  wire::Encoder hello;
  hello.integer(wire::version).fields(facts);
  std::optional<wire::Fields> config;
  wire::Frame frame;
  if (channel_.send(wire::FrameType::hello, hello) == Channel::Sent::refused) return std::nullopt;
  if (channel_.receive(frame, answer_patience_ms)) {
    if (frame.type == wire::FrameType::config) config = wire::Decoder(frame.payload()).fields();
  } else if (channel_.alive()) {
    config = written_config(socket_path);
    answer_is_due_ = true;
  }
  if (!config) channel_.shut();
  return config;
}

std::optional<wire::Fields> Stream::late_answer(const wire::Frame& frame) {
  if (frame.type != wire::FrameType::config || !std::exchange(answer_is_due_, false)) {
    return std::nullopt;
  }
  return wire::Decoder(frame.payload()).fields();
}

void Stream::tell(std::string_view what, std::string_view text) {
  wire::Fields fields;
  fields.set(what, text);
  send_info(std::move(fields));
}

void Stream::explain(schema::StatisticName statistic, std::string_view why) {
  wire::Fields fields;
  fields.set("lost", why);
  fields.set("statistic", statistic);
  send_info(std::move(fields));
}

void Stream::send_info(wire::Fields fields) {
  fields.set("time", clock_ns(CLOCK_REALTIME));
  wire::Encoder info;
  info.fields(fields);
  channel_.send(wire::FrameType::info, info);
}

bool Stream::define(std::span<const wire::WireTable> tables) {
  bool whole = true;
  for (const wire::WireTable& table : tables) whole &= send(wire::FrameType::table, table);
  return whole;
}

void Stream::name_functions(std::span<const wire::ApiName> names) {
  send(wire::FrameType::api_names, names);
}

void Stream::hand_over_arena(std::uint32_t slots, std::size_t slot_bytes, int file) {
  wire::Fields fields;
  fields.set("slots", std::int64_t{slots});
  fields.set("slot_bytes", static_cast<std::int64_t>(slot_bytes));
  wire::Encoder arena;
  arena.fields(fields);
  channel_.send_with_file(wire::FrameType::arena, arena, file);
}

void Stream::describe(const wire::PayloadSchema& payloads) {
  send(wire::FrameType::payload_schema, payloads);
}

void Stream::clock(wire::Clock::Moment moment, decltype(&::cuptiGetTimestamp) cupti_now) {
  // Of several readings, use the fastest: nothing else ran between its clocks.
  constexpr int readings = 4;
  wire::Clock best;
  std::int64_t best_took = 0;
  for (int i = 0; i < readings; ++i) {
    wire::Clock clock{.moment = moment};
    clock.monotonic_raw = clock_ns(CLOCK_MONOTONIC_RAW);
    std::uint64_t now = 0;
    if (cupti_now) cupti_now(&now);
    clock.cupti = static_cast<std::int64_t>(now);
    clock.realtime = clock_ns(CLOCK_REALTIME);
    clock.monotonic = clock_ns(CLOCK_MONOTONIC);
    clock.ticks = processor_ticks();
    const std::int64_t took = clock_ns(CLOCK_MONOTONIC_RAW) - clock.monotonic_raw;
    if (i > 0 && took >= best_took) continue;
    best = clock;
    best_took = took;
  }
  best.realtime_error = realtime_error_ns();
  send(wire::FrameType::clock, best);
}

void Stream::statistics(bool last, const std::function<std::vector<wire::Statistic>()>& read) {
  const std::lock_guard once(statistics_);
  if (channel_.stalled() && !last) return;
  wire::Encoder encoder;
  wire::encode(encoder, read());
  const auto bytes = encoder.bytes();
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text == last_statistics_) return;
  last_statistics_ = std::move(text);
  channel_.send(wire::FrameType::statistics, encoder);
}

void Stream::goodbye() { channel_.send(wire::FrameType::goodbye, wire::Encoder()); }

}  // namespace gpuprof::collect
