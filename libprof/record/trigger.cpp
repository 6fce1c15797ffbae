#include "libprof/record/trigger.hpp"

#include <cmath>
#include <utility>

#include "libprof/base/text.hpp"
#include "schema/step_names.hpp"

namespace gpuprof::record {
namespace {

using std::chrono::nanoseconds;

constexpr nanoseconds usual_idle_time = std::chrono::seconds(30);

// "50ms". A number without a unit is no time.
std::optional<nanoseconds> time_of(std::string_view text) {
  for (const auto& [unit, ns] : {std::pair{"us", 1e3}, {"ms", 1e6}, {"min", 60e9}, {"s", 1e9}}) {
    if (!text.ends_with(unit)) continue;
    const auto value = parse<double>(text.substr(0, text.size() - std::string_view(unit).size()));
    if (!value || !(*value > 0 && *value * ns <= 1e16)) return std::nullopt;
    return nanoseconds(std::llround(*value * ns));
  }
  return std::nullopt;
}

// "50ms" or "3x".
bool set_limit(Trigger& trigger, std::string_view text) {
  if (const auto time = time_of(text)) {
    trigger.longest = *time;
    return true;
  }
  const auto times = text.ends_with('x') ? parse<double>(text.substr(0, text.size() - 1))
                                         : std::optional<double>();
  if (!times || !(*times > 1 && *times <= 1e6)) return false;
  trigger.times = *times;
  return true;
}

bool starts(std::string_view& text, std::string_view with) {
  if (!text.starts_with(with)) return false;
  text.remove_prefix(with.size());
  return true;
}

}  // namespace

std::optional<Trigger> Trigger::parsed(std::string_view text) {
  Trigger trigger;
  trigger.text = text;
  if (starts(text, "sql:")) {
    trigger.kind = Kind::sql;
    trigger.what = trimmed(text);
    return trigger.what.empty() ? std::nullopt : std::optional(trigger);
  }
  if (text == "oom") {
    trigger.kind = Kind::memory;
    return trigger;
  }
  if (starts(text, "idle")) {
    trigger.kind = Kind::idle;
    trigger.longest = usual_idle_time;
    if (text.empty()) return trigger;
    const auto time = starts(text, ":") ? time_of(text) : std::nullopt;
    if (!time || *time < std::chrono::seconds(1)) return std::nullopt;
    trigger.longest = *time;
    return trigger;
  }
  // A name may have a '>' in it.
  const std::size_t limit = text.rfind('>');
  if (limit == text.npos || !set_limit(trigger, text.substr(limit + 1))) return std::nullopt;
  text = text.substr(0, limit);
  if (text == "step") {
    trigger.kind = Kind::step;
    return trigger;
  }
  if (!starts(text, "range:") || text.empty()) return std::nullopt;
  trigger.what = text;
  return trigger;
}

bool Trigger::is_about(std::string_view range) const {
  return kind == Kind::range &&
         (what == "*" || what == range || what == schema::without_number(range));
}

}  // namespace gpuprof::record
