#include "libprof/conclude/compare/runs_file.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <system_error>

#include "libprof/base/error.hpp"
#include "libprof/base/json_text.hpp"
#include "libprof/conclude/compare/small_file.hpp"

namespace gpuprof::compare {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view format_name = "gpuprof runs";
constexpr std::size_t most_per_run = 100'000;  // bytes
constexpr std::size_t most_runs = 100;
constexpr std::size_t longest_text = 4096;
constexpr std::size_t most_parts_read = 1000, most_kernels_read = 10'000;
constexpr double most_of_anything = 1e18;
constexpr std::string_view ending = ".json";

bool is_baseline_name(std::string_view name) {
  constexpr std::size_t longest = 100;
  const bool plain = std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._-").find(c) != std::string_view::npos;
  });
  return plain && !name.empty() && name.size() <= longest && name[0] != '.' && name[0] != '-';
}

// Writing.

// A value of each run, null where it has none.
Json of_each(const std::vector<Run>& runs, const auto& value) {
  Json all = Json::array();
  for (const Run& run : runs) all.push_back(value(run));
  return all;
}

Json text_or_null_of(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json parts_json(const std::vector<Run>& runs) {
  std::set<PartName> names;
  for (const Run& run : runs) {
    for (const auto& [name, time] : run.parts) names.insert(name);
  }
  Json parts = Json::array();
  for (const PartName& name : names) {
    parts.push_back({{"class", name.first},
                     {"cause", text_or_null_of(name.second)},
                     {"time_ns", of_each(runs, [&](const Run& run) {
                        const auto found = run.parts.find(name);
                        return found == run.parts.end() ? Json() : Json(found->second);
                      })}});
  }
  return parts;
}

// Those that take at least this share of some run.
Json kernels_json(const std::vector<Run>& runs, double least) {
  std::set<std::string> names;
  for (const Run& run : runs) {
    for (const auto& [name, use] : run.kernels) {
      if (use.time >= least * run.time) names.insert(name);
    }
  }
  Json kernels = Json::array();
  for (const std::string& name : names) {
    std::optional<KernelUse> first;
    bool same_shape = true;
    const auto value_of = [&](double KernelUse::*value) {
      return of_each(runs, [&](const Run& run) {
        const auto found = run.kernels.find(name);
        if (found == run.kernels.end()) return Json();
        if (!first) first = found->second;
        same_shape &= found->second.shape == first->shape;
        return Json(found->second.*value);
      });
    };
    Json times = value_of(&KernelUse::time), launches = value_of(&KernelUse::launches);
    kernels.push_back({{"name", name},
                       {"function", text_or_null_of(first->function)},
                       {"shape", text_or_null_of(same_shape ? first->shape : "")},
                       {"time_ns", std::move(times)},
                       {"launches", std::move(launches)}});
  }
  return kernels;
}

Json run_json(const Run& run) {
  return {{"file", run.file},
          {"devices", run.devices},
          {"driver", run.driver},
          {"cupti", run.cupti},
          {"processes", run.processes},
          {"device_count", run.device_count},
          {"lost", run.lost},
          {"kernels_without_times", run.kernels_without_times},
          {"memory_peak_bytes", run.memory_peak},
          {"steps", run.steps},
          {"time_ns", run.time},
          {"least_kernel", run.least_kernel}};
}

// Reading.

class RunsFile {
 public:
  explicit RunsFile(const std::string& path) : path_(path) {}

  std::vector<Run> read() {
    const nlohmann::json all = parse_json(read_small_file(path_, most_runs * most_per_run), path_);
    if (!all.is_object() || member(all, "format") != format_name) {
      refuse("it is not a file of runs");
    }
    if (whole(all, "version") > runs_file_version) {
      refuse("its version is " + std::to_string(whole(all, "version")) +
             ", which needs a newer gpuprof");
    }
    for (const auto& run : list(all, "runs", most_runs)) runs_.push_back(run_of(run));
    if (runs_.empty()) refuse("it has no runs");
    for (const auto& part : list(all, "parts", most_parts_read)) read_part(part);
    for (const auto& kernel : list(all, "kernels", most_kernels_read)) read_kernel(kernel);
    return std::move(runs_);
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(path_ + ": " + why, "gpuprof baseline add makes such files",
                ExitCode::import_failed);
  }

  const nlohmann::json& member(const nlohmann::json& object, const char* key) const {
    if (!object.is_object() || !object.contains(key)) refuse(std::string("it lacks ") + key);
    return object[key];
  }
  const nlohmann::json& list(const nlohmann::json& object, const char* key,
                             std::size_t most) const {
    const nlohmann::json& value = member(object, key);
    if (!value.is_array()) refuse(std::string(key) + " is not a list");
    if (value.size() > most) refuse(std::string(key) + " is too long");
    return value;
  }
  double number(const nlohmann::json& value, const char* key) const {
    const double number = value.is_number() ? value.get<double>() : -1;
    if (!(number >= 0 && number <= most_of_anything)) {
      refuse(std::string(key) + " is not a number, or out of range");
    }
    return number;
  }
  std::int64_t whole(const nlohmann::json& object, const char* key) const {
    return static_cast<std::int64_t>(number(member(object, key), key));
  }
  std::string text(const nlohmann::json& object, const char* key) const {
    const nlohmann::json& value = member(object, key);
    if (value.is_null()) return "";
    if (!value.is_string()) refuse(std::string(key) + " is not a text");
    const auto& text = value.get_ref<const std::string&>();
    if (text.size() > longest_text) refuse(std::string(key) + " is too long");
    return text;
  }
  // Calls take(run, value) for the runs that have one.
  void read_each(const nlohmann::json& object, const char* key, const auto& take) {
    const nlohmann::json& values = list(object, key, runs_.size());
    if (values.size() != runs_.size()) refuse(std::string(key) + " lacks runs");
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      if (!values[i].is_null()) take(runs_[i], number(values[i], key));
    }
  }

  Run run_of(const nlohmann::json& value) const {
    Run run;
    run.names_abridged = true;
    run.file = text(value, "file");
    run.devices = text(value, "devices");
    run.driver = text(value, "driver");
    run.cupti = whole(value, "cupti");
    run.processes = whole(value, "processes");
    run.device_count = whole(value, "device_count");
    run.lost = member(value, "lost") == true;
    run.kernels_without_times = whole(value, "kernels_without_times");
    run.memory_peak = whole(value, "memory_peak_bytes");
    run.steps = whole(value, "steps");
    run.time = number(member(value, "time_ns"), "time_ns");
    run.least_kernel = number(member(value, "least_kernel"), "least_kernel");
    if (run.time <= 0 || run.device_count == 0) refuse("a run has no work");
    return run;
  }
  void read_part(const nlohmann::json& part) {
    const PartName name{text(part, "class"), text(part, "cause")};
    read_each(part, "time_ns", [&](Run& run, double time) { run.parts[name] = time; });
  }
  void read_kernel(const nlohmann::json& kernel) {
    const std::string name = text(kernel, "name");
    read_each(kernel, "time_ns", [&](Run& run, double time) {
      run.kernels[name] = {
          .time = time, .function = text(kernel, "function"), .shape = text(kernel, "shape")};
    });
    read_each(kernel, "launches", [&](Run& run, double launches) {
      const auto found = run.kernels.find(name);
      if (found != run.kernels.end()) found->second.launches = launches;
    });
  }

  const std::string& path_;
  std::vector<Run> runs_;
};

}  // namespace

