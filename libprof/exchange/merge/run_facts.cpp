#include "libprof/exchange/merge/run_facts.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "gpuprof_version.hpp"
#include "libprof/base/text.hpp"
#include "schema/run.hpp"

namespace gpuprof::merging {
namespace {

// Of the first file. Its boot id is that of the clock that all times are on.
constexpr std::array<std::string_view, 11> of_first{"wire_version",
                                                    "command_line",
                                                    "gpuprof_command_line",
                                                    "working_directory",
                                                    "boot_id",
                                                    "operating_system",
                                                    "cpu_count",
                                                    "driver_version",
                                                    "environment",
                                                    "target_process_id",
                                                    "step"};
constexpr std::array<std::string_view, 2> ends{"exit_status", "exit_signal"};

}  // namespace

RunFacts::File RunFacts::add(store::Database& source) {
  Facts& facts = facts_.emplace_back();
  store::Statement rows = source.prepare("SELECT key, value FROM RUN");
  while (rows.step()) {
    const std::string key(rows.text(0));
    if (rows.type(1) == store::Statement::Type::integer) facts[key] = rows.integer(1);
    if (rows.type(1) == store::Statement::Type::text) facts[key] = std::string(rows.text(1));
  }
  return {.boot_id = text(facts, "boot_id"),
          .host = text(facts, "host_name"),
          .zero = integer(facts, "zero_ns")};
}

void RunFacts::set_zero(std::int64_t zero) {
  if (zero > 0 && (zero_ == 0 || zero < zero_)) zero_ = zero;
}

std::int64_t RunFacts::integer(const Facts& facts, std::string_view key) {
  const auto found = facts.find(key);
  if (found == facts.end()) return 0;
  const auto* value = std::get_if<std::int64_t>(&found->second);
  // Some numbers are there as texts.
  return value ? *value : parse<std::int64_t>(std::get<std::string>(found->second)).value_or(0);
}

std::string RunFacts::text(const Facts& facts, std::string_view key) {
  const auto found = facts.find(key);
  if (found == facts.end()) return {};
  const auto* value = std::get_if<std::string>(&found->second);
  return value ? *value : std::string();
}

// The different words of all files, in order of appearance.
std::string RunFacts::joined(std::string_view key, std::string_view separator) const {
  std::vector<std::string> words;
  for (const Facts& facts : facts_) {
    std::string rest = text(facts, key);
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(separator), rest.size());
      const std::string word = rest.substr(0, end);
      if (std::ranges::find(words, word) == words.end()) words.push_back(word);
      rest.erase(0, end + separator.size());
    }
  }
  if (words.size() > 1) std::erase(words, "none");
  return gpuprof::joined(words, separator);
}

// The first file whose command did not end well, if there is one.
const RunFacts::Facts& RunFacts::that_failed() const {
  const auto failed = std::ranges::find_if(facts_, [](const Facts& facts) {
    return integer(facts, "exit_status") != 0 || facts.contains("exit_signal");
  });
  return failed == facts_.end() ? facts_.front() : *failed;
}

RunFacts::Facts RunFacts::merged() const {
  Facts all;
  const auto take = [&](const Facts& facts, std::string_view key) {
    if (const auto found = facts.find(key); found != facts.end()) all.insert(*found);
  };
  for (const std::string_view key : of_first) take(facts_.front(), key);
  for (const std::string_view key : ends) take(that_failed(), key);
  for (const std::string_view key : {"trace_groups", "calls_left_out"}) {
    if (const std::string words = joined(key, ","); !words.empty()) all[std::string(key)] = words;
  }
  for (const std::string_view key : {"host_name", "hw_trace"}) {
    if (const std::string words = joined(key, ", "); !words.empty()) all[std::string(key)] = words;
  }
  for (const Facts& facts : facts_) {
    const std::int64_t begin = integer(facts, "t0_realtime_ns");
    const std::int64_t first = integer(all, "t0_realtime_ns");
    if (begin > 0) all["t0_realtime_ns"] = first > 0 ? std::min(first, begin) : begin;
    const std::int64_t end = integer(facts, "t1_realtime_ns");
    if (end > integer(all, "t1_realtime_ns")) all["t1_realtime_ns"] = end;
  }
  all["gpuprof_version"] = std::string(version);
  if (zero_ > 0) all["zero_ns"] = zero_;
  return all;
}

void RunFacts::write(store::Database& out, const std::string& command) const {
  store::Statement insert = out.prepare("INSERT OR REPLACE INTO RUN VALUES(?1, ?2)");
  Facts all = merged();
  all["derived_from"] = command;
  for (const auto& [key, value] : all) {
    insert.bind(1, key);
    if (const auto* number = std::get_if<std::int64_t>(&value)) {
      insert.bind(2, *number);
    } else {
      insert.bind(2, std::get<std::string>(value));
    }
    insert.run();
  }
}

}  // namespace gpuprof::merging
