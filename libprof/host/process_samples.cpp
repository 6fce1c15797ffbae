#include "libprof/host/process_samples.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>

#include "libprof/base/clock.hpp"
#include "libprof/base/error.hpp"

namespace gpuprof::host {
namespace {

using std::chrono::milliseconds;

// A process may run another program later, which has an interpreter.
constexpr milliseconds first_search{50}, longest_search{3000};
// Places of code that are remembered with their lines.
constexpr std::size_t most_places = 1 << 16;
constexpr int most_tries = 5;  // to read a stack; some 10 us each

std::uint64_t now_ns() { return static_cast<std::uint64_t>(clock_ns(CLOCK_REALTIME)); }

}  // namespace

ProcessSamples::ProcessSamples(pid_t process, wire::RowSender& rows, StackNumbers& stacks)
    : process_(process),
      rows_(rows),
      stacks_(stacks),
      python_(process_.memory()),
      search_after_(first_search) {}

bool ProcessSamples::find_python() {
  if (Clock::now() < next_search_) return false;
  next_search_ = Clock::now() + search_after_;
  search_after_ = std::min<Clock::duration>(2 * search_after_, longest_search);
  try {
    const auto maps = process_.maps();
    const auto file = std::ranges::find_if(maps, [](const attach::Mapping& each) {
      // The driver maps devices below the program, and nobody can read these.
      return each.path.starts_with('/') && !each.path.starts_with("/dev/");
    });
    std::array<std::byte, 4> magic;
    if (file != maps.end() && !process_.memory()(file->begin, magic) && process_.alive()) {
      message_ = "its memory cannot be read; " + attach::ptrace_hint();
      return false;
    }
    frames_.clear();
    message_ = python_.find(maps);
  } catch (const Error& error) {
    if (process_.alive()) message_ = error.what();
  }
  return python_.found();
}

std::string ProcessSamples::take_message() {
  if (message_.empty() || std::exchange(said_, true)) return {};
  return message_;
}

std::size_t ProcessSamples::look(std::size_t most) {
  if (!python_.found() && !find_python()) return 0;
  if (!python_.read(moment_)) {
    // Another program, or an interpreter that ends: it is looked for again.
    if (Clock::now() >= next_search_) find_python();
    return 0;
  }
  search_after_ = first_search;
  if (moment_.threads.size() > most) moment_.threads.resize(most);
  for (auto& [id, seen] : threads_) seen.still_there = false;
  for (const RemotePython::Thread& thread : moment_.threads) look_at(thread);
  for (auto each = threads_.begin(); each != threads_.end();) {
    Seen& seen = each->second;
    if (seen.still_there) {
      ++each;
      continue;
    }
    end(seen, seen.row.stop);
    each = threads_.erase(each);
  }
  return moment_.threads.size();
}

void ProcessSamples::look_at(const RemotePython::Thread& thread) {
  auto place = threads_.find(thread.id);
  if (place == threads_.end()) {
    const auto here = process_.thread_of(thread.id);
    if (!here) return;
    place = threads_.try_emplace(thread.id, Seen{.now = ThreadState(process_.id(), *here)}).first;
  }
  Seen& seen = place->second;
  if (seen.still_there || !seen.now.look(moment_.locks)) return;
  seen.still_there = true;
  const std::uint64_t time = now_ns();
  const State state = seen.now.state();
  std::uint32_t holder = 0;
  if (state == State::waits_for_lock && moment_.locks.size() == 1) {
    holder = static_cast<std::uint32_t>(moment_.locks.front().holder);
  }
  const std::uint64_t stack = seen.known && !seen.now.has_run() ? seen.row.stack : stack_of(thread);
  const bool same =
      seen.known && seen.row.state == state && seen.row.stack == stack && seen.row.holder == holder;
  if (!same) {
    end(seen, time);
    seen.known = true;
    seen.row = {.time = time,
                .stop = time,
                .samples = 0,
                .process = static_cast<std::uint32_t>(process_.own_id()),
                .thread = static_cast<std::uint32_t>(thread.id),
                .state = state,
                .stack = stack,
                .holder = holder};
  }
  seen.row.stop = time;
  ++seen.row.samples;
}

void ProcessSamples::end(Seen& seen, std::uint64_t time) {
  if (!seen.known || seen.row.samples == 0) return;
  seen.row.stop = std::max(time, seen.row.time + 1);
  rows_.add<schema::HostSample>(seen.row);
}

void ProcessSamples::flush() {
  for (auto& [id, seen] : threads_) {
    end(seen, seen.row.stop);
    seen.row.time = seen.row.stop;
    seen.row.samples = 0;
  }
}

// The thread runs on meanwhile: a stack that does not hold together is read again.
std::uint64_t ProcessSamples::stack_of(RemotePython::Thread thread) {
  for (int tries = 0; tries < most_tries && python_.read_again(thread); ++tries) {
    if (!python_.read_stack(thread, places_)) continue;
    if (const auto stack = number_of_places()) return *stack;
  }
  return 0;
}

std::optional<std::uint64_t> ProcessSamples::number_of_places() {
  std::vector<std::uint32_t> frames;
  for (const RemotePython::Place& place : places_) {
    auto known = frames_.find(place);
    if (known == frames_.end()) {
      python::PythonFrame function;
      if (!python_.read_function(place, function)) return std::nullopt;
      if (frames_.size() == most_places) frames_.clear();
      known = frames_.emplace(place, stacks_.number_of(function)).first;
    }
    if (known->second == 0) return 0;
    frames.push_back(known->second);
  }
  return stacks_.number_of(frames);
}

std::vector<pid_t> ProcessSamples::children() const {
  constexpr std::size_t most_threads = 4096, most = 1024;
  std::vector<pid_t> found;
  std::error_code error;
  std::filesystem::directory_iterator threads("/proc/" + std::to_string(id()) + "/task", error);
  for (std::size_t i = 0; !error && i < most_threads && threads != decltype(threads)();
       ++i, threads.increment(error)) {
    std::ifstream numbers(threads->path() / "children");
    for (pid_t child = 0; found.size() < most && numbers >> child;) found.push_back(child);
  }
  return found;
}

}  // namespace gpuprof::host
