#include "libprof/compute/memory/sweep.hpp"

#include <algorithm>
#include <array>
#include <tuple>
#include <unordered_map>

#include "libprof/base/saturating.hpp"
#include "schema/enums.hpp"

namespace gpuprof::memory {
namespace {

struct Held {
  std::int64_t bytes = 0, time = 0, owner = 0;
  std::size_t use = 0;
};

// The effect of one operation.
struct Change {
  std::size_t use = 0;            // of the operation
  const Held* came = nullptr;     // valid until the next operation
  std::optional<Held> gone = {};  // released, or replaced
  bool replaced = false;
};

// The allocations live at a time.
class Live {
 public:
  Change apply(const Operation& operation) {
    Group& group = groups_[{operation.process, operation.device, operation.kind, 0}];
    Change change{
        .use = use_of({operation.process, operation.device, operation.kind, operation.pool_type})};
    if (operation.what == Operation::What::release) {
      const auto found = group.find(operation.address);
      if (found == group.end()) return change;
      change.gone = found->second;
      group.erase(found);
      return change;
    }
    const auto [place, is_new] = group.try_emplace(operation.address);
    Held& held = place->second;
    if (!is_new) {
      change.gone = held;
      change.replaced = true;
    }
    held = {operation.bytes, operation.time, operation.owner, change.use};
    change.came = &held;
    return change;
  }

  const std::vector<Place>& places() const { return places_; }

  // Visits what is live in a place.
  template <class Visit>
  void for_each(std::size_t use, Visit visit) const {
    Place place = places_[use];
    place.pool_type = 0;
    const auto group = groups_.find(place);
    if (group == groups_.end()) return;
    for (const auto& [address, held] : group->second) {
      if (held.use == use) visit(held);
    }
  }

 private:
  using Group = std::unordered_map<std::int64_t, Held>;  // by address

  std::size_t use_of(const Place& place) {
    const auto [found, is_new] = uses_.try_emplace(place, places_.size());
    if (is_new) places_.push_back(place);
    return found->second;
  }

  std::map<Place, Group> groups_;  // with pool_type 0: a release need not know its pool
  std::map<Place, std::size_t> uses_;
  std::vector<Place> places_;
};

bool is_of_memory(const Operation& operation) {
  return operation.what == Operation::What::allocation ||
         operation.what == Operation::What::release;
}

class Pools {
 public:
  void apply(const Operation& operation) {
    if (operation.pool == 0) return;
    PoolUse& pool = pools_[{operation.process, operation.device, operation.pool}];
    pool.process = operation.process;
    pool.device = operation.device;
    pool.address = operation.pool;
    if (operation.pool_type != 0) pool.type = operation.pool_type;
    if (operation.what == Operation::What::pool_trimmed) ++pool.trims;
    if (operation.what == Operation::What::pool_created) pool.destroyed = false;
    if (operation.what == Operation::What::pool_destroyed) {
      pool.destroyed = true;
      pool.reserved = pool.used = 0;
      return;
    }
    if (operation.pool_used >= 0) {
      pool.used = operation.pool_used;
      pool.used_peak = std::max(pool.used_peak, pool.used);
    }
    if (operation.pool_size < 0) return;
    if (pool.reserved >= 0 && operation.pool_size < pool.reserved) {
      ++pool.shrinks;
      pool.shrunk = true;
    } else if (operation.pool_size > pool.reserved && pool.shrunk) {
      ++pool.regrowths;
      pool.shrunk = false;
    }
    pool.reserved = operation.pool_size;
    pool.reserved_peak = std::max(pool.reserved_peak, pool.reserved);
    if (pool.used >= 0) {
      pool.unused_peak = std::max(pool.unused_peak, saturating_subtract(pool.reserved, pool.used));
    }
  }

  // Bytes reserved but not used.
  std::int64_t unused(std::int64_t device) const {
    std::int64_t bytes = 0;
    for (const auto& [key, pool] : pools_) {
      if (pool.device == device && pool.used >= 0 && pool.reserved > pool.used) {
        bytes = saturating_add(bytes, saturating_subtract(pool.reserved, pool.used));
      }
    }
    return bytes;
  }

  std::vector<PoolUse> take() const {
    std::vector<PoolUse> all;
    for (const auto& [key, pool] : pools_) all.push_back(pool);
    return all;
  }

 private:
  std::map<std::array<std::int64_t, 3>, PoolUse> pools_;
};

// The first pass: everything except what existed at the peaks, which are not known yet.
class Count {
 public:
  Count(const Request& request, Result& result) : request_(request), result_(result) {}

