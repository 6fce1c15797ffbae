#include <array>
#include <ctime>
#include <iostream>
#include <nlohmann/json.hpp>

#include "libprof/base/printable.hpp"
#include "libprof/base/saturating.hpp"
#include "libprof/report/contents.hpp"
#include "libprof/report/number.hpp"

namespace gpuprof::report {
namespace {

using Json = nlohmann::ordered_json;

// "13.0" from 13000, "13.5" from 130500.
std::string cuda_version(const Json& number) {
  if (!number.is_number_integer()) return "";
  const std::int64_t n = number;
  const std::int64_t release = n >= 100'000 ? n / 10 : n;
  if (release < 1000) return "API version " + std::to_string(n);
  return std::to_string(release / 1000) + "." + std::to_string(release % 1000 / 10);
}

std::string plain(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.is_null() ? "" : value.dump();
}

std::string seconds(std::int64_t ns) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6f s", static_cast<double>(ns) * 1e-9);
  return text.data();
}

std::string date(std::int64_t ns) {
  const std::time_t second = ns / 1'000'000'000;
  std::tm parts{};
  std::array<char, 64> text{};
  gmtime_r(&second, &parts);
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &parts);
  return text.data();
}

class Text {
 public:
  explicit Text(const Json& info) : info_(info) {}

  void print() {
    std::cout << printable(plain(info_["file"])) << '\n';
    line("kind", plain(info_["description"]));
    const std::int64_t log = info_["log_bytes"];
    line("size", binary_size(info_["size_bytes"].get<double>()) +
                     (log ? ", and " + binary_size(static_cast<double>(log)) + " in its log" : ""));
    line("state", plain(info_["state"]));
    for (const Json& note : info_["notes"]) line("", plain(note));
    if (!info_.contains("records")) return;
    print_run();
    print_processes();
    for (const Json& device : info_["devices"]) {
      std::string text = plain(device["name"]);
      if (const Json& version = device["compute_capability"]; !version.is_null()) {
        text += ", compute capability " + plain(version);
      }
      if (const Json& memory = device["memory_bytes"]; memory.is_number()) {
        text += ", " + binary_size(memory.get<double>());
      }
      line("device " + plain(device["id"]), text);
    }
    print_records();
    print_cost();
    for (const Json& text : info_["stalled"]) line("stalled", plain(text));
    for (const Json& loss : info_["losses"]) {
      line("lost", plain(loss["value"]) + " " + plain(loss["name"]) + " " + plain(loss["kind"]));
    }
    if (info_["losses"].empty() && info_["format"] == "gpuprof") line("lost", "nothing");
    constexpr std::size_t most = 20;
    std::size_t shown = 0;
    for (const Json& said : info_["diagnostics"]) {
      if (++shown > most) break;
      const std::string process = plain(said["process_id"]);
      line("said", (process == "0" ? "" : "process " + process + ": ") + plain(said["text"]));
    }
    if (shown > most) {
      line("", std::to_string(info_["diagnostics"].size() - most) + " more in DIAGNOSTIC");
    }
  }

 private:
  static void line(std::string label, const std::string& text) {
    if (text.empty()) return;
    label.resize(std::max<std::size_t>(label.size() + 1, 13), ' ');
    std::cout << "  " << printable(label) << printable(text) << '\n';
  }

  std::string run(const char* key) const {
    const Json& all = info_["run"];
    return all.contains(key) ? plain(all[key]) : "";
  }

  std::int64_t run_number(const char* key) const {
    const Json& all = info_["run"];
    return all.contains(key) && all[key].is_number() ? all[key].get<std::int64_t>() : 0;
  }

  void print_run() const {
    line("command", run("command_line"));
    line("imported", run("imported_from"));
    line("part", run("derived_from"));
    line("because", run("written_because"));
    const std::string host = run("host_name"), system = run("operating_system");
    line(host.empty() ? "system" : "host",
         host + (host.empty() || system.empty() ? "" : ", ") + system);
    const std::int64_t began = run_number("t0_realtime_ns"), ended = run_number("t1_realtime_ns");
    if (began)
      line("began",
           date(began) + (ended ? ", took " + seconds(saturating_subtract(ended, began)) : ""));
    if (!run("exit_status").empty()) line("ended", "with status " + run("exit_status"));
    if (!run("exit_signal").empty()) line("ended", "by signal " + run("exit_signal"));
    line("driver", run("driver_version"));
    line("hw trace", run("hw_trace"));
    line("collected", run("trace_groups"));
    const std::string left_out = run("calls_left_out");
    if (!left_out.empty() && left_out != "none") {
      line("left out", "calls of " + std::to_string(1 + std::ranges::count(left_out, ',')) +
                           " functions that only ask (--trace +queries)");
    }
  }

  void print_processes() const {
    constexpr std::size_t most = 20;
    const Json& all = info_["processes"];
    for (std::size_t i = 0; i < all.size() && i < most; ++i) {
      const Json& process = all[i];
      std::string text;
      for (const char* name : {"command_line", "executable"}) {
        if (text.empty() && process.contains(name)) text = plain(process[name]);
      }
      const std::string cupti =
          process.contains("cupti_version") ? cuda_version(process["cupti_version"]) : "";
      if (!cupti.empty()) text += (text.empty() ? "CUPTI " : ", CUPTI ") + cupti;
      if (!cupti.empty()) text += ", driver for CUDA " + cuda_version(process["driver_version"]);
      line("process", plain(process["processId"]) + (text.empty() ? "" : "  " + text));
    }
    if (all.size() > most) line("", "and " + std::to_string(all.size() - most) + " more");
  }

  void print_cost() const {
    const Json& cost = info_["cost"];
    if (!cost.is_object()) return;
    line("cost", plain(cost["text"]));
    line("", binary_size(cost["sent_bytes"].get<double>()) + " sent; memory: " +
                 binary_size(cost["arena_bytes"].get<double>()) + " shared with the program, " +
                 binary_size(cost["gpuprof_bytes"].get<double>()) + " of gpuprof at most");
  }

  void print_records() const {
    if (info_["first_ns"].is_number()) {
      const std::int64_t first = info_["first_ns"], last = info_["last_ns"];
      line(
          "time span",
          seconds(saturating_subtract(last, first)) +
              (info_["times_estimated"] == true ? ", by the beginning and end of each table" : ""));
    }
    const Json& records = info_["records"];
    line("records", records.empty()                      ? "none"
                    : info_["records_estimated"] == true ? "by their row ids; --exact counts them"
                                                         : " ");
    for (const auto& [kind, rows] : records.items()) {
      std::string count = plain(rows);
      count.insert(0, count.size() < 13 ? 13 - count.size() : 0, ' ');
      std::cout << "    " << count << "  " << printable(kind) << '\n';
    }
  }

  const Json& info_;
};

}  // namespace

void print_contents(const Json& contents) { Text(contents).print(); }

}  // namespace gpuprof::report
