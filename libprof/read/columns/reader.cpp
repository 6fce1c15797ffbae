#include "libprof/read/columns/reader.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>

#include "libprof/base/saturating.hpp"
#include "libprof/read/columns/page_reader.hpp"
#include "libprof/read/columns/tree_walk.hpp"
#include "libprof/read/columns/value.hpp"

namespace gpuprof::columns {
namespace {

// Bytes of the file read at a time: with the resulting columns, they fit into a core's cache.
constexpr std::size_t bytes_at_a_time = 256 << 10;
// Row ids that SQLite reads at a time.
constexpr std::int64_t ids_at_a_time = 16384;
constexpr std::size_t most_rows = 16384;  // per chunk of those
// Chunks per thread that may wait until those before them have been visited.
constexpr std::size_t read_ahead = 4;

constexpr std::int64_t last_of_all = std::numeric_limits<std::int64_t>::max();

using store::quoted_name;
using store::ScannedRow;

}  // namespace

// Deals out a table in stretches, in row order. Any thread may call it, one at a time.
class Reader::Dealer {
 public:
  Dealer(const Plan& plan, std::size_t threads, std::size_t pages_at_a_time)
      : plan_(plan), first_ids_(threads) {
    if (plan.table.empty()) return;
    if (plan.tree) {
      walk_.emplace(*plan.tree, pages_at_a_time, plan.needed);
    } else {
      rest_ = Stretch{.first = std::numeric_limits<std::int64_t>::min(), .last = last_of_all};
    }
  }

  // Reads through the connection of this thread. Nullopt: no more rows.
  std::optional<Stretch> next(store::Database& reader, std::size_t thread) {
    while (true) {
      if (rest_ && plan_.row_id.empty()) return std::exchange(rest_, std::nullopt);
      if (rest_) {
        if (auto stretch = next_rows(reader, first_ids_[thread])) return stretch;
      }
      if (!walk_) return std::nullopt;
      auto stretch = walk_->next(reader);
      if (!stretch || !stretch->pages.empty()) return stretch;
      rest_ = std::move(stretch);
    }
  }

 private:
  // A range of ids within rest_, starting from the first that exists.
  std::optional<Stretch> next_rows(store::Database& reader, store::Statement& first_id) {
    if (!first_id.handle()) {
      first_id =
          reader.prepare("SELECT min(" + plan_.row_id + ") FROM main." + quoted_name(plan_.table) +
                         " NOT INDEXED WHERE " + plan_.row_id + " BETWEEN ?1 AND ?2");
    }
    std::optional<Stretch> stretch;
    if (first_id.bind(1, rest_->first).bind(2, rest_->last).step() && !first_id.is_null(0)) {
      stretch = Stretch{.first = first_id.integer(0), .last = rest_->last};
      const std::int64_t end = saturating_add(stretch->first, ids_at_a_time - 1);
      stretch->last = std::min(end, rest_->last);
    }
    first_id.reset();
    if (stretch && stretch->last < rest_->last) {
      rest_->first = stretch->last + 1;
    } else {
      rest_.reset();
    }
    return stretch;
  }

  const Plan& plan_;
  std::optional<TreeWalk> walk_;
  std::optional<Stretch> rest_;              // for SQLite to read
  std::vector<store::Statement> first_ids_;  // by thread
};

// Reads stretches on one thread.
class Reader::Worker {
 public:
  // Receives some rows. The chunk is the worker's: it may be moved from, leaving an empty one.
  using Emit = std::function<void(Chunk&)>;

  Worker(Reader& reader, std::size_t thread, Emit emit)
      : reader_(reader),
        database_(reader.snapshot_.reader(thread)),
        emit_(std::move(emit)),
        chunk_(reader.make_chunk()) {
    if (reader.plan_.tree) pages_.emplace(database_, reader.plan_);
  }

  store::Database& database() { return database_; }

  void read(const Stretch& stretch) {
    if (!stretch.pages.empty()) {
      if (pages_->read(stretch, chunk_)) {
        ++reader_.from_file_;
        return emit();
      }
      chunk_.clear();
    }
    ++reader_.by_sqlite_;
    if (!rows_) prepare_rows();
    if (reader_.plan_.row_id.empty()) {
      rows_->read_all();
    } else {
      rows_->read(stretch.first, stretch.last);
    }
    emit();
  }

 private:
  void emit() {
    if (chunk_.rows() > 0) emit_(chunk_);
    chunk_.clear();
  }

