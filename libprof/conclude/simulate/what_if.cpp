#include "libprof/conclude/simulate/what_if.hpp"

#include <memory>
#include <utility>

#include "libprof/base/error.hpp"
#include "libprof/base/json_text.hpp"
#include "libprof/base/pattern.hpp"
#include "libprof/base/text.hpp"
#include "libprof/read/names.hpp"
#include "libprof/read/tables.hpp"
#include "libprof/report/number.hpp"
#include "libprof/store/scan.hpp"

namespace gpuprof::simulate {
namespace {

// Increase it when existing readers would misread the document; see docs/json.md.
constexpr int version = 1;

constexpr std::string_view nothing_there =
    "No GPU work has times there: there is nothing to simulate.\n";

// How many times as fast each name of the schedule is. Counts the launches.
std::vector<double> factors_of(const Schedule& schedule, std::vector<FasterKernels>& kernels,
                               reading::Names& names) {
  std::vector<double> factors;
  if (kernels.empty()) return factors;
  factors.assign(schedule.names.size(), 1);
  std::vector<std::unique_ptr<Pattern>> patterns;
  for (const FasterKernels& each : kernels) {
    patterns.push_back(std::make_unique<Pattern>(each.expression));
  }
  for (std::size_t name = 1; name < factors.size(); ++name) {  // the first is of other work
    const std::string& text = names.kernel(schedule.names[name]);
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      if (!patterns[i]->found_in(text)) continue;
      factors[name] = kernels[i].times;
      kernels[i].launches += schedule.counts[name];
      break;
    }
  }
  for (const FasterKernels& each : kernels) {
    if (each.launches > 0) continue;
    throw Error("no kernel there is called " + each.expression,
                "gpuprof query FILE top_kernels lists kernels; of several --kernel the first "
                "that matches counts",
                ExitCode::bad_option);
  }
  return factors;
}

std::string time_words(std::int64_t ns) {
  return report::format_time(static_cast<std::uint64_t>(ns)) + " (" + std::to_string(ns) + " ns)";
}

double share_of(const DeviceOutcome& time) {
  return static_cast<double>(time.saved()) / static_cast<double>(time.before);
}

std::vector<std::string> change_words(const Question& question) {
  std::vector<std::string> words;
  for (const FasterKernels& each : question.kernels) {
    std::string times = report::format_fixed(each.times, 3);
    while (times.ends_with('0')) times.pop_back();
    if (times.ends_with('.')) times.pop_back();
    words.push_back(
        "Kernels that match " + printable(each.expression) + ", " +
        (each.launches == 1 ? "1 launch" : std::to_string(each.launches) + " launches") + ", are " +
        times + " times as fast.");
  }
  constexpr std::pair<std::uint32_t, std::string_view> mends[]{
      {gaps, "The host needs no time while the GPU is idle."},
      {other_copies,
       "Copies between host and device have a stream of their own, and the host does not wait "
       "for them."},
      {copies, "Copies take no time."},
      {waits, "The host does not wait for the GPU."},
  };
  for (const auto& [mend, text] : mends) {
    if (question.mends & mend) words.emplace_back(text);
  }
  if (words.empty()) words.emplace_back("Nothing is changed: the times are those of the run.");
  return words;
}

}  // namespace

WhatIf ask(store::Database& database, Question question, const reading::Moment& from,
           const reading::Moment& to, const std::function<void()>& check) {
  WhatIf result;
  result.judged = reading::judged_window(database, from, to);
  const reading::Window& window = result.judged.window;
  reading::Tables tables(database);
  result.zero = reading::zero_of_run(tables).value_or(0);
  store::Snapshot snapshot(database);
  Schedule schedule = read_schedule(snapshot, window.from, window.to, check);
  schedule.steps = result.judged.starts;
  result.question = std::move(question);
  if (schedule.works.empty()) return result;
  reading::Names names(database, reading::NameStyle::compatible);
  const Change change{.mends = result.question.mends,
                      .faster = factors_of(schedule, result.question.kernels, names)};
  check();
  for (const DeviceOutcome& time : replay(schedule, change)) {
    result.devices.push_back({names.device(time.id), time});
  }
  result.steps =
      reading::count_steps(database, window.from.value_or(0), window.to.value_or(INT64_MAX));
  if (!schedule.has_calls) {
    result.doubts.emplace_back(
        "Calls of CUDA are not in the file: only the order of work in its streams is known, and "
        "nothing of the host.");
  }
  return result;
}

std::string what_if_text(const WhatIf& result) {
  if (result.devices.empty()) return std::string(nothing_there);
  std::string text;
  for (const std::string& words : change_words(result.question)) text += words + '\n';
  for (const std::string& doubt : result.doubts) text += doubt + '\n';
  std::string what = "the time from its first work to its last";
  if (result.judged.of_steps()) {
    what = "the time of " + count_of(result.steps, "step");
    if (result.judged.warm_up > 0) what += ", " + reading::warm_up_words(result.judged.warm_up);
  }
  for (const WhatIf::Device& device : result.devices) {
    const DeviceOutcome& time = device.time;
    text += '\n' + printable(device.name) + ", " + what + ":\n" + "  before  " +
            time_words(time.before) + "\n  after   " + time_words(time.after) + "\n  saved   " +
            time_words(time.saved()) + ", " + report::format_percent(100 * share_of(time)) +
            " of the time before\n";
    if (!time.steps.empty()) {
      text += "  median of a step: " + time_words(time.median_before()) + ", then " +
              time_words(time.median_after()) + '\n';
    }
  }
  if (result.judged.of_steps()) text += "\n--from 0 simulates the whole run.\n";
  return text;
}

std::string what_if_json(const WhatIf& result) {
  using Json = nlohmann::ordered_json;
  const auto relative = [&](const std::optional<std::int64_t>& time) {
    return time ? Json(*time - result.zero) : Json();
  };
  const auto of_steps = [](const DeviceOutcome& time,
                           std::int64_t (DeviceOutcome::*median)() const) {
    return time.steps.empty() ? Json() : Json((time.*median)());
  };
  Json kernels = Json::array(), devices = Json::array();
  for (const FasterKernels& each : result.question.kernels) {
    kernels.push_back(
        {{"regex", each.expression}, {"times_as_fast", each.times}, {"launches", each.launches}});
  }
  for (const WhatIf::Device& device : result.devices) {
    devices.push_back(
        {{"device_id", device.time.id},
         {"name", device.name},
         {"before_ns", device.time.before},
         {"after_ns", device.time.after},
         {"saved_ns", device.time.saved()},
         {"share", share_of(device.time)},
         {"median_step_before_ns", of_steps(device.time, &DeviceOutcome::median_before)},
         {"median_step_after_ns", of_steps(device.time, &DeviceOutcome::median_after)}});
  }
  const auto has = [&](std::uint32_t mend) { return (result.question.mends & mend) != 0; };
  const Json document{{"version", version},
                      {"window",
                       {{"relative_begin_ns", relative(result.judged.window.from)},
                        {"relative_end_ns", relative(result.judged.window.to)},
                        {"of_steps", result.judged.of_steps()}}},
                      {"steps", result.steps > 0 ? Json(result.steps) : Json()},
                      {"change",
                       {{"kernels", std::move(kernels)},
                        {"no_gaps", has(gaps)},
                        {"overlap_copies", has(other_copies)},
                        {"no_copies", has(copies)},
                        {"no_waits", has(waits)}}},
                      {"devices", std::move(devices)},
                      {"doubts", result.doubts}};
  return json_text(document, 1, true) + '\n';  // all ASCII: nothing in it controls a terminal
}

}  // namespace gpuprof::simulate
