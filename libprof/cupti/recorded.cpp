#include "libprof/cupti/recorded.hpp"

#include <algorithm>
#include <fstream>
#include <ranges>

#include "libprof/base/error.hpp"
#include "libprof/base/text.hpp"

namespace gpuprof::cupti {
namespace {

template <class Number>
Number number(std::string_view word, int base) {
  const auto value = parse<Number>(word, base);
  if (!value) throw Error("no number");
  return *value;
}

MetricType type_of(std::string_view word) {
  const auto type = number<unsigned>(word, 10);
  if (type > static_cast<unsigned>(MetricType::throughput)) throw Error("no type");
  return static_cast<MetricType>(type);
}

std::size_t place(Counting counting) { return static_cast<std::size_t>(counting); }
std::size_t place(MetricType type) { return static_cast<std::size_t>(type); }

}  // namespace

RecordedMetrics::RecordedMetrics(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string line;
  std::getline(file, line);
  bool good = line == "gpuprof metrics 1";
  try {
    while (good && std::getline(file, line)) read_line(line);
  } catch (const Error&) {
    good = false;
  }
  if (good && !chips_.empty()) return;
  throw Error(path + " is not a list of metrics of this gpuprof", "install gpuprof again",
              ExitCode::no_metrics);
}

void RecordedMetrics::read_line(std::string_view line) {
  const std::vector<std::string> words = split(line, '\t');
  const std::string& what = words.at(0);
  if (what == "chip" && words.size() == 2 && chips_.size() < 64) {
    chips_.push_back(words[1]);
  } else if (what == "sub" && words.size() > 2) {
    subs_.at(place(type_of(words[1]))).assign(words.begin() + 2, words.end());
  } else if (what == "metric" && words.size() == 9) {
    metrics_.emplace(words[1],
                     Row{.properties = {.description = words[8],
                                        .unit = words[3],
                                        .dimension = words[4],
                                        .type = type_of(words[2]),
                                        .device_level = words[5] == "1"},
                         .chips = {number<Mask>(words[6], 16), number<Mask>(words[7], 16)}});
  } else if (what == "lacks" && words.size() == 3) {
    lacking_[words[1]] = number<Mask>(words[2], 16);
  } else {
    throw Error("no such fact");
  }
}

RecordedMetrics::Mask RecordedMetrics::mask_of(std::string_view chip) const {
  const auto found = std::ranges::find(chips_, chip);
  return found == chips_.end() ? 0 : Mask{1} << (found - chips_.begin());
}

const RecordedMetrics::Row* RecordedMetrics::find(std::string_view chip, Counting counting,
                                                  std::string_view base) const {
  const Mask mask = mask_of(chip);
  const auto [first, last] = metrics_.equal_range(base);
  for (const auto& [name, row] : std::ranges::subrange(first, last)) {
    if (row.chips.at(place(counting)) & mask) return &row;
  }
  return nullptr;
}

std::vector<std::string> RecordedMetrics::base_metrics(std::string_view chip, Counting counting,
                                                       MetricType type) const {
  const Mask mask = mask_of(chip);
  std::vector<std::string> names;
  for (const auto& [name, row] : metrics_) {
    if (row.properties.type == type && (row.chips.at(place(counting)) & mask)) {
      names.push_back(name);
    }
  }
  return names;
}

std::vector<std::string> RecordedMetrics::sub_metrics(std::string_view chip, Counting counting,
                                                      std::string_view base,
                                                      MetricType type) const {
  const Row* row = find(chip, counting, base);
  if (!row || row->properties.type != type) return {};
  return subs_.at(place(type));
}

std::optional<MetricProperties> RecordedMetrics::properties(std::string_view chip,
                                                            Counting counting,
                                                            std::string_view name) const {
  // Names of base metrics contain dots too.
  for (;;) {
    if (const Row* row = find(chip, counting, name)) return row->properties;
    const std::size_t dot = name.rfind('.');
    if (dot == name.npos) return {};
    name = name.substr(0, dot);
  }
}

bool RecordedMetrics::can_collect(std::string_view chip, Counting counting,
                                  std::string_view name) const {
  const auto lacking = lacking_.find(name);
  if (lacking != lacking_.end() && (lacking->second & mask_of(chip))) return false;
  for (std::size_t dot = name.rfind('.'); dot != name.npos && dot > 0;
       dot = name.rfind('.', dot - 1)) {
    const Row* row = find(chip, counting, name.substr(0, dot));
    if (row) return std::ranges::count(subs_.at(place(row->properties.type)), name.substr(dot)) > 0;
  }
  return false;
}

}  // namespace gpuprof::cupti
