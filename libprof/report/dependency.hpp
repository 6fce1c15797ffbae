// Dependency analysis of one process: what each call waited for, and the critical path.
//
// The rules are those of nvprof's documentation and of the CUDA API:
//  - The calls of a thread follow one another. A call made inside another is part of that one.
//  - GPU work begins after the begin of the call that asked for it, after what its stream did
//    before, and after the events that its stream was told to wait for. The null stream and the
//    streams that block with it wait for one another.
//  - A synchronization ends after all the work that its stream, context or event stands for and
//    that was asked for before it. The same is true of copies and sets that do not return before
//    the data is there, and of cudaFree and cudaFreeHost.
//  - Waiting is the part of a call in which such work runs. A call that waits is not on the
//    critical path; the work that it waited for last is.
//  - The critical path is followed back from the end of the last record. Before GPU work comes that
//    of its conditions which was met last; before a call comes the call before it on its thread.
//    Time between the records of the path is nobody's ("<Other>").
// What threads wait for among themselves is not in the records. The first call of a thread follows
// the call that began last before it, on whatever thread.
//
// Takes O(n log n), and about 60 bytes per record.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace gpuprof::report::dependency {

// What a function does, as far as its name tells.
enum class Role : std::uint8_t { other, copy, async_copy, frees, synchronizes_context };

// When the call that asked for a copy or set returns.
enum class Returns : std::uint8_t {
  at_once,
  after_it,         // unless the function is an asynchronous one
  after_it_always,  // asynchronous or not
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
  std::int32_t launch = -1;  // the rest is found out: the call
  std::int32_t before = -1;  // work that it began after; -1: it began after the call
};

struct Stream {
  std::int32_t context;
  bool null = false;
  bool blocking = true;  // with the null stream
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

// What came out for one record. Of the path a record may have a part only.
struct Row {
  std::int64_t start, end;
  std::uint32_t label;
  std::int64_t critical, waiting;  // ns
};

class Analysis {
 public:
  // `roles`: of each label that calls have.
  Analysis(Timeline timeline, const std::vector<Role>& roles);

  // All records by start.
  void each(const std::function<void(const Row&)>& row) const;
  // The part of the path that no record has.
  std::int64_t other() const { return other_; }
  // Waits for events of which there is no record.
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

  Timeline timeline_;                   // calls: outermost ones; calls and work by start
  std::vector<Inner> inner_;            // by start
  std::vector<std::int32_t> previous_;  // the call before on the thread; -1: none
  std::vector<Wait> waits_;             // by call
  using Part = std::pair<std::int32_t, std::int64_t>;
  std::vector<Part> critical_calls_, critical_work_;  // by index
  std::int64_t other_ = 0;
  std::int64_t unknown_events_ = 0;
};

}  // namespace gpuprof::report::dependency
