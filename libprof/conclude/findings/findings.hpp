// What can be mended in a profile, ranked by what it saves at most. For gpuprof findings.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "libprof/conclude/findings/rule.hpp"
#include "libprof/read/window.hpp"
#include "libprof/report/account.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::findings {

// What a finding takes from one part of a device's account, and the most expensive of it.
struct Draw {
  std::string part;
  std::int64_t ns = 0;
  std::int64_t count = 0;                             // 0: not known
  std::optional<std::int64_t> first = {}, last = {};  // ns after the run's zero
  std::string what = {};                              // text of the file; empty: nothing
};

struct Finding {
  const Rule* rule = nullptr;
  std::int64_t device = 0;
  std::int64_t at_most = 0;  // ns; the draws add up to it
  // What the simulated schedule saves, at most that; nullopt: mending it is not simulated.
  std::optional<std::int64_t> simulated = {};
  // The median of the steps in that schedule, which other findings may share; nullopt: it is not
  // known, or no step is simulated.
  std::optional<std::int64_t> simulated_step = {};
  // What it saves of the time of kernels, ns by StringTable id, if the rule's mends say so.
  std::map<std::int64_t, std::int64_t> kernels = {};
  double share = 0;  // of the device's time
  Confidence confidence = Confidence::low;
  std::vector<Draw> draws = {};  // longest first
};

struct Device {
  std::int64_t id = 0;
  std::string name;        // text of the file
  std::int64_t begin = 0;  // ns after the run's zero
  // Kernels were measured one at a time while the program ran. How long the GPU was idle says
  // nothing then: it is left out of the time and of the parts.
  bool measured = false;
  std::int64_t time = 0;  // ns from its first work to its last; in a window, what of that is in it
  std::int64_t compute = 0, communication = 0, copy = 0, set = 0;  // ns
  // ns by part of the account, as statement.hpp names them; they add up to the time.
  std::map<std::string, std::int64_t> parts = {};
  std::vector<report::AccountRow> rows = {};  // of the account

  std::int64_t idle() const { return time - compute - communication - copy - set; }
};

// All findings of a device mended together.
struct Together {
  std::int64_t device = 0;
  std::int64_t at_most = 0;    // ns
  std::int64_t simulated = 0;  // ns, of those that are simulated
  std::int64_t findings = 0, of_them_simulated = 0;
};

// What a rule asked, and why it could not answer.
struct Judgement {
  const Rule* rule = nullptr;
  std::string sql = {};       // empty: it did not ask
  std::string abstains = {};  // the reason; empty: it answered
};

struct Findings {
  std::int64_t begin = 0, end = 0;  // of the time that is judged, ns after the run's zero
  bool of_steps = false;            // that is the time of the steps, because nothing was chosen
  std::int64_t warm_up = 0;         // steps that are left out, the first
  std::vector<Device> devices;
  std::int64_t steps = 0;  // in that time, of the process with most; 0: none
  // Of their times, from start to start; nullopt: of up to three steps none is known.
  std::optional<std::int64_t> median_step;
  std::vector<std::string> doubts;  // why the confidence of all findings is lower, sentences
  std::vector<std::string> notes;   // of what costs no time yet, sentences
  // Those that save most come first: what is simulated counts, otherwise the bound, and of rules of
  // low confidence a twentieth of it, since that says little.
  std::vector<Finding> findings;
  std::vector<Together> together;     // in the order of `devices`; see simulated.hpp
  std::vector<Judgement> judgements;  // in the order of rules()

  const Device& device(std::int64_t id) const;
};

// By default of the steps, or of the run if none are known: reading::judged_window(). All findings
// together never take more from a part of a device's account than it has. `check` is called now and
// then and may throw.
Findings read_findings(store::Database& database, const reading::Moment& from,
                       const reading::Moment& to, const std::function<void()>& check);

}  // namespace gpuprof::findings