std::string runs_text(const std::vector<Run>& runs) {
  std::vector<Run> kept = runs;
  for (Run& run : kept) abridge_names(run);
  std::string text;
  for (double least = 0; least < 1; least = std::max(1e-5, 2 * least)) {
    for (Run& run : kept) run.least_kernel = std::max(run.least_kernel, least);
    text = json_text(Json{{"format", format_name},
                          {"version", runs_file_version},
                          {"runs", of_each(kept, run_json)},
                          {"parts", parts_json(kept)},
                          {"kernels", kernels_json(kept, least)}}) +
           "\n";
    if (text.size() <= most_per_run * runs.size()) break;
  }
  return text;
}

std::vector<Run> read_runs_file(const std::string& path) { return RunsFile(path).read(); }

std::string baseline_folder(const std::string& given) {
  if (!given.empty()) return given;
  const char* variable = std::getenv("GPUPROF_BASELINES");
  return variable && *variable ? variable : ".gpuprof/baselines";
}

std::string baseline_path(const std::string& folder, const std::string& name) {
  if (!is_baseline_name(name)) {
    throw Error(
        "\"" + name + "\" cannot be the name of a baseline",
        "it has letters, digits, '.', '_' and '-', at most 100, and begins with a letter, a "
        "digit or '_'",
        ExitCode::bad_option);
  }
  return folder + "/" + name + std::string(ending);
}

std::vector<std::string> baseline_names(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    const std::filesystem::path& path = entry.path();
    if (path.extension() == ending && is_baseline_name(path.stem().string())) {
      names.push_back(path.stem().string());
    }
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace gpuprof::compare