  void apply(const Operation& operation) {
    while (next_moment_ < request_.moments.size() &&
           request_.moments[next_moment_].time < operation.time) {
      tell_moment();
    }
    while (next_end_ < request_.ends.size() && request_.ends[next_end_].time < operation.time) {
      end_process(request_.ends[next_end_++].process);
    }
    if (result_.operations++ == 0) result_.first = operation.time;
    result_.last = operation.time;
    pools_.apply(operation);
    if (!is_of_memory(operation)) return;

    const Change change = live_.apply(operation);
    while (result_.uses.size() < live_.places().size()) {
      result_.uses.push_back({.place = live_.places()[result_.uses.size()]});
    }
    Use& use = result_.uses[change.use];
    if (change.gone) take_away(*change.gone);
    if (change.replaced) ++result_.uses[change.gone->use].replaced;
    if (operation.what == Operation::What::release) {
      ++use.releases;
      if (!change.gone) ++use.unknown_releases;
    } else {
      add(use, *change.came, operation);
    }
  }

  void finish() {
    while (next_moment_ < request_.moments.size()) tell_moment();
    for (std::size_t use = 0; use < result_.uses.size(); ++use) {
      if (!is_static(result_.uses[use].place.kind)) add_remaining(use);
    }
    std::ranges::stable_sort(result_.remaining, std::ranges::greater(), &Remaining::total);
    for (const auto& [id, its] : devices_) result_.devices.push_back(its);
    for (const auto& [key, owner] : owners_) result_.owners.push_back(owner);
    result_.pools = pools_.take();
  }

 private:
  OwnerUse& owner_of(const Held& held) {
    OwnerUse& owner = owners_[{held.use, held.owner}];
    owner.use = held.use;
    owner.owner = held.owner;
    return owner;
  }

  void add(Use& use, const Held& held, const Operation& operation) {
    ++use.allocations;
    ++use.live;
    use.allocated = saturating_add(use.allocated, held.bytes);
    use.in_use = saturating_add(use.in_use, held.bytes);
    if (use.in_use > use.peak) {
      use.peak = use.in_use;
      use.peak_time = held.time;
      use.peak_live = use.live;
    }
    const auto steady = request_.steady.find(use.place.process);
    if (operation.pool_type == 0 && steady != request_.steady.end() &&
        steady->second.begin <= held.time && held.time < steady->second.end) {
      ++use.steady;
      use.steady_bytes = saturating_add(use.steady_bytes, held.bytes);
    }
    OwnerUse& owner = owner_of(held);
    ++owner.allocations;
    ++owner.live;
    owner.allocated = saturating_add(owner.allocated, held.bytes);
    owner.in_use = saturating_add(owner.in_use, held.bytes);
    owner.peak = std::max(owner.peak, owner.in_use);
    if (!on_device(use.place.kind)) return;
    DeviceUse& its = devices_[use.place.device];
    its.device = use.place.device;
    change_device(use.place, held.bytes);
    if (its.in_use > its.peak) {
      its.peak = its.in_use;
      its.peak_time = held.time;
    }
  }

  void take_away(const Held& held) {
    Use& use = result_.uses[held.use];
    --use.live;
    use.in_use = saturating_subtract(use.in_use, held.bytes);
    OwnerUse& owner = owner_of(held);
    --owner.live;
    owner.in_use = saturating_subtract(owner.in_use, held.bytes);
    if (!on_device(use.place.kind)) return;
    change_device(use.place, -held.bytes);
  }

  void change_device(const Place& place, std::int64_t change) {
    std::int64_t& of_process = processes_[place.process][place.device];
    of_process = saturating_add(of_process, change);
    if (place.kind == schema::memory_kind("Managed")) {
      std::int64_t& managed = managed_[place.process][place.device];
      managed = saturating_add(managed, change);
    }
    std::int64_t& of_device = devices_[place.device].in_use;
    of_device = saturating_add(of_device, change);
  }

  // Managed memory may be on the host; how much of it is on the device is unknown.
  std::int64_t managed(std::int64_t device) const {
    std::int64_t bytes = 0;
    for (const auto& [process, devices] : managed_) {
      const auto found = devices.find(device);
      if (found != devices.end()) bytes = saturating_add(bytes, found->second);
    }
    return bytes;
  }

