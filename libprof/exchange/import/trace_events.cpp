#include "libprof/exchange/import/trace_events.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "libprof/base/saturating.hpp"
#include "libprof/base/text.hpp"

namespace gpuprof::importing {
namespace {

using Json = nlohmann::json;

constexpr std::size_t deepest = 512;
constexpr std::size_t most_devices = 1024;
constexpr std::size_t longest_text = std::size_t{1} << 20;

// A number in the text: an integer if it fits, otherwise its digits.
struct Number {
  std::optional<std::int64_t> whole;
  std::string_view digits;  // empty: it is an integer
};

class Handler : public Json::json_sax_t {
 public:
  Handler(TraceHead& head, const std::function<bool(TraceEvent&)>& take)
      : head_(head), take_(take) {}

  bool had_events() const { return had_events_; }
  bool stopped() const { return stopped_; }
  bool too_deep() const { return too_deep_; }
  std::size_t error_at() const { return error_at_; }

  bool null() override {
    if (where() == Where::sizes) ++size_at_;
    return true;
  }
  bool boolean(bool) override { return no_number(); }
  bool number_integer(std::int64_t value) override { return number({value, {}}); }
  bool number_unsigned(std::uint64_t value) override {
    if (value > INT64_MAX) return number({std::nullopt, {}});
    return number({static_cast<std::int64_t>(value), {}});
  }
  bool number_float(double, const std::string& digits) override {
    return number({std::nullopt, digits});
  }
  bool string(std::string& text) override {
    std::string* place = text_place();
    // HIP puts numbers in quotes.
    if (!place) return is_argument() ? number({std::nullopt, text}) : true;
    *place = std::move(text);
    if (place->size() > longest_text) place->resize(longest_text);
    return true;
  }
  bool binary(Json::binary_t&) override { return true; }
  bool key(std::string& text) override {
    key_ = std::move(text);
    return true;
  }
  bool start_object(std::size_t) override {
    switch (where()) {
      case Where::outside: return enter(Where::head);
      case Where::head: return enter(key_ == "distributedInfo" ? Where::job : Where::other);
      case Where::events: event_ = {}; return enter(Where::event);
      case Where::event: return enter(key_ == "args" ? Where::arguments : Where::other);
      case Where::devices:
        if (head_.devices.size() >= most_devices) return enter(Where::other);
        head_.devices.emplace_back();
        return enter(Where::device);
      default: return enter(Where::other);
    }
  }
  bool end_object() override {
    const bool event = where() == Where::event;
    path_.pop_back();
    if (event && !take_(event_)) {
      stopped_ = true;
      return false;
    }
    return true;
  }
  bool start_array(std::size_t) override {
    switch (where()) {
      case Where::outside: had_events_ = true; return enter(Where::events);
      case Where::head:
        if (key_ == "traceEvents") {
          had_events_ = true;
          return enter(Where::events);
        }
        return enter(key_ == "deviceProperties" ? Where::devices : Where::other);
      case Where::arguments:
        if (key_ != "grid" && key_ != "block") return enter(Where::other);
        sizes_ = key_ == "grid" ? &event_.grid : &event_.block;
        size_at_ = 0;
        return enter(Where::sizes);
      default: return enter(Where::other);
    }
  }
  bool end_array() override {
    path_.pop_back();
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    error_at_ = position;
    return false;
  }

 private:
  enum class Where { outside, head, job, devices, device, events, event, arguments, sizes, other };
  using Place = std::optional<std::int64_t>;

  Where where() const { return path_.empty() ? Where::outside : path_.back(); }
  bool enter(Where where) {
    if (path_.size() >= deepest) {
      too_deep_ = true;
      return false;
    }
    path_.push_back(where);
    return true;
  }

  bool number(const Number& number) {
    if (where() == Where::event && (key_ == "ts" || key_ == "dur")) {
      Place& place = key_ == "ts" ? event_.start : event_.duration;
      place = number.digits.empty() && number.whole ? nanoseconds(std::to_string(*number.whole))
                                                    : nanoseconds(number.digits);
      return true;
    }
    Place* place = number_place();
    if (!place) return true;
    *place = number.whole;
    if (!number.digits.empty()) *place = whole(number.digits);
    if (!*place && is_argument()) ++event_.odd_values;
    return true;
  }
  bool is_argument() const { return where() == Where::arguments || where() == Where::sizes; }
  // Also accepts "7.0".
  static Place whole(std::string_view digits) {
    const auto value = parse<double>(digits);
    constexpr double most = 9e15;
    if (!value || std::abs(*value) > most || *value != std::floor(*value)) return std::nullopt;
    return static_cast<std::int64_t>(*value);
  }
  // A value that is not a number. If a process or thread is named like this, it has no id.
  bool no_number() {
    if (is_argument() && number_place()) ++event_.odd_values;
    return true;
  }

