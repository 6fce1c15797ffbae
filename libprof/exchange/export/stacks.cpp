// Time of GPU work by device, stream, and the functions that asked for it or NVTX ranges: folded
// stacks, speedscope, pprof and OpenTelemetry's profiles.
#include <zlib.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <utility>

#include "libprof/base/json_text.hpp"
#include "libprof/base/printable.hpp"
#include "libprof/base/saturating.hpp"
#include "libprof/base/utf8.hpp"
#include "libprof/exchange/export/code_stacks.hpp"
#include "libprof/exchange/export/format.hpp"
#include "libprof/exchange/export/protobuf.hpp"

namespace gpuprof::exporting {
namespace {

constexpr std::string_view between_ranges = " / ";

// From the outermost range to the innermost.
std::vector<StackFrame> ranges_of(std::string_view path) {
  std::vector<StackFrame> frames;
  while (!path.empty()) {
    const std::size_t end = path.find(between_ranges);
    frames.push_back({std::string(path.substr(0, end))});
    path = end == std::string_view::npos ? "" : path.substr(end + between_ranges.size());
  }
  return frames;
}

// Sums by stream and stack: the functions that asked for work, or without these NVTX ranges.
// Memory: the distinct stacks, and CodeStacks.
class StackWriter : public FormatWriter {
 public:
  StackWriter(TextFile& file, reading::Profile& profile)
      : file_(file), profile_(profile), code_(profile) {}

  void add(const Activity& activity) override {
    if (activity.group != Activity::Group::gpu) return;
    const std::uint32_t code =
        code_.stack_of(activity.process, activity.node, activity.correlation);
    Sum& sum = sums_[{activity.device, activity.process, activity.context, activity.stream}][{
        code, code == 0 ? std::string(activity.path) : std::string(), std::string(activity.name)}];
    sum.time = saturating_add(sum.time, activity.duration());
    ++sum.count;
  }

 protected:
  using Stream = std::array<std::int64_t, 4>;  // device, process, context, stream
  struct Sum {
    std::int64_t time = 0, count = 0;
  };
  struct Stack {
    std::uint32_t code = 0;  // of CodeStacks; 0: none
    std::string path, work;
    auto operator<=>(const Stack&) const = default;
  };
  using Stacks = std::map<Stack, Sum>;

  // Outermost first, and last the work itself.
  std::vector<StackFrame> frames_of(const Stack& stack) const {
    const auto code = code_.frames(stack.code);
    std::vector<StackFrame> frames(code.begin(), code.end());
    if (stack.code == 0) frames = ranges_of(stack.path);
    frames.push_back({.name = stack.work, .kind = StackFrame::Kind::work});
    return frames;
  }

  std::string device(const Stream& stream) { return "GPU " + std::to_string(stream[0]); }
  std::string stream_name(const Stream& stream) {
    return "stream " + profile_.names().stream(stream[0], stream[2], stream[3]);
  }

  TextFile& file_;
  reading::Profile& profile_;
  const CodeStacks code_;
  std::map<Stream, Stacks> sums_;
};

class FoldedWriter : public StackWriter {
 public:
  using StackWriter::StackWriter;

  void finish() override {
    std::map<std::string, std::int64_t> lines;
    for (const auto& [stream, stacks] : sums_) {
      for (const auto& [stack, sum] : stacks) {
        std::string line = device(stream);
        for (const StackFrame& frame : frames_of(stack)) {
          line += ';';
          const std::size_t begin = line.size();
          const bool placed = !frame.file.empty() && frame.line > 0;
          append_printable(line, placed ? compute::line_words({frame.file, frame.name, frame.line})
                                        : frame.name);
          std::replace(line.begin() + static_cast<std::ptrdiff_t>(begin), line.end(), ';', ':');
        }
        std::int64_t& total = lines[line];
        total = saturating_add(total, sum.time);
      }
    }
    for (const auto& [line, sum] : lines) file_ << line << " " << sum << "\n";
  }
};

class SpeedscopeWriter : public StackWriter {
 public:
  using StackWriter::StackWriter;

