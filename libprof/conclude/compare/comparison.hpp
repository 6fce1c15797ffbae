// What changed between the runs of two sides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libprof/conclude/compare/run.hpp"

namespace gpuprof::compare {

enum class Verdict {
  same,
  faster,
  slower,
  unknown,       // the runs are too few or too different from one another
  inconclusive,  // the sides cannot be compared
};
std::string_view verdict_name(Verdict verdict);

// What B must not exceed, whatever A is.
struct Limits {
  std::optional<double> time = {};    // ns, of a step
  std::optional<double> idle = {};    // share of the time
  std::optional<double> memory = {};  // bytes, see Run::memory_peak
};

// Of kernels or of a class of parts: a growth above it counts.
struct OwnThreshold {
  std::string
      name;  // a regular expression for kernels; a class of parts, or "idle" for all idle time
  double threshold = 0;  // as a share of the kernel's time; for a class, of that of the step
};

struct Rules {
  // A change of less than this, as a share, does not count.
  double threshold = 0.005;
  // The threshold counts for single runs too.
  bool trust_single_runs = false;
  // Differences between the sides make nothing inconclusive.
  bool force = false;
  // Runs of one program: changes that occur among these do not count either.
  std::vector<Run> calibration = {};
  Limits limits = {};
  std::vector<OwnThreshold> kernels = {}, classes = {};
};

// A figure of both sides.
struct Change {
  double a = 0, b = 0;                                   // means of the runs
  double shift = 0;                                      // see statistics.hpp
  std::optional<std::pair<double, double>> limits = {};  // of the shift, 95 %
  std::optional<double> p = {};                          // from 4 runs on each side on
  Verdict verdict = Verdict::unknown;

  double difference() const { return b - a; }
  // Of a time, such as the shift or one of its limits.
  double share(double time) const { return a > 0 ? time / a : 0; }
};

struct PartChange {
  PartName name;
  Change time;
};

struct KernelChange {
  std::string name;
  std::string display;  // as short as is unique among them
  Change time;          // p is that of all kernels together
  double launches_a = 0, launches_b = 0;
  // See KernelUse; empty if the runs of a side differ in it.
  std::string shape_a = {}, shape_b = {};
  std::string was = {};  // A's name for it, if it most likely is a kernel of another name there

  bool shape_changed() const { return !shape_a.empty() && !shape_b.empty() && shape_a != shape_b; }
};

// A rule that was given, and whether B keeps it.
struct Check {
  std::string name;
  std::string text;  // what was found
  enum class Outcome { kept, broken, unknown } outcome = Outcome::kept;
};

// A difference between the sides that is not what is compared.
struct Difference {
  std::string text;
  bool matters = false;  // what is measured is not the same thing
};

struct Comparison {
  std::vector<Run> a, b;
  Rules rules;
  Verdict verdict = Verdict::unknown;
  std::string reason = {};  // a sentence without its full stop
  Change step = {};
  // How long the kernels took in a run, as a share of what they took in all runs on average: the
  // median of them. Above all it is the clock. Nullopt: the runs or the kernels are too few.
  std::optional<Change> pace = {};
  // The step if all runs had had the same pace; as long as that is no difference between the sides.
  std::optional<Change> at_equal_pace = {};
  // Largest change first. The differences of the parts add up to that of the step.
  std::vector<PartChange> parts = {};
  std::vector<KernelChange> kernels = {};
  std::vector<Difference> differences = {};
  std::vector<Check> checks = {};

  // Whether B is slower or breaks a rule.
  bool is_worse() const;
  bool has_steps() const { return a.front().steps > 0; }
};

// Neither side is empty, and all runs have work.
Comparison compare(std::vector<Run> a, std::vector<Run> b, const Rules& rules);

}  // namespace gpuprof::compare
