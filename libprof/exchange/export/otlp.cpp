#include "libprof/exchange/export/otlp.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "libprof/base/saturating.hpp"
#include "libprof/base/utf8.hpp"
#include "libprof/exchange/export/format.hpp"
#include "libprof/exchange/export/protobuf.hpp"
#include "libprof/read/clocks.hpp"
#include "libprof/read/window.hpp"

namespace gpuprof::exporting {
namespace {

// From OpenTelemetry's profiles.proto (v1development, 1.45), with the numbers of its fields.
namespace otlp {
constexpr std::uint32_t resource_profiles = 1, dictionary = 2;
constexpr std::uint32_t scope_profiles = 2, scope = 1, profiles = 2, scope_name = 1;
namespace profile {
constexpr std::uint32_t sample_type = 1, samples = 2, time = 3, duration = 4, attribute = 11;
}
namespace value_type {
constexpr std::uint32_t type = 1, unit = 2;
}
namespace sample {
constexpr std::uint32_t stack = 1, attribute = 2, value = 4;
}
namespace table {
constexpr std::uint32_t mapping = 1, location = 2, function = 3, string = 5, attribute = 6,
                        stack = 7;
}
namespace location {
constexpr std::uint32_t line = 3, attribute = 4, line_function = 1, line_number = 2;
}
namespace function {
constexpr std::uint32_t name = 1, file = 3;
}
namespace attribute {
constexpr std::uint32_t key = 1, value = 2, text = 1, number = 3;
}
constexpr std::uint32_t stack_location = 1;
constexpr std::string_view name_of_scope = "gpuprof";
}  // namespace otlp

// Devices with a sample of their own for what is left out; a host has fewer.
constexpr std::size_t most_rests = 64;

Message text_value(const std::string& value) {
  return Message().text(otlp::attribute::text, valid_utf8(value));
}
Message number_value(std::int64_t value) {
  return Message().number(otlp::attribute::number, value);
}

// The tables of a message: each entry is once in it. The first of each is for what is not set.
class Dictionary {
 public:
  Dictionary() {
    for (std::uint32_t table = otlp::table::mapping; table <= otlp::table::stack; ++table) {
      if (table != otlp::table::string) message_.message(table, Message());
    }
    string("");
  }

  const Message& message() const { return message_; }
  std::size_t size() const { return message_.bytes().size(); }

  std::int64_t string(const std::string& value) {
    const auto [number, is_new] = numbered(strings_, value);
    if (is_new) message_.text(otlp::table::string, valid_utf8(value));
    return number - 1;  // the empty one is among them
  }
  std::int64_t attribute(const char* key, const Message& value) {
    const auto [number, is_new] =
        numbered(attributes_, std::pair(std::string(key), std::string(value.bytes())));
    if (is_new) {
      message_.message(otlp::table::attribute, Message()
                                                   .number(otlp::attribute::key, string(key))
                                                   .message(otlp::attribute::value, value));
    }
    return number;
  }
  std::int64_t stack(const std::vector<StackFrame>& frames) {
    Message stack;  // innermost first
    for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
      stack.number(otlp::stack_location, location(*frame));
    }
    const auto [number, is_new] = numbered(stacks_, std::string(stack.bytes()));
    if (is_new) message_.message(otlp::table::stack, stack);
    return number;
  }

 private:
  // The number of an entry in its table; tells whether it is new there.
  template <class Numbers, class Key>
  static std::pair<std::int64_t, bool> numbered(Numbers& numbers, Key&& key) {
    const auto next = static_cast<std::int64_t>(numbers.size()) + 1;
    const auto [place, is_new] = numbers.try_emplace(std::forward<Key>(key), next);
    return {place->second, is_new};
  }
  std::int64_t function(const StackFrame& frame) {
    const auto [number, is_new] = numbered(functions_, std::pair(frame.name, frame.file));
    if (is_new) {
      const std::int64_t name = string(frame.name), file = string(frame.file);
      message_.message(
          otlp::table::function,
          Message().number(otlp::function::name, name).number(otlp::function::file, file));
    }
    return number;
  }
  std::int64_t location(const StackFrame& frame) {
    const auto [number, is_new] = numbered(locations_, frame);
    if (!is_new) return number;
    Message place;
    place.message(otlp::location::line,
                  Message()
                      .number(otlp::location::line_function, function(frame))
                      .number(otlp::location::line_number, std::max<std::int64_t>(frame.line, 0)));
    constexpr std::array<const char*, 4> types{nullptr, "cpython", "native", "cuda"};
    if (const char* const type = types[static_cast<std::size_t>(frame.kind)]) {
      place.number(otlp::location::attribute, attribute("profile.frame.type", text_value(type)));
    }
    message_.message(otlp::table::location, place);
    return number;
  }

