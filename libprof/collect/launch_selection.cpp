#include "libprof/collect/launch_selection.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

namespace gpuprof::collect {

Shape& LaunchSelection::shape_of(Shapes& shapes, const Launch& launch) {
  Shapes::Key key{launch.symbol, {}};
  std::ranges::copy(launch.grid, key.size.begin());
  std::ranges::copy(launch.block, key.size.begin() + 3);
  Shape& shape = shapes.shapes_[key];
  if (shape.samples.empty()) shape.samples.resize(config_.groups.size());
  return shape;
}

void LaunchSelection::learn(Shapes& shapes, const Launch& launch, Shape& shape,
                            bool several_contexts) {
  const char* symbol = launch.symbol ? launch.symbol : "";
  Questions::Answer answer;
  if (config_.names_matter || std::strstr(symbol, "nccl")) {
    answer = questions_.kernel(symbol);
    if (!answer) return;
  }
  // Kernels that wait for each other hang if each runs alone: always under kernel replay, and if
  // one thread drives several GPUs.
  const bool kernel_replay = config_.mode == wire::ReplayMode::kernel;
  const bool waits = answer && answer->integer("waits") != 0;
  shape.may_hang = (waits && (kernel_replay || several_contexts)) ||
                   (kernel_replay && launch.cooperative) ||
                   (answer && answer->integer("left_out") != 0);
  std::vector<bool> named(config_.scopes.size(), !answer);
  if (answer) {
    for (const std::uint32_t scope : answer->numbers("scopes")) {
      if (scope < named.size()) named[scope] = true;
    }
  }
  std::vector<bool> fitting;
  for (std::uint32_t i = 0; i < config_.scopes.size(); ++i) {
    const wire::CollectScope& scope = config_.scopes[i];
    const bool device = scope.devices.empty() ||
                        std::ranges::find(scope.devices, shapes.device_) != scope.devices.end();
    bool fits = device && named[i];
    if (fits && scope.contexts) {
      const auto in_context = takes_number(shapes, i, "context", shapes.context_);
      if (!in_context) return;
      fits = *in_context;
    }
    fitting.push_back(fits);
  }
  shape.scopes = std::move(fitting);
  shape.known = true;
}

std::optional<bool> LaunchSelection::takes_number(Shapes& shapes, std::uint32_t scope,
                                                  const char* what, std::uint64_t number) {
  constexpr std::size_t most_blocks = 1024;  // of half a KiB
  const std::uint64_t block = number / wire::numbers_per_block;
  if (block > wire::last_number_block) return std::nullopt;
  if (shapes.numbers_.size() > most_blocks) shapes.numbers_.clear();
  auto& known = shapes.numbers_[{scope, *what, static_cast<std::uint32_t>(block)}];
  if (!known) known = questions_.numbers(scope, what, static_cast<std::uint32_t>(block));
  if (!known) return std::nullopt;
  const std::string_view bits = known->text("fits");
  const std::size_t place = number % wire::numbers_per_block;
  return place / 8 < bits.size() && (bits[place / 8] >> place % 8 & 1) != 0;
}

bool LaunchSelection::takes(Shapes& shapes, std::uint32_t scope, const char* what,
                            std::uint64_t number) {
  const auto fits = takes_number(shapes, scope, what, number);
  if (!fits) count_unanswered();
  return fits.value_or(false);
}

bool LaunchSelection::takes_next(std::uint32_t scope) {
  const std::uint64_t place = seen_[scope].fetch_add(1);
  const wire::CollectScope& wanted = config_.scopes[scope];
  return place >= wanted.skip && (wanted.count == 0 || place < wanted.skip + wanted.count);
}

bool LaunchSelection::wants_range(const char* message) {
  if (config_.ranges == wire::NvtxRanges::all) return true;
  const Questions::Answer answer = questions_.range(message);
  if (!answer) count_unanswered();
  return answer && answer->integer("fits") != 0;
}

void LaunchSelection::enough(Shapes& shapes, const wire::Fields& told) const {
  const std::string_view name = told.text("enough");
  const auto size = told.numbers("size");
  if (size.size() != 6) return;
  for (auto& [key, shape] : shapes.shapes_) {
    if (!std::ranges::equal(key.size, size) || !key.symbol || name != key.symbol) continue;
    for (std::size_t i = 0; i < config_.groups.size(); ++i) {
      if (config_.groups[i].id == told.integer("group", -1)) shape.samples[i] = config_.samples;
    }
  }
}

}  // namespace gpuprof::collect
