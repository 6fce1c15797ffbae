// Links between records, which the page draws as arrows.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "libprof/view/model/model.hpp"
#include "libprof/view/model/sections.hpp"

namespace gpuprof::view {

struct Linked {
  Place place;
  Item item;
};

// What work waits for: its launching call, the work before it in its stream, and the events that
// its stream was told to wait for.
enum class Waits { launch, stream, event };
std::string_view name_of(Waits why);  // "launch"
struct Waited {
  Linked record;
  Waits why{};
};

struct Links {
  std::optional<Linked> launch;  // for GPU work: the call
  std::vector<Linked> work;      // for a call: what it launched, at most 100, in order
  // For GPU work: the preceding work of its stream, if it was still running when the call began,
  // and work in other streams reached through events; otherwise the call.
  std::vector<Waited> waited;
};
Links find_links(Subject& subject, const Model& model, const Place& place, const Item& item);

}  // namespace gpuprof::view