  Message message_;
  std::map<std::string, std::int64_t> strings_, stacks_;  // stacks by their bytes
  std::map<std::pair<std::string, std::string>, std::int64_t> functions_, attributes_;
  std::map<StackFrame, std::int64_t> locations_;
};

// Bytes that a stack adds at most, if nothing of it is in the dictionary yet.
std::size_t size_of(const std::vector<StackFrame>& frames) {
  constexpr std::size_t of_a_frame = 96, of_a_sample = 256;  // numbers, lengths and attributes
  std::size_t size = of_a_sample;
  for (const StackFrame& frame : frames) {
    size += of_a_frame + valid_utf8(frame.name).size() + valid_utf8(frame.file).size();
  }
  return size;
}

class OtlpMessage {
 public:
  OtlpMessage(WorkStacks& work, const OtlpLimits& limits) : work_(work), limits_(limits) {}

  std::string bytes() {
    Message times = profile("gpu_time", "nanoseconds"), counts = profile("gpu_work", "count");
    add_samples(times, counts);
    if (left_out_ > 0) {
      const std::int64_t number =
          dictionary_.attribute("gpuprof.stacks.left_out", number_value(left_out_));
      for (Message* each : {&times, &counts}) each->number(otlp::profile::attribute, number);
    }
    Message scope;
    scope.message(otlp::scope, scope_message())
        .message(otlp::profiles, times)
        .message(otlp::profiles, counts);
    Message whole;
    whole.message(otlp::resource_profiles, Message().message(otlp::scope_profiles, scope))
        .message(otlp::dictionary, dictionary_.message());
    return std::string(whole.bytes());
  }

  static Message scope_message() { return Message().text(otlp::scope_name, otlp::name_of_scope); }

 private:
  struct Row {
    const WorkStacks::Stream* stream;
    const WorkStacks::Stack* stack;
    WorkStacks::Sum sum;
  };

  void add_samples(Message& times, Message& counts) {
    std::vector<Row> rows;
    for (const auto& [stream, stacks] : work_.sums()) {
      for (const auto& [stack, sum] : stacks) rows.push_back({&stream, &stack, sum});
    }
    const bool limited = limits_.stacks > 0 || limits_.bytes > 0;
    if (limited) {
      std::ranges::stable_sort(rows, std::greater(), [](const Row& row) { return row.sum.time; });
    }
    std::map<std::optional<std::int64_t>, WorkStacks::Sum> others;  // by device
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Row& row = rows[i];
      const std::vector<StackFrame> frames = work_.frames_of(*row.stack);
      const std::size_t size = dictionary_.size() + times.bytes().size() + counts.bytes().size();
      if ((limits_.stacks > 0 && i - static_cast<std::size_t>(left_out_) >= limits_.stacks) ||
          (limits_.bytes > 0 && size + size_of(frames) > limits_.bytes)) {
        leave_out(row, others);
        continue;
      }
      Message place;
      place.number(otlp::sample::stack, dictionary_.stack(frames)).append(attributes(*row.stream));
      add(times, counts, place, row.sum);
    }
    for (const auto& [device, sum] : others) {
      Message place;
      place.number(otlp::sample::stack, dictionary_.stack({{.name = "(others)"}}));
      if (device) place.append(attribute("cuda.device", text_value(WorkStacks::device({*device}))));
      add(times, counts, place, sum);
    }
  }

  void leave_out(const Row& row, std::map<std::optional<std::int64_t>, WorkStacks::Sum>& others) {
    ++left_out_;
    std::optional<std::int64_t> device = (*row.stream)[0];
    if (!others.contains(device) && others.size() >= most_rests) device.reset();
    WorkStacks::Sum& sum = others[device];
    sum.time = saturating_add(sum.time, row.sum.time);
    sum.count += row.sum.count;
  }

  static void add(Message& times, Message& counts, const Message& place,
                  const WorkStacks::Sum& sum) {
    const auto with = [&](std::int64_t value) {
      return Message().append(place).number(otlp::sample::value, value);
    };
    times.message(otlp::profile::samples, with(sum.time));
    counts.message(otlp::profile::samples, with(sum.count));
  }