  void tell_moment() {
    std::int64_t in_use = 0;
    if (const std::int64_t device = request_.moments[next_moment_].device; device >= 0) {
      const auto its = devices_.find(device);
      if (its != devices_.end()) in_use = its->second.in_use;
      in_use = saturating_add(saturating_subtract(in_use, managed(device)), pools_.unused(device));
      result_.moments.push_back(in_use);
      ++next_moment_;
      return;
    }
    const auto found = processes_.find(request_.moments[next_moment_].process);
    if (found != processes_.end()) {
      for (const auto& [number, bytes] : found->second) in_use = saturating_add(in_use, bytes);
    }
    result_.moments.push_back(in_use);
    ++next_moment_;
  }

  // The driver reclaims the process's memory.
  void end_process(std::int64_t process) {
    managed_.erase(process);
    for (auto& [number, bytes] : processes_[process]) {
      std::int64_t& of_device = devices_[number].in_use;
      of_device = saturating_subtract(of_device, bytes);
      bytes = 0;
    }
  }

  void add_remaining(std::size_t use) {
    using Key = std::tuple<std::int64_t, std::int64_t, Left>;  // owner, bytes
    std::map<Key, Remaining> groups;
    live_.for_each(use, [&](const Held& held) {
      const Left left =
          request_.left ? request_.left(result_.uses[use].place, held.time) : Left::alive;
      Remaining& group = groups[{held.owner, held.bytes, left}];
      if (group.count++ == 0) {
        group.use = use;
        group.owner = held.owner;
        group.bytes = held.bytes;
        group.left = left;
        group.first = group.last = held.time;
      }
      group.first = std::min(group.first, held.time);
      group.last = std::max(group.last, held.time);
    });
    for (const auto& [key, group] : groups) result_.remaining.push_back(group);
  }

  const Request& request_;
  Result& result_;
  Live live_;
  Pools pools_;
  std::map<std::pair<std::size_t, std::int64_t>, OwnerUse> owners_;
  std::map<std::int64_t, DeviceUse> devices_;
  // Device memory in use, by process and device.
  std::map<std::int64_t, std::map<std::int64_t, std::int64_t>> processes_, managed_;
  std::size_t next_moment_ = 0, next_end_ = 0;
};

// The second pass: who owned the memory at each peak, and the curves.
class Look {
 public:
  Look(const Request& request, Result& result)
      : request_(request), result_(result), states_(result.uses.size()) {
    for (std::size_t i = 0; i < result.owners.size(); ++i) {
      const OwnerUse& owner = result.owners[i];
      owners_[{owner.use, owner.owner}] = i;
    }
    choose_curves(request);
  }

  void apply(const Operation& operation) {
    while (result_.looks.size() < request_.looks.size() &&
           request_.looks[result_.looks.size()].time < operation.time) {
      look_around();
    }
    if (!is_of_memory(operation)) return;
    const Change change = live_.apply(operation);
    const std::int64_t came = change.came ? change.came->bytes : 0;
    // What is gone may be of another place: in a pool rather than outside one, or vice versa.
    if (change.gone) move(change.gone->use, -change.gone->bytes, operation.time);
    if (!change.came) return;
    move(change.use, came, operation.time);
    const Use& use = result_.uses[change.use];
    State& state = states_[change.use];
    if (!state.told && state.in_use == use.peak && operation.time == use.peak_time) {
      state.told = true;
      live_.for_each(change.use, [&](const Held& held) {
        OwnerUse& owner = result_.owners[owners_.at({held.use, held.owner})];
        owner.at_peak = saturating_add(owner.at_peak, held.bytes);
        ++owner.at_peak_live;
      });
      if (request_.held > 0) hold(change.use);
    }
  }

  void finish() {
    while (result_.looks.size() < request_.looks.size()) look_around();
    for (std::size_t use = 0; use < states_.size(); ++use) {
      if (states_[use].curve) fill(states_[use], INT64_MAX);
    }
    std::ranges::stable_sort(result_.owners, [](const OwnerUse& a, const OwnerUse& b) {
      return std::tuple(a.use, b.at_peak, b.peak) < std::tuple(b.use, a.at_peak, a.peak);
    });
    std::ranges::stable_sort(result_.held, {}, &HeldAtPeak::use);
  }

 private:
  struct State {
    std::int64_t in_use = 0;
    bool told = false;
    Curve* curve = nullptr;
    std::size_t part = 0;  // current time slice
  };

