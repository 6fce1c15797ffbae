// What is measured, and when a window ends: the decisions of a replay mode, for one context.
//
// A policy knows nothing of CUPTI, and of time only what its clock says. RangeProfiler asks it at
// each launch and follows its decision. Called by one thread at a time, under the context's lock;
// has no locks itself.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "libprof/wire/measures.hpp"

namespace gpuprof::collect {

// Nanoseconds, from an arbitrary origin.
using MeasureClock = std::function<std::int64_t()>;

// What measuring may cost, and has cost: a share of the time that the program would have taken
// without it. Shared by all contexts of the process. Any thread.
class Budget {
 public:
  // `first_cost_us`: the assumed cost of a profiler object's first Start until one has been
  // observed.
  Budget(MeasureClock clock, double first_cost_us, std::uint32_t permille)
      : clock_(std::move(clock)), permille_(permille), first_cost_us_(first_cost_us) {}

  std::int64_t now() const { return clock_(); }
  // The first launch starts the clock.
  void begin();
  void spend(std::int64_t ns) { spent_ns_.fetch_add(ns, std::memory_order_relaxed); }
  bool affords(double us) const;
  // Whether enough time has passed to earn this cost.
  bool has_earned(std::int64_t in_ns, double us) const {
    return static_cast<double>(in_ns) * permille_ > us * 1e6;
  }

  // The last first Start's cost, which is assumed for the next one.
  double first_cost_us() const { return first_cost_us_.load(std::memory_order_relaxed); }
  void first_start_took(std::int64_t ns) {
    first_cost_us_.store(static_cast<double>(ns) / 1000, std::memory_order_relaxed);
  }
  // Share of the time since the first launch; negative: there was none.
  std::int64_t spent_permille() const;

 private:
  const MeasureClock clock_;
  const std::uint32_t permille_;
  std::atomic<std::int64_t> began_ns_{0};
  std::atomic<std::int64_t> spent_ns_{0};
  std::atomic<double> first_cost_us_;
};

// How far measuring has got in a context.
struct Window {
  int group = -1;        // the last one measured; -1: none yet
  bool enabled = false;  // there is a profiler object
  bool open = false;     // between Start and Stop
};

struct Decision {
  static constexpr int nothing = -1;
  int group = nothing;   // to measure the launch in
  bool release = false;  // give up the profiler object first
};

class Policy {
 public:
  // For a context on a device of this chip. `config` must outlive the policy.
  static std::unique_ptr<Policy> make(const wire::CollectConfig& config, std::string chip,
                                      Budget& budget);
  virtual ~Policy() = default;

  // The group in which a scope is measured in this context; negative: none.
  int group_of_scope(std::uint32_t scope) const;

  // For a launch that `scope` asks for. `samples`: how often launches of this shape were measured,
  // by group. `nothing`: this scope does not measure it; the next one may.
  virtual Decision decide(std::uint32_t scope, std::span<const std::uint32_t> samples,
                          const Window& window);
  // Whether no other scope is asked when decide() returns `nothing`.
  virtual bool decides_for_all_scopes() const { return false; }
  // For an unwanted launch while a window of `group` is open: whether to leave the window, rather
  // than measure the launch and discard the result, whichever has been cheaper so far.
  virtual bool leaves(const wire::CollectGroup& group);
  // Whether the result of such a launch is useful anyway.
  virtual bool keeps(int /*group*/, std::span<const std::uint32_t> /*samples*/) const {
    return false;
  }
  // Called for each launch, measured or not; for a measured one, with the time it took; and when
  // a launch's sample is complete.
  virtual void launched() {}
  virtual void measured(int /*group*/, std::int64_t /*ns*/) {}
  virtual void sampled(int /*group*/, std::span<std::uint32_t> /*samples*/) {}

  // How many ranges an image of the group should hold.
  virtual std::uint32_t batch(const wire::CollectGroup&) const { return config_.batch; }
  // An image with `batch` ranges was sent. Returns whether the next ones should be larger.
  virtual bool grows(const wire::CollectGroup& /*group*/, std::uint32_t /*batch*/) { return false; }
  // The group takes several runs of the program: a window covers one pass.
  virtual bool takes_runs(const wire::CollectGroup& group) const { return group.passes > 1; }
  // The group's passes are those of as many launches of one shape: a window has one range.
  virtual bool takes_launches(const wire::CollectGroup&) const { return false; }
  // Whether such a window's next launch has not come since then, and is no longer waited for.
  virtual bool stops_waiting(std::int64_t /*since_ns*/) const { return false; }
  // Whether a window may be sent before it is full, so that results need not wait for more
  // launches. Passes in several runs require the same windows in each.
  virtual bool may_send_early(const wire::CollectGroup& group) const { return !takes_runs(group); }