  Place* number_place() {
    const auto among = [&](const auto& names) -> Place* {
      for (const auto& [name, place] : names) {
        if (name == key_) return place;
      }
      return nullptr;
    };
    using Names = std::pair<std::string_view, Place*>;
    switch (where()) {
      case Where::head: return key_ == "baseTimeNanoseconds" ? &head_.base : nullptr;
      case Where::job:
        return among(
            std::array{Names{"rank", &head_.rank}, Names{"world_size", &head_.world_size}});
      case Where::event:
        return among(std::array{Names{"pid", &event_.process}, Names{"tid", &event_.thread}});
      case Where::arguments:
        return among(std::array{
            Names{"device", &event_.device}, Names{"context", &event_.context},
            Names{"stream", &event_.stream}, Names{"correlation", &event_.correlation},
            Names{"bytes", &event_.bytes}, Names{"registers per thread", &event_.registers},
            Names{"cbid", &event_.callback}, Names{"graph id", &event_.graph},
            Names{"graph node id", &event_.graph_node}, Names{"process", &event_.of_process}});
      case Where::sizes: {
        if (size_at_ >= sizes_->size()) return nullptr;
        return &(*sizes_)[size_at_++];
      }
      case Where::device: {
        TraceDevice& device = head_.devices.back();
        return among(std::array{
            Names{"id", &device.id}, Names{"totalGlobalMem", &device.memory},
            Names{"computeMajor", &device.major}, Names{"computeMinor", &device.minor},
            Names{"maxThreadsPerBlock", &device.threads_per_block},
            Names{"regsPerBlock", &device.registers_per_block},
            Names{"warpSize", &device.warp_size}, Names{"numSms", &device.multiprocessors},
            Names{"sharedMemPerBlock", &device.shared_memory_per_block},
            Names{"regsPerMultiprocessor", &device.registers},
            Names{"sharedMemPerMultiprocessor", &device.shared_memory},
            Names{"maxSharedMemoryPerMultiProcessor", &device.shared_memory}});  // of HIP
      }
      default: return nullptr;
    }
  }
  std::string* text_place() {
    switch (where()) {
      case Where::head: return key_ == "madeBy" ? &head_.made_by : nullptr;
      case Where::device: return key_ == "name" ? &head_.devices.back().name : nullptr;
      case Where::event:
        return key_ == "ph"     ? &event_.phase
               : key_ == "cat"  ? &event_.category
               : key_ == "name" ? &event_.name
                                : nullptr;
      case Where::arguments:
        return key_ == "domain"           ? &event_.domain
               : key_ == "cuda_sync_kind" ? &event_.wait
                                          : nullptr;
      default: return nullptr;
    }
  }

  TraceHead& head_;
  const std::function<bool(TraceEvent&)>& take_;
  TraceEvent event_;
  std::string key_;
  std::vector<Where> path_;
  std::array<Place, 3>* sizes_ = nullptr;
  std::size_t size_at_ = 0;
  std::size_t error_at_ = 0;
  bool had_events_ = false, stopped_ = false, too_deep_ = false;
};

}  // namespace

std::optional<std::int64_t> nanoseconds(std::string_view text) {
  const bool negative = text.starts_with('-');
  std::string_view rest = text.substr(negative ? 1 : 0);
  std::int64_t value = 0;
  int behind = -1;  // digits after the point; -1: no point yet
  bool any = false;
  for (const char c : rest) {
    if (c == '.' && behind < 0) {
      behind = 0;
    } else if (c >= '0' && c <= '9') {
      any = true;
      if (behind >= 3) continue;  // less than 1 ns
      value = saturating_add(saturating_multiply(value, 10), c - '0');
      if (behind >= 0) ++behind;
    } else {  // 1.7e15
      constexpr double most = 9e15;
      const auto number = parse<double>(text);
      if (!number || !(std::abs(*number) < most)) return std::nullopt;
      return static_cast<std::int64_t>(*number * 1000);
    }
  }
  for (int i = behind < 0 ? 0 : behind; i < 3; ++i) value = saturating_multiply(value, 10);
  if (!any || value == INT64_MAX) return std::nullopt;
  return negative ? -value : value;
}

std::string read_trace_events(TextStream& text, TraceHead& head,
                              const std::function<bool(TraceEvent&)>& take) {
  Handler handler(head, take);
  const bool read = Json::sax_parse(text.stream(), &handler);
  if (handler.stopped()) return {};
  if (!text.problem().empty()) return text.problem();
  if (handler.too_deep()) return "nests deeper than traces do";
  if (!read) {
    return text.stream().eof()
               ? "is cut off: its end is missing"
               : "is not JSON from byte " + std::to_string(handler.error_at()) + " on";
  }
  return handler.had_events() ? "" : "has no traceEvents";
}

}  // namespace gpuprof::importing