  void finish() override {
    std::map<StackFrame, std::size_t> numbers;
    std::vector<const StackFrame*> all;
    const auto number = [&](const StackFrame& frame) {
      const auto [place, is_new] = numbers.try_emplace(frame, all.size());
      if (is_new) all.push_back(&place->first);
      return place->second;
    };
    for (const auto& [stream, stacks] : sums_) {
      for (const auto& [stack, sum] : stacks) {
        for (const StackFrame& frame : frames_of(stack)) number(frame);
      }
    }
    file_ << beginning << "\"name\":\"GPU work\",\"activeProfileIndex\":0,\"shared\":{\"frames\":[";
    for (std::size_t i = 0; i < all.size(); ++i) {
      const StackFrame& frame = *all[i];
      file_ << (i ? "," : "") << "\n{\"name\":" << json_string(frame.name);
      if (!frame.file.empty()) file_ << ",\"file\":" << json_string(frame.file);
      if (frame.line > 0) file_ << ",\"line\":" << frame.line;
      file_ << "}";
    }
    file_ << "]},\"profiles\":[";
    bool first = true;
    for (const auto& [stream, stacks] : sums_) {
      std::int64_t total = 0;
      for (const auto& [stack, sum] : stacks) total = saturating_add(total, sum.time);
      std::string title = device(stream) + ", " + stream_name(stream);
      if (stream[1]) title += ", " + profile_.names().process(stream[1]);
      file_ << (first ? "" : ",") << "\n{\"type\":\"sampled\",\"name\":" << json_string(title)
            << ",\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":" << total
            << ",\"samples\":[";
      first = false;
      bool first_stack = true;
      for (const auto& [stack, sum] : stacks) {
        file_ << (first_stack ? "[" : ",[");
        first_stack = false;
        bool outermost = true;
        for (const StackFrame& frame : frames_of(stack)) {
          file_ << (outermost ? "" : ",") << number(frame);
          outermost = false;
        }
        file_ << "]";
      }
      file_ << "],\"weights\":[";
      first_stack = true;
      for (const auto& [stack, sum] : stacks) {
        file_ << (first_stack ? "" : ",") << sum.time;
        first_stack = false;
      }
      file_ << "]}";
    }
    file_ << "]}\n";
  }

  static constexpr std::string_view beginning =
      "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
      "\"exporter\":\"gpuprof\",";
};

// From google/pprof's profile.proto.
namespace pprof {
constexpr std::uint32_t sample_type = 1, sample = 2, location = 4, function = 5, string = 6,
                        default_sample_type = 14;
namespace value_type {
constexpr std::uint32_t type = 1, unit = 2;
}
namespace sample_field {
constexpr std::uint32_t location = 1, value = 2, label = 3;
}
namespace label_field {
constexpr std::uint32_t key = 1, text = 2;
}
namespace location_field {
constexpr std::uint32_t id = 1, line = 4, line_function = 1, line_number = 2;
}
namespace function_field {
constexpr std::uint32_t id = 1, name = 2, system_name = 3, file = 4;
}
}  // namespace pprof

class PprofWriter : public StackWriter {
 public:
  using StackWriter::StackWriter;

  void finish() override {
    string("");
    const auto type = [&](const char* name, const char* unit) {
      profile_file_.message(pprof::sample_type, Message()
                                                    .number(pprof::value_type::type, string(name))
                                                    .number(pprof::value_type::unit, string(unit)));
    };
    type("gpu_work", "count");
    type("gpu_time", "nanoseconds");
    for (const auto& [stream, stacks] : sums_) {
      Message labels;
      const auto label = [&](const char* key, const std::string& value) {
        labels.message(pprof::sample_field::label,
                       Message()
                           .number(pprof::label_field::key, string(key))
                           .number(pprof::label_field::text, string(value)));
      };
      label("device", device(stream));
      label("stream", stream_name(stream));
      if (stream[1]) label("process", profile_.names().process(stream[1]));
      for (const auto& [stack, sum] : stacks) {
        std::vector<StackFrame> frames = frames_of(stack);
        Message sample;
        for (; !frames.empty(); frames.pop_back()) {  // innermost first
          sample.number(pprof::sample_field::location, location(frames.back()));
        }
        sample.number(pprof::sample_field::value, sum.count)
            .number(pprof::sample_field::value, sum.time);
        profile_file_.text(pprof::sample, std::string(sample.bytes()).append(labels.bytes()));
      }
    }
    profile_file_.number(pprof::default_sample_type, string("gpu_time"));
    write_gzip();
  }

  // RFC 1952: with a comment, by which files are recognized.
  static constexpr std::string_view beginning{"\x1f\x8b\x08\x10\0\0\0\0\0\xffgpuprof pprof\0", 24};

 private:
  std::int64_t string(const std::string& text) {
    const auto [place, is_new] =
        strings_.try_emplace(text, static_cast<std::int64_t>(strings_.size()));
    if (is_new) profile_file_.text(pprof::string, valid_utf8(text));
    return place->second;
  }
  std::int64_t function(const StackFrame& frame) {
    const auto [place, is_new] = functions_.try_emplace(
        {frame.name, frame.file}, static_cast<std::int64_t>(functions_.size()) + 1);
    if (is_new) {
      const std::int64_t name = string(frame.name);
      profile_file_.message(pprof::function,
                            Message()
                                .number(pprof::function_field::id, place->second)
                                .number(pprof::function_field::name, name)
                                .number(pprof::function_field::system_name, name)
                                .number(pprof::function_field::file, string(frame.file)));
    }
    return place->second;
  }
  std::int64_t location(const StackFrame& frame) {
    const auto [place, is_new] =
        locations_.try_emplace(frame, static_cast<std::int64_t>(locations_.size()) + 1);
    if (is_new) {
      profile_file_.message(
          pprof::location,
          Message()
              .number(pprof::location_field::id, place->second)
              .message(pprof::location_field::line,
                       Message()
                           .number(pprof::location_field::line_function, function(frame))
                           .number(pprof::location_field::line_number,
                                   std::max<std::int64_t>(frame.line, 0))));
    }
    return place->second;
  }

