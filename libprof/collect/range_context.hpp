// What the range profiler knows of each context. For the files of RangeProfiler alone.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "libprof/collect/range_profiler.hpp"
#include "libprof/cupti/first_start.hpp"

namespace gpuprof::collect {

// CUPTI's parameters for one call.
#define GPUPROF_PARAMS(type) cupti::sized<type>(type##_STRUCT_SIZE)

inline std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Why a range that was measured has no values: MeasuredRange::note counts these from 1.
inline constexpr std::array notes{
    wire::other_launch,
    std::string_view("counters of patched code leave out the CUDA graphs that were launched"),
    std::string_view("launches of several threads got mixed up"),
};
enum Note : std::uint16_t { other_launch = 1, graphs_left_out = 2, mixed_up = 3 };

// Launches that are alike: name, grid and block.
struct RangeProfiler::Shape {
  bool known = false;                  // what the next two say
  bool may_hang = false;               // never to be measured
  std::vector<bool> scopes;            // whose devices, contexts and names fit
  std::uint64_t launches = 0;          // so far
  std::vector<std::uint32_t> samples;  // by group, multiplex only
};

struct RangeProfiler::Context {
  struct ShapeKey {
    const char* symbol;
    std::array<std::uint32_t, 6> size;
    bool operator==(const ShapeKey&) const = default;
  };
  struct ShapeHash {
    std::size_t operator()(const ShapeKey& key) const {
      std::size_t hash = reinterpret_cast<std::size_t>(key.symbol);
      for (const std::uint32_t part : key.size) hash = (hash ^ part) * 0x9e3779b97f4a7c15u;
      return hash ^ (hash >> 29);
    }
  };

  const CUcontext handle;
  const std::uint32_t number;  // wire::CounterData::context_number
  std::uint32_t id = 0;
  std::uint32_t device = 0;
  std::string chip;
  std::timed_mutex mutex;  // held through a measured launch; guards the rest
  std::atomic<bool> dead{false};
  std::atomic<bool> failed{false};
  std::atomic<bool> overlapped{false};  // a launch got in between

  CUpti_RangeProfiler_Object* object = nullptr;
  int group = -1;  // configured
  bool configured = false;
  bool started = false;
  std::uint32_t batch = 0;     // ranges per image, of the group
  std::uint32_t growth = 1;    // times the batch that was asked for
  std::uint64_t measured = 0;  // with this batch
  std::uint32_t window = 0;
  struct FreshImage {
    std::vector<std::uint8_t> bytes;  // as CUPTI initialised them
    std::uint32_t batch = 0;
  };
  std::map<int, FreshImage> fresh_images;  // by group
  std::vector<std::uint8_t> image;
  std::vector<wire::MeasuredRange> rows;  // of the image
  std::int64_t first_row_ns = 0;
  std::vector<std::uint64_t> prints;  // of the window's launches, see compare_passes
  std::vector<std::string> names;
  std::unordered_map<std::string, std::uint32_t> name_numbers;
  wire::CounterData list;  // launches not sent yet, measured or not
  std::unordered_map<std::string, std::uint32_t> list_names;
  std::unordered_map<ShapeKey, Shape, ShapeHash> shapes;
  // Blocks of numbers that fit, by scope, kind of number and block.
  std::map<std::tuple<std::uint32_t, char, std::uint32_t>, Questions::Answer> numbers;
  std::uint64_t ordinal = 0;
  double wasted_us = 0;  // on launches between those asked for, since the last of these
  wire::MeasuredRange launching;
  Shape* shape = nullptr;   // of it
  std::uint32_t level = 4;  // multiplex: samples of each shape to be had for now
  std::int64_t phase_spent_ns = 0;
  std::uint64_t unneeded = 0;           // launches since one was needed in this group,
  std::int64_t needed_at_ns = 0;        // which was then
  bool fruitless = false;               // too many: another group may have the phase
  bool pushed = false;                  // range mode: a range is open
  std::atomic<std::uint64_t> range{0};  // the one that it took part in last
  std::atomic<bool> had_graph{false};   // was launched in it

  std::atomic<std::int64_t> busy_since{0};  // ns, steady clock; 0: nothing is going on
  std::atomic<const char*> busy_with{nullptr};

  Context(CUcontext context, std::uint32_t its_number) : handle(context), number(its_number) {}
};

// For the watch: this takes however long it takes.
class RangeProfiler::Busy {
 public:
  Busy(Context& context, const char* what) : context_(context) {
    context.busy_with.store(what, std::memory_order_relaxed);
    context.busy_since.store(now_ns(), std::memory_order_release);
  }
  ~Busy() { context_.busy_since.store(0, std::memory_order_release); }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  Context& context_;
};

}  // namespace gpuprof::collect
