// What is measured in which run of the target.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "libprof/cupti/host.hpp"
#include "libprof/metrics/catalogue.hpp"
#include "libprof/metrics/evaluator.hpp"
#include "libprof/metrics/plan.hpp"
#include "libprof/metrics/request.hpp"
#include "libprof/metrics/selection.hpp"
#include "libprof/wire/frame.hpp"
#include "libprof/wire/measures.hpp"

namespace gpuprof::metrics {

struct PlannedGroup {
  std::uint32_t id = 0;  // from 1
  std::string chip;
  std::uint32_t scope = 0;
  Group group;
  GroupMetrics evaluated;
  std::size_t first_run = 0;  // application replay: the run of its first pass; the others follow
};

// Immutable: any thread.
class RunPlan {
 public:
  // For the chips present, without duplicates. Throws gpuprof::Error for names that have no meaning
  // on one of them, and for what cannot be measured in the requested way.
  RunPlan(const std::shared_ptr<const cupti::HostLibrary>& library,
          const std::vector<std::string>& chips, PlanOptions options);
  RunPlan(const RunPlan&) = delete;
  RunPlan& operator=(const RunPlan&) = delete;

  const PlanOptions& options() const { return options_; }
  // How often the target must run.
  std::size_t runs() const { return runs_; }
  // Lines of text: groups, passes, cost.
  std::string text() const;
  // What sets lack on the chips, one sentence each.
  const std::vector<std::string>& notes() const { return notes_; }
  // For ranges: names of the metrics that fit in one run. With several chips, those of the last.
  const std::vector<std::string>& most_of_one_run() const { return most_of_one_run_; }
  // For the database.
  wire::Frame description() const;
  std::vector<Selection::Scope> patterns() const { return Selection::patterns_of(scopes_); }
  // Null: there is none with this id.
  const PlannedGroup* group(std::uint32_t id) const;
  // The configuration for a process with this many launches; 0: unknown. Without the fields
  // specific to the process.
  wire::CollectConfig config(std::size_t run, std::uint64_t launches) const;

 private:
  void plan_chip(const cupti::HostChip& chip);
  std::vector<Metric> wanted_of(const cupti::HostChip& chip, const Catalogue& catalogue,
                                const Request& request);
  void plan_scope(const cupti::HostChip& chip, std::uint32_t scope,
                  const std::vector<Metric>& wanted);
  std::uint32_t number_of(const Metric& metric);
  void assign_runs(const std::string& chip);

  const PlanOptions options_;
  std::vector<std::unique_ptr<const std::vector<Metric>>> metrics_;  // by chip and scope
  std::vector<PlannedGroup> groups_;                                 // in the order of their ids
  std::vector<Request> scopes_;  // requests with distinct scopes
  wire::MetricsInfo info_;
  std::size_t runs_ = 1;
  std::vector<std::string> most_of_one_run_;
  std::vector<std::string> notes_;
};

}  // namespace gpuprof::metrics