  // Stacks are few, so their blocks are stored uncompressed.
  void write_gzip() {
    const std::string_view bytes = profile_file_.bytes();
    const auto little = [&](std::uint32_t value, int size) {
      for (; size > 0; --size, value >>= 8) {
        const char byte = static_cast<char>(value & 0xff);
        file_ << std::string_view(&byte, 1);
      }
    };
    constexpr std::size_t most_stored = 65535;
    file_ << beginning;
    for (std::size_t at = 0; at < bytes.size(); at += most_stored) {
      const std::string_view block = bytes.substr(at, most_stored);
      little(at + most_stored >= bytes.size() ? 1 : 0, 1);  // the last one
      const auto size = static_cast<std::uint32_t>(block.size());
      little(size, 2);
      little(~size, 2);
      file_ << block;
    }
    const auto* data = reinterpret_cast<const Bytef*>(bytes.data());
    little(static_cast<std::uint32_t>(crc32_z(0, data, bytes.size())), 4);
    little(static_cast<std::uint32_t>(bytes.size()), 4);
  }

  Message profile_file_;
  std::map<std::string, std::int64_t> strings_;
  std::map<std::pair<std::string, std::string>, std::int64_t> functions_;  // by name and file
  std::map<StackFrame, std::int64_t> locations_;
};

// From OpenTelemetry's profiles.proto (v1development, 1.45), with the numbers of its fields.
namespace otlp {
constexpr std::uint32_t resource_profiles = 1, dictionary = 2;
constexpr std::uint32_t scope_profiles = 2, scope = 1, profiles = 2, scope_name = 1;
namespace profile {
constexpr std::uint32_t sample_type = 1, samples = 2, time = 3, duration = 4;
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

// Two profiles with the same samples: times and numbers.
class OtlpWriter : public StackWriter {
 public:
  using StackWriter::StackWriter;

  void finish() override {
    // The first entry of each table is for what is not set.
    for (std::uint32_t table = otlp::table::mapping; table <= otlp::table::stack; ++table) {
      if (table != otlp::table::string) dictionary_.message(table, Message());
    }
    string("");
    Message times = profile("gpu_time", "nanoseconds"), counts = profile("gpu_work", "count");
    for (const auto& [stream, stacks] : sums_) {
      Message attributes;
      const auto add = [&](const char* key, const Message& value) {
        attributes.number(otlp::sample::attribute, attribute(key, value));
      };
      add("cuda.device", text(device(stream)));
      add("cuda.stream", text(stream_name(stream)));
      if (stream[1]) add("process.pid", Message().number(otlp::attribute::number, stream[1]));
      for (const auto& [stack, sum] : stacks) {
        Message place;
        place.number(otlp::sample::stack, number_of(frames_of(stack))).append(attributes);
        const auto with = [&](std::int64_t value) {
          return Message().append(place).number(otlp::sample::value, value);
        };
        times.message(otlp::profile::samples, with(sum.time));
        counts.message(otlp::profile::samples, with(sum.count));
      }
    }
    Message scope;
    scope.message(otlp::scope, Message().text(otlp::scope_name, otlp::name_of_scope))
        .message(otlp::profiles, times)
        .message(otlp::profiles, counts);
    Message whole;
    whole.message(otlp::resource_profiles, Message().message(otlp::scope_profiles, scope))
        .message(otlp::dictionary, dictionary_);
    file_ << whole.bytes();
  }

  // Its scope comes first, after three lengths.
  static bool is_one(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::array<char, 40> begin{};
    file.read(begin.data(), begin.size());
    const std::string_view bytes(begin.data(), static_cast<std::size_t>(file.gcount()));
    const Message scope =
        Message().message(otlp::scope, Message().text(otlp::scope_name, otlp::name_of_scope));
    return bytes.starts_with(beginning) && bytes.find(scope.bytes()) != bytes.npos;
  }
  static constexpr std::string_view beginning = "\n";

