// What changed between the runs of two sides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libprof/compare/run.hpp"

namespace gpuprof::compare {

enum class Verdict {
  same,
  faster,
  slower,
  unknown,       // the runs are too few or too different from one another
  inconclusive,  // the sides cannot be compared
};
std::string_view verdict_name(Verdict verdict);

struct Rules {
  // A change of less than this, as a share, does not count.
  double threshold = 0.01;
  // The threshold counts for single runs too.
  bool trust_single_runs = false;
  // Differences between the sides make nothing inconclusive.
  bool force = false;
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
  Change time;          // p is adjusted for the number of kernels
  double launches_a = 0, launches_b = 0;
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
  // Largest change first. The differences of the parts add up to that of the step.
  std::vector<PartChange> parts = {};
  std::vector<KernelChange> kernels = {};
  std::vector<Difference> differences = {};

  bool has_steps() const { return a.front().steps > 0; }
};

// Neither side is empty, and all runs have work.
Comparison compare(std::vector<Run> a, std::vector<Run> b, const Rules& rules);

}  // namespace gpuprof::compare