  // Time spent in this context: to begin a window, `first` if with a profiler object's first Start;
  // and to read one out.
  virtual void begun(std::int64_t /*ns*/, bool /*first*/) {}
  virtual void closed(std::int64_t /*ns*/) {}

 protected:
  Policy(const wire::CollectConfig& config, std::string chip, Budget& budget)
      : config_(config), chip_(std::move(chip)), budget_(budget) {}

  const wire::CollectConfig& config_;
  const std::string chip_;
  Budget& budget_;
  double wasted_us_ = 0;  // on launches between wanted ones, since the last wanted one
};

// Several runs of the program, or one: all launches that are asked for.
class ApplicationPolicy : public Policy {
 public:
  ApplicationPolicy(const wire::CollectConfig& config, std::string chip, Budget& budget)
      : Policy(config, std::move(chip), budget) {}

  std::uint32_t batch(const wire::CollectGroup&) const override {
    return config_.batch * growth_.factor;
  }
  bool grows(const wire::CollectGroup& group, std::uint32_t batch) override;

 private:
  // Larger images for a context that keeps launching.
  struct Growth {
    std::uint32_t factor = 1;    // multiplies the requested batch
    std::uint64_t measured = 0;  // ranges, with this factor
  };
  Growth growth_;
};

// One run; CUPTI repeats each launch for all passes.
class KernelPolicy : public Policy {
 public:
  KernelPolicy(const wire::CollectConfig& config, std::string chip, Budget& budget)
      : Policy(config, std::move(chip), budget) {}

  bool leaves(const wire::CollectGroup&) override { return true; }
  bool takes_runs(const wire::CollectGroup&) const override { return false; }
};

// The program's own ranges: all launches in one are measured as a whole.
class UserRangePolicy : public Policy {
 public:
  UserRangePolicy(const wire::CollectConfig& config, std::string chip, Budget& budget)
      : Policy(config, std::move(chip), budget) {}

  bool leaves(const wire::CollectGroup&) override { return false; }
  bool may_send_early(const wire::CollectGroup&) const override { return false; }
};

// One run, and a budget: samples of each launch shape, group after group.
//
// CUPTI accepts a different configuration only with a new profiler object, whose first Start costs
// some 0.2 s (measured), and more in a program with many kernels. So a context stays with a group
// for a phase, and spends it on windows that begin at launches of shapes which the group has not
// seen often enough. First each group gets a few launches of each shape, then more. A group of
// several passes takes as many launches of a shape for one sample, each in a pass of its own.
class MultiplexPolicy : public Policy {
 public:
  MultiplexPolicy(const wire::CollectConfig& config, std::string chip, Budget& budget)
      : Policy(config, std::move(chip), budget) {}

  Decision decide(std::uint32_t scope, std::span<const std::uint32_t> samples,
                  const Window& window) override;
  bool decides_for_all_scopes() const override { return true; }
  bool keeps(int group, std::span<const std::uint32_t> samples) const override;
  void launched() override;
  void measured(int group, std::int64_t ns) override;
  void sampled(int group, std::span<std::uint32_t> samples) override;
  bool takes_runs(const wire::CollectGroup&) const override { return false; }
  bool takes_launches(const wire::CollectGroup& group) const override { return group.passes > 1; }
  bool stops_waiting(std::int64_t since_ns) const override;
  std::uint32_t batch(const wire::CollectGroup& group) const override;
  void begun(std::int64_t ns, bool first) override;
  void closed(std::int64_t ns) override { phase_.spent_ns += ns; }

 private:
  // The time that a context stays with one group.
  struct Phase {
    std::int64_t spent_ns = 0;      // on measuring in it
    std::uint64_t unneeded = 0;     // launches since the group last needed one,
    std::int64_t needed_at_ns = 0;  // when that was
    bool fruitless = false;         // that is too long ago: another group may get the phase
  };

  bool needs(int group, std::span<const std::uint32_t> samples) const;
  void needed();
  // Whether nothing was needed for as long as it takes to earn this many first Starts.
  bool idle(int first_starts) const;

  Phase phase_;
  std::uint32_t level_ = 4;  // samples of each shape wanted for now
};

}  // namespace gpuprof::collect
