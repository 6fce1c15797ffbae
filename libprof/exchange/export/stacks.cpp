// Time of GPU work by device, stream, and the functions that asked for it or NVTX ranges: folded
// stacks, speedscope and pprof. OpenTelemetry's profiles are in otlp.cpp.
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
#include "libprof/exchange/export/format.hpp"
#include "libprof/exchange/export/protobuf.hpp"
#include "libprof/exchange/export/work_stacks.hpp"

namespace gpuprof::exporting {
namespace {

class StackWriter : public FormatWriter, protected WorkStacks {
 public:
  StackWriter(TextFile& file, reading::Profile& profile) : WorkStacks(profile), file_(file) {}

  void add(const Activity& activity) override { WorkStacks::add(activity); }

 protected:
  TextFile& file_;
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
    .help = "ns of GPU work by device and stack of Python, else NVTX ranges, for flame graphs",
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

}  // namespace gpuprof::exporting