  // Keeps the largest of what is live; of the same size, the oldest.
  void hold(std::size_t use) {
    std::vector<HeldAtPeak> all;
    live_.for_each(use, [&](const Held& held) {
      all.push_back({.use = use, .bytes = held.bytes, .time = held.time, .owner = held.owner});
    });
    const auto kept = static_cast<std::ptrdiff_t>(std::min(all.size(), request_.held));
    std::ranges::partial_sort(
        all, all.begin() + kept, [](const HeldAtPeak& a, const HeldAtPeak& b) {
          return std::tuple(b.bytes, a.time, a.owner) < std::tuple(a.bytes, b.time, b.owner);
        });
    result_.held.insert(result_.held.end(), all.begin(), all.begin() + kept);
  }

  void look_around() {
    const std::int64_t process = request_.looks[result_.looks.size()].process;
    std::map<std::pair<std::size_t, std::int64_t>, OwnerShare> shares;
    for (std::size_t use = 0; use < live_.places().size(); ++use) {
      const Place& place = live_.places()[use];
      if (place.process != process || !on_device(place.kind)) continue;
      live_.for_each(use, [&](const Held& held) {
        OwnerShare& share = shares[{use, held.owner}];
        share.use = use;
        share.owner = held.owner;
        share.bytes = saturating_add(share.bytes, held.bytes);
        ++share.live;
      });
    }
    std::vector<OwnerShare>& look = result_.looks.emplace_back();
    for (const auto& [key, share] : shares) look.push_back(share);
    std::ranges::stable_sort(look, std::ranges::greater(), &OwnerShare::bytes);
  }

  void choose_curves(const Request& request) {
    if (request.points == 0) return;
    std::vector<std::size_t> order(result_.uses.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, std::ranges::greater(),
                             [&](std::size_t use) { return result_.uses[use].peak; });
    if (order.size() > request.curves) order.resize(request.curves);
    std::ranges::sort(order);
    for (const std::size_t use : order) {
      result_.curves.push_back({.use = use, .points = std::vector<Curve::Point>(request.points)});
    }
    for (Curve& curve : result_.curves) states_[curve.use].curve = &curve;
  }

  std::size_t part_of(std::int64_t time) const {
    const auto parts = result_.curves.front().points.size();
    const auto span = static_cast<double>(saturating_subtract(result_.last, result_.first));
    if (span <= 0) return 0;
    const double share = static_cast<double>(saturating_subtract(time, result_.first)) / span;
    return std::min(parts - 1, static_cast<std::size_t>(share * static_cast<double>(parts)));
  }

  // Fills slices in which nothing changed.
  void fill(State& state, std::int64_t until) const {
    auto& points = state.curve->points;
    const std::size_t to = until == INT64_MAX ? points.size() - 1 : part_of(until);
    while (state.part < to) {
      ++state.part;
      points[state.part] = {state.in_use, state.in_use};
    }
  }

  void move(std::size_t use, std::int64_t change, std::int64_t time) {
    State& state = states_[use];
    if (state.curve) fill(state, time);
    state.in_use = saturating_add(state.in_use, change);
    if (!state.curve) return;
    Curve::Point& point = state.curve->points[state.part];
    point.most = std::max(point.most, state.in_use);
    point.last = state.in_use;
  }

  const Request& request_;
  Result& result_;
  Live live_;
  std::vector<State> states_;
  std::map<std::pair<std::size_t, std::int64_t>, std::size_t> owners_;
};

}  // namespace

bool on_device(std::int32_t kind) {
  return kind == schema::memory_kind("Device") || kind == schema::memory_kind("Array") ||
         kind == schema::memory_kind("Managed") || kind == created_kind || is_static(kind);
}

bool is_static(std::int32_t kind) {
  return kind == schema::memory_kind("DeviceStatic") ||
         kind == schema::memory_kind("ManagedStatic");
}

std::string_view name_of(Left left) {
  switch (left) {
    case Left::alive: return "alive";
    case Left::context_ended: return "context ended";
    case Left::kept: return "kept";
    case Left::lost: return "lost";
  }
  return "";
}

std::int64_t Remaining::total() const { return saturating_multiply(bytes, count); }

Result sweep(const Operations& for_each, const Request& request) {
  Result result;
  Count count(request, result);
  for_each([&](const Operation& operation) { count.apply(operation); });
  count.finish();
  Look look(request, result);
  for_each([&](const Operation& operation) { look.apply(operation); });
  look.finish();
  return result;
}

}  // namespace gpuprof::memory
