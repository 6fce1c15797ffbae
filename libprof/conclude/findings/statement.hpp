// The SQL of a finding: a rule's SELECT, and before it what the rule may read in addition to the
// profile's tables and views. It runs in any SQLite client and gives the number that is printed.
//
//   span(first, last)                                the window, ns on CUPTI's clock
//   account(device, part, domain, cause, ns, count)  the account of each device in the window
//   room(device, part, ns)                           what rules before this one left of each part
//   slow_steps(device, part, first, last, ns,        the account of each step that took much
//        usual)                                      longer than most, and what another step has
//                                                    on average
//   gaps(device, first, last, length, no_call,       times without work that are in the window:
//        launch, queued, after_wait, what)           `length` is of the whole gap, `no_call`,
//                                                    `launch` and `queued` are what of it is in
//                                                    these parts of the account, the rest being
//                                                    in calls, `after_wait` whether the host
//                                                    waited for the GPU when the gap began, `what`
//                                                    the name of the work after it, `saved` what
//                                                    it would be shorter by without the waits
//   kernel_launches(device, process, stream, name,   kernels that are in the window, by how they
//        blocks, threads, shared_memory, registers,  were launched, as in the table: `stream` with
//        carveout, local_memory, ns, count,          its context, sizes for a block or thread,
//        longest, first, last)                       -1 for no carveout; `ns` is in the window,
//                                                    `longest` of whole launches
//   communication(device, first, last, wait,         NCCL's operations by kernel, in the whole run,
//        what)                                       if it reported them, otherwise its kernels by
//                                                    name; `wait` until the last rank came
//   graph_launches(device, kernels, launches)        of these, kernels of CUDA graphs recorded by
//                                                    node, and launches of their graphs
//   measured(device, function, metric, value)       means of metrics by kernel
//   stalls(device, function, reason, samples,        PC samples by kernel and stall reason
//        not_issued)
//
// Parts of the account: compute, communication, set, "copy 1" with the direction
// (CUpti_ActivityMemcpyKind), and of idle time queued, launch, call, no call, unknown and short
// gap. `cause` is the API_NAME.cbid of a call or launch, whose domain is in `domain`.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "libprof/compute/account.hpp"
#include "libprof/conclude/findings/rule.hpp"

namespace gpuprof::findings {

// A row of `account`. Only numbers and our own words, which are put into the text of the SQL.
struct AccountLine {
  std::int64_t device = 0;
  std::string part = {};
  std::string domain = {};
  std::int64_t cause = 0;
  std::int64_t ns = 0;
  std::int64_t count = 0;
};

// Without the time before a device's first work and after its last.
std::vector<AccountLine> account_lines(const compute::Accounts& accounts);

// Time by part, ns, for each device.
using Room = std::map<std::int64_t, std::map<std::string, std::int64_t>>;
Room room_of(const std::vector<AccountLine>& account);

struct SlowSteps;  // slow_steps.hpp

std::string span_of(const compute::AccountWindow& window);

// Columns of the rows: device, part, ns, at_most_ns (the sum of the device's rows), count, and of
// the most expensive row of the rule first, last and what. `room` must not be empty. `shared`: the
// SQL of gaps and the other tables that rules share (shared_tables.hpp); empty if the rule reads
// none, or they are tables.
std::string statement_of(const Rule& rule, const compute::AccountWindow& window,
                         const std::vector<AccountLine>& account, const Room& room,
                         const SlowSteps& slow, const std::string& shared);

// What the rows save of each kernel that they name. Columns: device, what, ns.
std::string kernels_statement_of(const Rule& rule, const compute::AccountWindow& window,
                                 const std::vector<AccountLine>& account, const Room& room,
                                 const SlowSteps& slow, const std::string& shared);

}  // namespace gpuprof::findings
