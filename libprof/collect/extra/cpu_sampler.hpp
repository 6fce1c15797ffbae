// --cpu-profiling: where the threads of the process use the processor, with their native stacks.
//
// Each thread has a timer on its own processor time, made by our thread, which interrupts it with
// SIGURG; so a thread that waits is never interrupted. Of a signal that nobody handles, SIGURG is
// the one that is ignored: one that comes late, after an exec say, does nothing. The handler copies
// the registers, the innermost part of the stack and, of a thread of Python, where its functions
// are: through the kernel, so that nothing can be wrong with the addresses, and with no lock, no
// allocation and little stack of its own. Our thread unwinds the copies and sends what it finds.
//
// Other signals of that number are the program's, and go to the handler that it had. If it has
// another handler later, that one stays and sampling ends for good.
#pragma once

#include <signal.h>
#include <sys/types.h>
#include <ucontext.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/collect/channel.hpp"
#include "libprof/collect/costs.hpp"
#include "libprof/collect/extra/cpu_stacks.hpp"
#include "libprof/collect/extra/python_threads.hpp"
#include "libprof/collect/extra/stack_unwinder.hpp"
#include "libprof/collect/extra/thread_masks.hpp"
#include "libprof/wire/messages.hpp"
#include "libprof/wire/row_sender.hpp"
#include "schema/cpu_samples.hpp"

namespace gpuprof::collect {

// One per process, and never destroyed: a signal may come late.
class CpuSampler {
 public:
  struct Host {
    Channel& channel;
    Costs& costs;
    std::mutex& loader;               // held while the dynamic loader is used
    std::function<void()> on_thread;  // called first on our thread
    std::function<void(std::string_view)> warn;
  };
  explicit CpuSampler(Host host);

  static std::vector<wire::WireTable> tables();

  // Nothing is sampled between finish() and begin(), which one thread at a time calls.
  // `interval`: of processor time.
  void begin(std::chrono::nanoseconds interval);
  // Returns when everything is sent, and no thread is interrupted any more.
  void finish();
  // In the child: there are no timers there, and no thread of ours.
  void forked() { active_.store(false); }

  // Samples for which there was no room.
  std::uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }

 private:
  using Clock = std::chrono::steady_clock;

  // A thread of the program's. The handler finds it by its address, which its timer's signals have.
  struct Target {
    std::atomic<pid_t> id{0};              // 0: none
    std::atomic<std::uint64_t> python{0};  // the interpreter's state of it; 0: none
    std::atomic<std::uint32_t> taken{0};   // samples
    std::atomic<bool> waits_for_signal{false};
    // Ours alone.
    int timer = -1;
    bool still_there = false;
    std::uint32_t seen_taken = 0;
    // Of its processor time, when it was last certain that it does not block the signal.
    std::chrono::nanoseconds certain{};
  };
  // A thread without a timer.
  struct LeftOut {
    bool still_there = true;
    bool blocks = false;  // the signal, for a moment maybe
    MaskSightings seen;
    Clock::duration pause{};
    Clock::time_point next{};  // time to look again
  };
  // A copy of what a thread was doing.
  struct Copy {
    enum State : std::uint32_t { free, being_made, made };
    static constexpr std::size_t most_stack = 32 << 10;

    std::atomic<std::uint32_t> state{free};
    std::uint32_t expired = 0;  // how often the timer has
    pid_t thread = 0;
    std::uint64_t time = 0;
    Registers registers;
    PythonSpots python;
    std::size_t stack_bytes = 0;
    std::array<std::byte, most_stack> stack;  // from the stack pointer on
  };

  // --- in the handler
  static void interrupted(int signal, siginfo_t* info, void* context) noexcept;
  bool is_ours(const siginfo_t& info) const;
  void take(const siginfo_t& info, const ucontext_t& context) noexcept;
  Copy* claim(pid_t thread);
  static void pass_on(int signal, siginfo_t* info, void* context) noexcept;

  // --- on our thread
  static void* thread_entry(void* self) noexcept;
  void sample();
  void end_sampling();
  // Sets it. Empty: it is set.
  std::string why_no_handler();
  bool has_handler() const;
  void give_back_handler();
  void look_for_threads();
  void look_at_sampled_threads();
  void look_at_new_threads();
  // What is seen of the thread is added to what was. true: it has a timer now, or has ended.
  bool add_thread(pid_t thread, LeftOut& left_out);
  void remove_thread(std::size_t number);
  // false: it has none.
  bool make_timer(pid_t thread, Target& target);
  void find_python();
  void take_copies();
  void add(const Copy& copy);
  void end_row(schema::CpuSample::Row& row);
  void send();
  void sleep();
  void say_once(const std::string& text);

  const Host host_;
  pid_t process_ = 0;
  std::chrono::nanoseconds interval_{};

  // Shared with handlers.
  static std::atomic<CpuSampler*> instance_;
  static struct sigaction before_;  // the program's own; changed while ours is not installed
  std::atomic<bool> active_{false};
  std::atomic<int> handlers_{0};  // that run now
  std::atomic<std::uint64_t> lost_{0};
  std::atomic<std::uint32_t> copies_made_{0};  // and not taken
  std::atomic<std::uint32_t> wakes_{0};        // a counter; our thread sleeps on it
  static constexpr std::size_t most_targets = 4096, most_copies = 128;
  using Targets = std::array<Target, most_targets>;
  using Copies = std::array<Copy, most_copies>;
  std::unique_ptr<Targets> targets_;
  std::unique_ptr<Copies> copies_;
  std::unique_ptr<PythonThreads> python_;

  std::atomic<bool> stops_{false}, done_{true};
  // Our thread's.
  std::set<std::string> said_;
  bool is_over_ = false;                  // for good: the program has another handler
  std::map<pid_t, std::size_t> numbers_;  // of targets_, by thread
  std::vector<std::size_t> free_numbers_;
  std::map<pid_t, LeftOut> left_out_;
  bool any_new_ = false;  // that are looked at soon
  bool any_sampled_ = false;
  std::minstd_rand random_;
  Clock::time_point next_threads_{}, next_python_{}, next_send_{};
  CodeModules modules_;
  std::unique_ptr<StackUnwinder> unwinder_;
  std::unique_ptr<CpuStacks> stacks_;
  std::vector<std::uint64_t> addresses_;
  std::map<pid_t, schema::CpuSample::Row> rows_;  // of each thread, the one that may go on
  std::unique_ptr<wire::RowSender> sender_;
  std::size_t unsent_ = 0;
};

}  // namespace gpuprof::collect
