// A window of a run as text for Prometheus (exposition format 0.0.4). For gpuprof serve.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "libprof/compute/step_names.hpp"
#include "libprof/report/latest_window.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::report {

// Names, help and labels are documented in docs/serve.md.
class Prometheus {
 public:
  // Series of one answer, those of the window itself among them.
  static constexpr int most_series = 500;

  // Of a file that may have grown since the last call, as its window has. `check` is called now and
  // then and may throw.
  std::string text(store::Database& database, const LatestWindow::Times& window,
                   const std::function<void()>& check);

 private:
  // Rows that had come when the latest record was at `to`, by table.
  struct Mark {
    std::int64_t to = 0;
    std::map<std::string, std::int64_t> last;
  };
  struct Sum {
    std::int64_t count = 0, ns = 0, bytes = 0;
  };
  // A family of series.
  class Family;

  std::int64_t after(const std::string& table) const;
  void note_rows();
  store::Statement rows_in_window(const std::string& select, const std::string& table,
                                  const std::string& group);
  void add_window();
  void add_account(const std::function<void()>& check);
  void add_kernels();
  void add_copies();
  void add_sets();
  void add_steps();
  void add_collectives();
  void add_totals();

  std::deque<Mark> marks_;  // the oldest first
  std::optional<compute::StepNames> step_names_;

  // While text() runs.
  store::Database* database_ = nullptr;
  std::int64_t from_ = 0, to_ = 0;
  std::string text_;
  int series_ = 0, left_out_ = 0;
};

}  // namespace gpuprof::report
