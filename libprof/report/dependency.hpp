// Dependency analysis of one process: what each call waited for, and the critical path.
//
// The rules are those of nvprof's documentation and of the CUDA API:
//  - The calls of a thread follow one another. A call made inside another one is part of it.
//  - GPU work begins after its launching call begins, after the preceding work of its stream, and
//    after the events that its stream was told to wait for. The null stream and the streams that
//    block with it wait for one another.
//  - A synchronization ends after all work of its stream, context or event that was launched before
//    it. The same is true of copies and sets that return only when the data is there, and of
//    cudaFree and cudaFreeHost.
//  - The waiting time of a call is the part of it during which such work runs. A call that waits is
//    not on the critical path; the work that it waited for last is.
//  - The critical path is followed back from the end of the last record. GPU work is preceded by
//    whichever of its conditions was met last; a call, by the previous call of its thread. Time
//    between the records of the path belongs to no record ("<Other>").
// Waits between threads are not recorded. The first call of a thread follows the call, on any
// thread, that began last before it.
//
// O(n log n) time, and about 60 bytes per record.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace gpuprof::report::dependency {

// What a function does, as far as its name shows.
enum class Role : std::uint8_t { other, copy, async_copy, frees, synchronizes_context };

// When the call that launched a copy or set returns.
enum class Returns : std::uint8_t {
  at_once,
  after_it,         // unless the function is asynchronous
  after_it_always,  // even if the function is asynchronous
};

struct Call {
  std::int64_t start, end;
  std::int64_t correlation;  // 0: none
  std::int32_t thread;       // threads, contexts, streams and labels are numbered from 0
  std::uint32_t label;
};

struct Work {
  std::int64_t start, end;  // end > start
  std::int64_t correlation;
  std::int32_t stream;
  std::uint32_t label;
  Returns returns = Returns::at_once;
  bool nested = false;       // launched by a kernel; correlation and stream are the first kernel's
  std::int32_t launch = -1;  // computed, as is the next: the launching call
  std::int32_t before = -1;  // the work that had to end first; -1: it began after the call
};

struct Stream {
  std::int32_t context;
  bool null = false;
  bool blocking = true;  // synchronizes with the null stream
};

enum class Waits : std::uint8_t { for_event, stream_for_event, for_stream, for_context };

struct Synchronization {
  std::int64_t correlation;
  Waits kind;
  std::int32_t context;
  std::int32_t stream;  // -1: none
  std::int64_t event;
};

struct EventRecord {
  std::int64_t correlation;
  std::int32_t stream;
  std::int64_t event;  // of the stream's context
};

// All records of a process, in any order.
struct Timeline {
  std::vector<Call> calls;
  std::vector<Work> work;
  std::vector<Stream> streams;
  std::vector<Synchronization> synchronizations;
  std::vector<EventRecord> events;
  std::int32_t threads = 0;
  std::int32_t contexts = 0;
};

// The result for one record. The critical path may contain only part of a record.
struct DependencyRow {
  std::int64_t start, end;
  std::uint32_t label;
  std::int64_t critical, waiting;  // ns
};

class Analysis {
 public:
  // `roles` is indexed by the labels of calls.
  Analysis(Timeline timeline, const std::vector<Role>& roles);

  // Visits all records, ordered by start.
  void each(const std::function<void(const DependencyRow&)>& row) const;
  // The time of the path that belongs to no record.
  std::int64_t other() const { return other_; }
  // How many waits were for events without a record.
  std::int64_t unknown_events() const { return unknown_events_; }

 private:
  struct Inner {
    Call call;
    std::int32_t outer;
  };
  struct Wait {
    std::int32_t call, work;
    std::int64_t time;
  };
  friend class Sweep;

  void sort_calls();
  void sort_work();
  void follow_path();

  Timeline timeline_;                   // calls: outermost only; calls and work are sorted by start
  std::vector<Inner> inner_;            // sorted by start
  std::vector<std::int32_t> previous_;  // previous call of the thread; -1: none
  std::vector<Wait> waits_;             // indexed by call
  using Part = std::pair<std::int32_t, std::int64_t>;
  std::vector<Part> critical_calls_, critical_work_;  // indexed by record
  std::int64_t other_ = 0;
  std::int64_t unknown_events_ = 0;
};

}  // namespace gpuprof::report::dependency