  void prepare_rows() {
    const Plan& plan = reader_.plan_;
    std::vector<std::string> columns;
    const auto select = [&](const ColumnSource& source) {
      const bool missing = source.place == ColumnSource::Place::missing;
      columns.push_back(missing ? "NULL" : quoted_name(source.name));
    };
    for (const ColumnSource& source : plan.columns) select(source);
    for (const Plan::Test& test : plan.tests) select(test.source);
    if (columns.empty()) columns.emplace_back("NULL");
    rows_.emplace(database_, reader_.snapshot_.has_own_readers(), plan.table, columns, plan.row_id,
                  [this](ScannedRow row) { take(row); });
  }

  void take(ScannedRow row) {
    const Plan& plan = reader_.plan_;
    const auto columns = static_cast<int>(plan.columns.size());
    for (int i = 0; i < static_cast<int>(plan.tests.size()); ++i) {
      const int at = columns + i;
      if (row.type(at) != store::ValueType::integer) return;
      if (!plan.tests[static_cast<std::size_t>(i)].condition.accepts(row.integer(at))) return;
    }
    for (int i = 0; i < columns; ++i) {
      Value value{.type = row.type(i)};
      switch (value.type) {
        case store::ValueType::null: break;
        case store::ValueType::integer: value.integer = row.integer(i); break;
        case store::ValueType::real: value.real = row.real(i); break;
        case store::ValueType::text: value.bytes = row.text(i); break;
        case store::ValueType::blob: {
          const auto bytes = row.blob(i);
          value.bytes = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
        }
      }
      add_value(chunk_, static_cast<std::size_t>(i), value);
    }
    chunk_.add_rows(1);
    if (chunk_.rows() == most_rows) emit();
  }

  Reader& reader_;
  store::Database& database_;
  Emit emit_;
  Chunk chunk_;
  std::optional<PageReader> pages_;
  std::optional<store::RowReading> rows_;
};

// Chunks on their way from the reading threads to the visiting one, in row order. A thread waits
// before it gets too far ahead.
class Reader::Queue {
 public:
  Queue(Dealer& dealer, std::size_t most) : dealer_(dealer), most_(most) {}

  struct Turn {
    std::size_t number;
    Stretch stretch;
  };
  // The next stretch to read. Nullopt: there are no more.
  std::optional<Turn> take(store::Database& reader, std::size_t thread) {
    std::unique_lock lock(mutex_);
    moved_.wait(lock, [&] { return waiting_.size() < most_ || dealt_out_; });
    if (dealt_out_) return std::nullopt;
    std::optional<Stretch> stretch;
    std::exception_ptr thrown;
    try {
      stretch = dealer_.next(reader, thread);
    } catch (...) {
      thrown = std::current_exception();
    }
    if (stretch || thrown) waiting_.push_back({.done = thrown != nullptr, .thrown = thrown});
    dealt_out_ = !stretch;
    moved_.notify_all();
    if (!stretch) return std::nullopt;
    return Turn{.number = first_ + waiting_.size() - 1, .stretch = *std::move(stretch)};
  }

  // Leaves an empty chunk. False: nobody wants it.
  bool push(std::size_t number, Chunk& chunk) {
    std::unique_lock lock(mutex_);
    moved_.wait(lock, [&] { return stopped_ || waiting_[number - first_].chunks.size() < 2; });
    if (stopped_) return false;
    waiting_[number - first_].chunks.push_back(std::move(chunk));
    chunk = Chunk();
    if (!spare_.empty()) {
      chunk = std::move(spare_.back());
      spare_.pop_back();
    }
    moved_.notify_all();
    return true;
  }

  // The whole stretch has been read, or `thrown` ended it.
  void finish(std::size_t number, std::exception_ptr thrown) {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    waiting_[number - first_].done = true;
    waiting_[number - first_].thrown = std::move(thrown);
    moved_.notify_all();
  }

  // The next chunk in row order. False: there are no more.
  bool pop(Chunk& chunk) {
    std::unique_lock lock(mutex_);
    while (true) {
      moved_.wait(lock, [&] {
        return waiting_.empty() ? dealt_out_
                                : waiting_.front().done || !waiting_.front().chunks.empty();
      });
      if (waiting_.empty()) return false;
      Waiting& front = waiting_.front();
      if (!front.chunks.empty()) {
        if (chunk.column_count() > 0) spare_.push_back(std::move(chunk));
        chunk = std::move(front.chunks.front());
        front.chunks.pop_front();
        moved_.notify_all();
        return true;
      }
      if (front.thrown) std::rethrow_exception(front.thrown);
      waiting_.pop_front();
      ++first_;
      moved_.notify_all();
    }
  }

  void stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = dealt_out_ = true;
    moved_.notify_all();
  }

 private:
  struct Waiting {
    std::deque<Chunk> chunks = {};
    bool done = false;
    std::exception_ptr thrown = {};
  };

