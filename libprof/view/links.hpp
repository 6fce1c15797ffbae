// What a record has to do with others, as the page draws it with arrows.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "libprof/view/model.hpp"
#include "libprof/view/sections.hpp"

namespace gpuprof::view {

struct Linked {
  Place place;
  Item item;
};

// Work begins when its call has asked for it, the work before it in its stream is over, and so is
// what the stream was told to wait for.
enum class Waits { launch, stream, event };
std::string_view name_of(Waits why);  // "launch"
struct Waited {
  Linked record;
  Waits why{};
};

struct Links {
  std::optional<Linked> launch;  // of GPU work: the call
  std::vector<Linked> work;      // of a call: what it asked for, at most 100, in order
  // Of GPU work: the one before it in its stream, if that was running when the call began, and work
  // in other streams by events; else the call.
  std::vector<Waited> waited;
};
Links find_links(Subject& subject, const Model& model, const Place& place, const Item& item);

}  // namespace gpuprof::view
