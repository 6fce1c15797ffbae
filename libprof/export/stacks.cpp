// Time of GPU work by device, stream and NVTX ranges: folded stacks and speedscope.
#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "libprof/base/printable.hpp"
#include "libprof/base/saturating.hpp"
#include "libprof/export/format.hpp"

namespace gpuprof::exporting {
namespace {

constexpr std::string_view between_ranges = " / ";

// From the outermost range to the work itself.
std::vector<std::string> frames_of(std::string_view path, std::string_view name) {
  std::vector<std::string> frames;
  while (!path.empty()) {
    const std::size_t end = path.find(between_ranges);
    frames.emplace_back(path.substr(0, end));
    path = end == std::string_view::npos ? "" : path.substr(end + between_ranges.size());
  }
  frames.emplace_back(name);
  return frames;
}

// Sums by stream and stack. Memory: the stacks there are.
class StackWriter : public FormatWriter {
 public:
  StackWriter(TextFile& file, reading::Profile& profile) : file_(file), profile_(profile) {}

  void add(const Activity& activity) override {
    if (activity.group != Activity::Group::gpu) return;
    std::int64_t& sum =
        sums_[{activity.device, activity.process, activity.context, activity.stream}]
             [{std::string(activity.path), std::string(activity.name)}];
    sum = saturating_add(sum, activity.duration());
  }

 protected:
  using Stream = std::array<std::int64_t, 4>;  // device, process, context, stream
  using Stacks = std::map<std::pair<std::string, std::string>, std::int64_t>;

  std::string device(const Stream& stream) { return "GPU " + std::to_string(stream[0]); }
  std::string stream_name(const Stream& stream) {
    return "stream " + profile_.names().stream(stream[0], stream[2], stream[3]);
  }

  TextFile& file_;
  reading::Profile& profile_;
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
        for (const std::string& frame : frames_of(stack.first, stack.second)) {
          line += ';';
          const std::size_t begin = line.size();
          append_printable(line, frame);
          std::replace(line.begin() + static_cast<std::ptrdiff_t>(begin), line.end(), ';', ':');
        }
        std::int64_t& total = lines[line];
        total = saturating_add(total, sum);
      }
    }
    for (const auto& [line, sum] : lines) file_ << line << " " << sum << "\n";
  }
};

class SpeedscopeWriter : public StackWriter {
 public:
  using StackWriter::StackWriter;

  void finish() override {
    std::map<std::string, std::size_t> numbers;
    std::vector<const std::string*> names;
    const auto number = [&](const std::string& frame) {
      const auto [place, is_new] = numbers.try_emplace(frame, names.size());
      if (is_new) names.push_back(&place->first);
      return place->second;
    };
    for (const auto& [stream, stacks] : sums_) {
      for (const auto& [stack, sum] : stacks) {
        for (const std::string& frame : frames_of(stack.first, stack.second)) number(frame);
      }
    }
    file_ << beginning << "\"name\":\"GPU work\",\"activeProfileIndex\":0,\"shared\":{\"frames\":[";
    for (std::size_t i = 0; i < names.size(); ++i) {
      file_ << (i ? "," : "") << "\n{\"name\":" << in_json(*names[i]) << "}";
    }
    file_ << "]},\"profiles\":[";
    bool first = true;
    for (const auto& [stream, stacks] : sums_) {
      std::int64_t total = 0;
      for (const auto& [stack, sum] : stacks) total = saturating_add(total, sum);
      std::string title = device(stream) + ", " + stream_name(stream);
      if (stream[1]) title += ", process " + std::to_string(stream[1]);
      file_ << (first ? "" : ",") << "\n{\"type\":\"sampled\",\"name\":" << in_json(title)
            << ",\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":" << total
            << ",\"samples\":[";
      first = false;
      bool first_stack = true;
      for (const auto& [stack, sum] : stacks) {
        file_ << (first_stack ? "[" : ",[");
        first_stack = false;
        bool outermost = true;
        for (const std::string& frame : frames_of(stack.first, stack.second)) {
          file_ << (outermost ? "" : ",") << number(frame);
          outermost = false;
        }
        file_ << "]";
      }
      file_ << "],\"weights\":[";
      first_stack = true;
      for (const auto& [stack, sum] : stacks) {
        file_ << (first_stack ? "" : ",") << sum;
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

}  // namespace

extern const FileFormat folded_format{
    .name = "folded",
    .ending = ".folded",
    .begins = "GPU ",
    .help = "ns of GPU work by device and NVTX ranges, for flame graphs",
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

}  // namespace gpuprof::exporting
