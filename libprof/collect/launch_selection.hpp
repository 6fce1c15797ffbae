// Matches launches to scopes: what the user asked to measure. By device, context, stream,
// invocation and name; for names and numbers it asks the launcher (questions.hpp), which has the
// patterns.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "libprof/collect/launch.hpp"
#include "libprof/collect/questions.hpp"
#include "libprof/wire/measures.hpp"

namespace gpuprof::collect {

// Launches that are alike: name, grid and block.
struct Shape {
  bool known = false;                  // the next two are valid
  bool may_hang = false;               // never to be measured
  std::vector<bool> scopes;            // whose devices, contexts and names match
  std::uint64_t launches = 0;          // so far
  std::vector<std::uint32_t> samples;  // how often it was measured, by group
};

// State of one context. One thread at a time.
class Shapes {
 public:
  Shapes(std::uint32_t device, std::uint32_t context) : device_(device), context_(context) {}

 private:
  friend class LaunchSelection;
  struct Key {
    const char* symbol;
    std::array<std::uint32_t, 6> size;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      std::size_t hash = reinterpret_cast<std::size_t>(key.symbol);
      for (const std::uint32_t part : key.size) hash = (hash ^ part) * 0x9e3779b97f4a7c15u;
      return hash ^ (hash >> 29);
    }
  };

  const std::uint32_t device_;
  const std::uint32_t context_;
  std::unordered_map<Key, Shape, Hash> shapes_;
  // Blocks of matching numbers, by scope, kind of number and block.
  std::map<std::tuple<std::uint32_t, char, std::uint32_t>, Questions::Answer> numbers_;
};

// Any thread, but for one context one thread at a time.
class LaunchSelection {
 public:
  LaunchSelection(const wire::CollectConfig& config, Questions& questions)
      : config_(config), questions_(questions), seen_(config.scopes.size()) {}

  // The shape of a launch; it may not be known yet.
  Shape& shape_of(Shapes& shapes, const Launch& launch);
  // Asks the launcher, which may not answer: then ask again at the next launch. `several_contexts`:
  // there are others, and one thread may drive them all.
  void learn(Shapes& shapes, const Launch& launch, Shape& shape, bool several_contexts);

  // Calls take(scope) for each scope that asks for this launch, until it returns true. stream_id()
  // returns the stream's number.
  template <class StreamId, class Take>
  void for_each_scope(Shapes& shapes, const Shape& shape, StreamId&& stream_id, Take&& take);

  // Whether an NVTX range with this message should be measured.
  bool wants_range(const char* message);

  // The launcher has enough samples of a kernel shape in a group.
  void enough(Shapes& shapes, const wire::Fields& told) const;

  // Launches not measured for lack of an answer.
  std::atomic<std::uint64_t>& unanswered() { return unanswered_; }
  const std::atomic<std::uint64_t>& unanswered() const { return unanswered_; }

 private:
  void count_unanswered() { unanswered_.fetch_add(1, std::memory_order_relaxed); }
  // nullopt: unknown. `what` is as in a question.
  std::optional<bool> takes_number(Shapes& shapes, std::uint32_t scope, const char* what,
                                   std::uint64_t number);
  // The same for the current launch.
  bool takes(Shapes& shapes, std::uint32_t scope, const char* what, std::uint64_t number);
  // Counts a launch of a scope. Returns whether it is past those to skip and among those to
  // measure.
  bool takes_next(std::uint32_t scope);

  const wire::CollectConfig& config_;
  Questions& questions_;
  std::vector<std::atomic<std::uint64_t>> seen_;  // matching launches, by scope
  std::atomic<std::uint64_t> unanswered_{0};
};

template <class StreamId, class Take>
void LaunchSelection::for_each_scope(Shapes& shapes, const Shape& shape, StreamId&& stream_id,
                                     Take&& take) {
  for (std::uint32_t i = 0; i < config_.scopes.size(); ++i) {
    if (!shape.scopes[i]) continue;
    const wire::CollectScope& scope = config_.scopes[i];
    if (scope.streams && !takes(shapes, i, "stream", stream_id())) continue;
    if (scope.invocations && !takes(shapes, i, "invocation", shape.launches)) continue;
    if (takes_next(i) && take(i)) return;
  }
}

}  // namespace gpuprof::collect
