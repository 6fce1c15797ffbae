// Multiplexing: which launches are measured, and in which group.
//
// CUPTI takes another configuration only from a new profiler object, whose first Start costs some
// 0.2 s (measured), and more in a program of many kernels: what the last one took is what the next
// is taken to cost. So a context stays with a group for a phase, and spends it on windows that
// begin at launches of shapes which the group has not seen often enough. First each group gets a
// few launches of each shape, then more. All of it is paid from a budget that grows with time.
#include <algorithm>

#include "libprof/collect/range_context.hpp"

namespace gpuprof::collect {
namespace {
constexpr std::uint64_t look_at_clock = 64;  // launches
constexpr int phase_switches = 3;            // a phase may cost that many switches
}  // namespace

bool RangeProfiler::multiplex_wants(Context& context, Shape& shape) {
  const auto needs = [&](int group) {
    return config_.groups[static_cast<std::size_t>(group)].chip == context.chip &&
           shape.samples[static_cast<std::size_t>(group)] <
               std::min(context.level, config_.samples);
  };
  const auto affords = [&](double us) {
    // The budget is a share of the time that the program would have taken without.
    const auto elapsed = static_cast<double>(now_ns() - began_ns_.load());
    const auto spent = static_cast<double>(spent_ns_.load(std::memory_order_relaxed));
    return spent + us * 1000 <= (elapsed - spent) * config_.overhead_permille / 1000;
  };
  const auto needed = [&] {
    context.unneeded = 0;
    context.fruitless = false;
    context.needed_at_ns = now_ns();
    return true;
  };
  if (began_ns_.load(std::memory_order_relaxed) == 0) began_ns_.store(now_ns());
  const double first_us = first_cost_us_.load(std::memory_order_relaxed);
  if (context.started) return needs(context.group) && needed();
  // Nothing was needed for as long as it takes to earn so many switches.
  const auto idle = [&](int switches) {
    const auto idle_ns = static_cast<double>(now_ns() - context.needed_at_ns);
    return idle_ns * config_.overhead_permille > switches * first_us * 1e6;
  };
  if (++context.unneeded % look_at_clock == 0) context.fruitless = idle(1);
  const bool over =
      context.group < 0 || context.fruitless ||
      context.phase_spent_ns > static_cast<std::int64_t>(phase_switches * first_us * 1000);
  if (over) {
    // The group that knows this shape least, if there is another than the present one.
    int best = -1;
    for (int i = 0; i < static_cast<int>(config_.groups.size()); ++i) {
      if (!needs(i) || i == context.group) continue;
      if (best < 0 || shape.samples[static_cast<std::size_t>(i)] <
                          shape.samples[static_cast<std::size_t>(best)]) {
        best = i;
      }
    }
    if (best >= 0) {
      if (!affords(first_us)) return false;  // it is saved for
      disable(context);
      context.group = best;
      context.phase_spent_ns = 0;
      return needed();
    }
    context.phase_spent_ns = 0;  // the phase goes on
  }
  if (context.group >= 0 && needs(context.group)) {
    needed();
    // A short window at least must be paid for.
    const wire::CollectGroup& group = group_of(context);
    const double switch_us = context.object ? group.switch_us : first_us;
    return affords(switch_us + 16 * group.launch_us);
  }
  if (!context.fruitless) return false;
  // This shape is known in all groups. Others may not be, and are given as long again to come.
  if (context.level == config_.samples) {
    disable(context);
  } else if (idle(2)) {
    context.level = config_.samples;
    needed();
  }
  return false;
}

void RangeProfiler::enough(const wire::Fields& fields) {
  const std::string_view name = fields.text("enough");
  const auto size = fields.numbers("size");
  if (size.size() != 6) return;
  const std::shared_lock lock(contexts_mutex_);
  for (const auto& context : contexts_) {
    if (context->id != fields.integer("context", -1)) continue;
    const std::lock_guard one(context->mutex);
    for (auto& [key, shape] : context->shapes) {
      if (!std::ranges::equal(key.size, size) || !key.symbol || name != key.symbol) continue;
      for (std::size_t i = 0; i < config_.groups.size(); ++i) {
        if (config_.groups[i].id == fields.integer("group", -1)) shape.samples[i] = config_.samples;
      }
    }
  }
}

}  // namespace gpuprof::collect