  Dealer& dealer_;
  const std::size_t most_;
  std::mutex mutex_;
  std::condition_variable moved_;
  std::deque<Waiting> waiting_;  // stretches that were dealt out and not yet visited
  std::size_t first_ = 0;        // number of the first one
  std::vector<Chunk> spare_;
  bool dealt_out_ = false, stopped_ = false;
};

Reader::Reader(store::Snapshot& snapshot, const Request& request)
    : snapshot_(snapshot),
      plan_(make_plan(snapshot, request)),
      pages_at_a_time_(request.pages_at_a_time > 0 ? request.pages_at_a_time
                       : plan_.tree
                           ? std::max<std::size_t>(1, bytes_at_a_time / plan_.tree->page_size)
                           : 1) {}

Chunk Reader::make_chunk() const {
  std::vector<Column> columns;
  for (const ColumnSource& source : plan_.columns) columns.emplace_back(source.type);
  return Chunk(std::move(columns));
}

void Reader::read(const std::function<void(const Chunk&)>& visit) {
  Dealer dealer(plan_, threads(), pages_at_a_time_);
  if (threads() == 1) {
    Worker worker(*this, 0, visit);
    while (const auto stretch = dealer.next(worker.database(), 0)) {
      snapshot_.database().check_watch();
      worker.read(*stretch);
    }
    return;
  }
  struct Stopped {};
  Queue queue(dealer, read_ahead * threads());
  const auto work = [&](std::size_t thread) {
    std::size_t number = 0;
    Worker worker(*this, thread, [&](Chunk& chunk) {
      if (!queue.push(number, chunk)) throw Stopped();
      if (chunk.column_count() == 0) chunk = make_chunk();
    });
    while (const auto turn = queue.take(worker.database(), thread)) {
      number = turn->number;
      std::exception_ptr thrown;
      try {
        worker.read(turn->stretch);
      } catch (...) {
        thrown = std::current_exception();
      }
      queue.finish(number, thrown);
      if (thrown) return;
    }
  };
  std::vector<std::jthread> workers;
  struct Stop {  // before waiting for the threads
    Queue& queue;
    ~Stop() { queue.stop(); }
  } stop_at_end{queue};
  try {
    for (std::size_t i = 0; i < threads(); ++i) workers.emplace_back(work, i);
  } catch (const std::system_error&) {
    if (workers.empty()) throw;  // otherwise continue with fewer threads
  }
  Chunk chunk;
  while (queue.pop(chunk)) {
    snapshot_.database().check_watch();
    visit(chunk);
  }
}

struct Reader::Cursor::Parts {
  explicit Parts(Reader& of)
      : reader(of),
        dealer(of.plan_, of.threads(), of.pages_at_a_time_),
        worker(of, 0, [this](Chunk& chunk) {
          chunks.push_back(std::move(chunk));
          chunk = reader.make_chunk();
        }) {}

  Reader& reader;
  Dealer dealer;
  std::deque<Chunk> chunks;  // all but the first were not requested yet
  Worker worker;
};

Reader::Cursor::Cursor(Reader& reader) : parts_(std::make_unique<Parts>(reader)) {}
Reader::Cursor::~Cursor() = default;

const Chunk* Reader::Cursor::next() {
  auto& [reader, dealer, chunks, worker] = *parts_;
  if (!chunks.empty()) chunks.pop_front();
  while (chunks.empty()) {
    const auto stretch = dealer.next(worker.database(), 0);
    if (!stretch) return nullptr;
    reader.snapshot_.database().check_watch();
    worker.read(*stretch);
  }
  return &chunks.front();
}

void Reader::scan_by_threads(const std::function<void(std::size_t thread, const Chunk&)>& visit) {
  Dealer dealer(plan_, threads(), pages_at_a_time_);
  snapshot_.database().check_watch();
  std::mutex dealing;
  std::atomic<bool> stop = false;
  std::exception_ptr thrown;
  const auto work = [&](std::size_t thread) {
    try {
      Worker worker(*this, thread, [&](Chunk& chunk) { visit(thread, chunk); });
      const auto next = [&] {
        const std::lock_guard lock(dealing);
        return dealer.next(worker.database(), thread);
      };
      for (auto stretch = next(); stretch && !stop; stretch = next()) {
        if (thread == 0) snapshot_.database().check_watch();
        worker.read(*stretch);
      }
    } catch (...) {
      const std::lock_guard lock(dealing);
      if (!thrown) thrown = std::current_exception();
      stop = true;
    }
  };
  {
    std::vector<std::jthread> others;
    try {
      for (std::size_t i = 1; i < threads(); ++i) others.emplace_back(work, i);
    } catch (const std::system_error&) {
      // Continue with fewer threads.
    }
    work(0);
  }
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace gpuprof::columns