  Message attribute(const char* key, const Message& value) {
    return Message().number(otlp::sample::attribute, dictionary_.attribute(key, value));
  }
  Message attributes(const WorkStacks::Stream& stream) {
    Message all = attribute("cuda.device", text_value(WorkStacks::device(stream)));
    all.append(attribute("cuda.stream", text_value(work_.stream_name(stream))));
    if (stream[1]) all.append(attribute("process.pid", number_value(stream[1])));
    return all;
  }

  // Without its samples.
  Message profile(const char* type, const char* unit) {
    Message profile;
    profile.message(otlp::profile::sample_type,
                    Message()
                        .number(otlp::value_type::type, dictionary_.string(type))
                        .number(otlp::value_type::unit, dictionary_.string(unit)));
    store::Database& database = work_.profile().database();
    const reading::Window& window = work_.profile().window();
    const auto moment = [&](const std::optional<std::int64_t>& cupti, const char* of_run) {
      const auto known = cupti ? reading::time_of_day(database, *cupti) : std::nullopt;
      if (known || !database.has_column("RUN", "value")) return known;
      return database.integer("SELECT value FROM main.RUN WHERE key = '" + std::string(of_run) +
                              "'");
    };
    const auto begin = moment(window.from, "t0_realtime_ns"),
               end = moment(window.to, "t1_realtime_ns");
    if (begin) profile.fixed64(otlp::profile::time, static_cast<std::uint64_t>(*begin));
    // The two clocks drift apart, so the window's own length is not the same on both.
    const auto length = window.from && window.to
                            ? std::optional(saturating_subtract(*window.to, *window.from))
                        : begin && end ? std::optional(saturating_subtract(*end, *begin))
                                       : std::nullopt;
    if (length && *length >= 0) profile.number(otlp::profile::duration, *length);
    for (const auto& [key, time] : {std::pair("gpuprof.window.start_ns", window.from),
                                    std::pair("gpuprof.window.end_ns", window.to)}) {
      if (!time) continue;
      profile.number(otlp::profile::attribute, dictionary_.attribute(key, number_value(*time)));
    }
    return profile;
  }

  WorkStacks& work_;
  const OtlpLimits limits_;
  Dictionary dictionary_;
  std::int64_t left_out_ = 0;  // stacks
};

class OtlpWriter : public FormatWriter {
 public:
  OtlpWriter(TextFile& file, reading::Profile& profile) : file_(file), work_(profile) {}

  void add(const Activity& activity) override { work_.add(activity); }
  void finish() override { file_ << otlp_message(work_, {}); }

  // Its scope comes first, after three lengths.
  static bool is_one(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::array<char, 40> begin{};
    file.read(begin.data(), begin.size());
    const std::string_view bytes(begin.data(), static_cast<std::size_t>(file.gcount()));
    const Message scope = Message().message(otlp::scope, OtlpMessage::scope_message());
    return bytes.starts_with(beginning) && bytes.find(scope.bytes()) != bytes.npos;
  }
  static constexpr std::string_view beginning = "\n";

 private:
  TextFile& file_;
  WorkStacks work_;
};

}  // namespace

std::string otlp_message(WorkStacks& work, const OtlpLimits& limits) {
  return OtlpMessage(work, limits).bytes();
}

std::string otlp_of_window(store::Database& database, std::int64_t from, std::int64_t to,
                           const OtlpLimits& limits, const std::function<void()>& check) {
  reading::Profile profile(database, {.window = reading::Window{from, to}},
                           reading::NameStyle::modern, [&](std::string_view) { check(); });
  WorkStacks work(profile);
  Texts texts;
  visit_gpu_work(profile, texts, [&](const Activity& activity) { work.add(activity); });
  return otlp_message(work, limits);
}

extern const FileFormat otlp_format{
    .name = "otlp",
    .ending = ".otlp",
    .begins = OtlpWriter::beginning,
    .is_one = OtlpWriter::is_one,
    .help = "the same with types of frames (cpython, native, cuda), as OpenTelemetry's profiles",
    .make = [](TextFile& file, reading::Profile& profile) -> std::unique_ptr<FormatWriter> {
      return std::make_unique<OtlpWriter>(file, profile);
    },
};

}  // namespace gpuprof::exporting