 private:
  Message profile(const char* type, const char* unit) {
    Message profile;
    profile.message(otlp::profile::sample_type, Message()
                                                    .number(otlp::value_type::type, string(type))
                                                    .number(otlp::value_type::unit, string(unit)));
    if (!profile_.database().has_column("RUN", "value")) return profile;
    const auto of_run = [this](const char* key) {
      return profile_.database().integer("SELECT value FROM main.RUN WHERE key = '" +
                                         std::string(key) + "'");
    };
    const auto begin = of_run("t0_realtime_ns"), end = of_run("t1_realtime_ns");
    if (begin) profile.fixed64(otlp::profile::time, static_cast<std::uint64_t>(*begin));
    if (begin && end && *end >= *begin) profile.number(otlp::profile::duration, *end - *begin);
    return profile;
  }
  static Message text(const std::string& value) {
    return Message().text(otlp::attribute::text, valid_utf8(value));
  }
  // The number of an entry in its table; tells whether it is new there.
  template <class Numbers, class Key>
  static std::pair<std::int64_t, bool> numbered(Numbers& numbers, Key&& key) {
    const auto next = static_cast<std::int64_t>(numbers.size()) + 1;
    const auto [place, is_new] = numbers.try_emplace(std::forward<Key>(key), next);
    return {place->second, is_new};
  }
  std::int64_t string(const std::string& value) {
    const auto [number, is_new] = numbered(strings_, value);
    if (is_new) dictionary_.text(otlp::table::string, valid_utf8(value));
    return number - 1;  // the empty one is among them
  }
  std::int64_t attribute(const char* key, const Message& value) {
    const auto [number, is_new] =
        numbered(attributes_, std::pair(std::string(key), std::string(value.bytes())));
    if (is_new) {
      dictionary_.message(otlp::table::attribute, Message()
                                                      .number(otlp::attribute::key, string(key))
                                                      .message(otlp::attribute::value, value));
    }
    return number;
  }
  std::int64_t function(const StackFrame& frame) {
    const auto [number, is_new] = numbered(functions_, std::pair(frame.name, frame.file));
    if (is_new) {
      const std::int64_t name = string(frame.name), file = string(frame.file);
      dictionary_.message(
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
      place.number(otlp::location::attribute, attribute("profile.frame.type", text(type)));
    }
    dictionary_.message(otlp::table::location, place);
    return number;
  }
  std::int64_t number_of(const std::vector<StackFrame>& frames) {
    Message stack;  // innermost first
    for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
      stack.number(otlp::stack_location, location(*frame));
    }
    const auto [number, is_new] = numbered(stacks_, std::string(stack.bytes()));
    if (is_new) dictionary_.message(otlp::table::stack, stack);
    return number;
  }

  Message dictionary_;
  std::map<std::string, std::int64_t> strings_, stacks_;  // stacks by their bytes
  std::map<std::pair<std::string, std::string>, std::int64_t> functions_, attributes_;
  std::map<StackFrame, std::int64_t> locations_;
};

// "GPU 0;step;kernel 123" in every line.
bool is_folded(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string line;
  bool any = false;
  const auto is_number = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  constexpr std::string_view gpu = "GPU ";
  while (std::getline(file, line)) {
    const std::string_view text = line;
    const std::size_t device_end = text.find(';'), stack_end = text.rfind(' ');
    if (file.eof() || !text.starts_with(gpu) || device_end == std::string_view::npos ||
        stack_end < device_end || !is_number(text.substr(gpu.size(), device_end - gpu.size())) ||
        !is_number(text.substr(stack_end + 1))) {
      return false;
    }
    any = true;
  }
  return any;
}

}  // namespace

extern const FileFormat folded_format{
    .name = "folded",
    .ending = ".folded",
    .begins = "GPU ",
    .is_one = is_folded,
    .help =
        "ns of GPU work by device and stack (--stacks=launches), else NVTX ranges, for flame "
        "graphs",
    .make = [](TextFile& file, reading::Profile& profile) -> std::unique_ptr<FormatWriter> {
      return std::make_unique<FoldedWriter>(file, profile);
    },
};

extern const FileFormat speedscope_format{
    .name = "speedscope",
    .ending = ".speedscope.json",
    .begins = SpeedscopeWriter::beginning,
    .help = "the same by stream, for speedscope.app",
    .make = [](TextFile& file, reading::Profile& profile) -> std::unique_ptr<FormatWriter> {
      return std::make_unique<SpeedscopeWriter>(file, profile);
    },
};

extern const FileFormat pprof_format{
    .name = "pprof",
    .ending = ".pb.gz",
    .begins = PprofWriter::beginning,
    .help = "ns and number of GPU work by stream, in the same way, for pprof",
    .make = [](TextFile& file, reading::Profile& profile) -> std::unique_ptr<FormatWriter> {
      return std::make_unique<PprofWriter>(file, profile);
    },
};

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
