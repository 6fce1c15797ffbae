// When most memory was allocated, by whom, and what was not released; as gpuprof memory prints it.
#include "libprof/base/error.hpp"
#include "libprof/report/all_reports.hpp"
#include "libprof/report/memory.hpp"

namespace gpuprof::report {
namespace {

void print_memory_summary(Session& session) {
  try {
    const memory::Account account =
        memory::account(session, {}, [&] { session.progress("reading allocations"); });
    print_memory(account, session.output(), {}, session.options());
  } catch (const store::DatabaseError&) {
    throw;
  } catch (const Error& error) {  // the file has no allocations
    session.output().heading(std::string(error.what()) + "; --track-memory records them.");
  }
}

}  // namespace

extern const Report memory_summary{
    .option = "print-memory-summary",
    .help =
        "Memory of the GPUs: its peak, its owners, what was not released\n"
        "gpuprof memory FILE has more.",
    .ours = true,
    .phase = Phase::extra,
    .order = 7,
    .top = true,
    .collected = {.memory = true},
    .does = Printer{print_memory_summary},
};

}  // namespace gpuprof::report
