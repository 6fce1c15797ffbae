#include "libprof/counters/pm.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <nlohmann/json.hpp>

#include "libprof/base/json_text.hpp"
#include "libprof/counters/host.hpp"

using namespace gpuprof;
using Json = nlohmann::ordered_json;

namespace {

constexpr std::int64_t most_samples = std::numeric_limits<std::uint32_t>::max();

Json read_pm_request(const char* request) {
  Json object = Json::parse(request, nullptr, false);
  if (!object.is_object()) {
    throw Error("the request is no JSON object", "gpuprof.h says what it is", ExitCode::bad_option);
  }
  return object;
}

template <class Value>
Value member(const Json& object, const char* name, Value otherwise) {
  try {
    const auto found = object.find(name);
    return found == object.end() || found->is_null() ? otherwise : found->get<Value>();
  } catch (const Json::exception&) {
    throw Error(std::string(name) + " has another type", "gpuprof.h says which",
                ExitCode::bad_option);
  }
}

std::uint64_t positive(const Json& object, const char* name, std::int64_t otherwise) {
  const std::int64_t value = member(object, name, otherwise);
  if (value > 0) return static_cast<std::uint64_t>(value);
  throw Error(std::string(name) + " has to be more than 0", "", ExitCode::bad_option);
}

std::uint32_t checked_count(std::int64_t samples) {
  if (samples > 0 && samples <= most_samples) return static_cast<std::uint32_t>(samples);
  throw Error("the number of samples has to be more than 0", "", ExitCode::bad_option);
}

}  // namespace

int gpuprof_pm::open(const char* request) {
  return guarded([&] {
    const Json wanted = read_pm_request(request);
    consumer_ =
        counters::open_consumer(member(wanted, "device", 0),
                                counters::cupti_candidates(member(wanted, "cupti", std::string())));
  });
}

counters::Consumer& gpuprof_pm::consumer() const {
  if (!consumer_) throw Error("PM sampling was not opened", "", ExitCode::bad_option);
  return *consumer_;
}

int gpuprof_pm::configure(const char* request) {
  return guarded([&] {
    const Json wanted = read_pm_request(request);
    counters::ConsumerSettings settings;
    const auto names = wanted.find("metrics");
    if (names == wanted.end()) throw Error("no metric is named", "", ExitCode::bad_option);
    settings.metrics = counters::read_names(names->dump().c_str());
    settings.set = member(wanted, "set", std::string());
    settings.interval = positive(wanted, "interval", 10'000);
    settings.by_time = !member(wanted, "cycles", false);
    settings.buffer_bytes = positive(wanted, "buffer_bytes", std::int64_t{512} << 20);
    settings.keep_latest = member(wanted, "keep_latest", false);
    consumer().configure(settings);
  });
}

int gpuprof_pm::start(std::int64_t ring) {
  return guarded([&] {
    consumer().start(static_cast<std::size_t>(std::clamp<std::int64_t>(ring, 0, most_samples)));
  });
}

int gpuprof_pm::stop() {
  return guarded([&] { consumer().stop(); });
}

void gpuprof_pm::wait(std::int64_t milliseconds) {
  const auto patience = std::clamp<std::int64_t>(milliseconds, 0, 3'600'000);
  if (consumer_) consumer_->wait(std::chrono::milliseconds(patience));
}

int gpuprof_pm::take(std::int64_t most, gpuprof_samples** samples) {
  return guarded([&] {
    auto taken = std::make_unique<gpuprof_samples>();
    taken->taken = consumer().take(checked_count(most));
    *samples = taken.release();
  });
}

int gpuprof_pm::image_bytes(const char* metrics, std::int64_t samples, std::int64_t* bytes) {
  return guarded([&] {
    *bytes = static_cast<std::int64_t>(
        consumer().image_bytes(counters::read_names(metrics), checked_count(samples)));
  });
}

int gpuprof_pm::state(const char** text) {
  return guarded([&] {
    const counters::ConsumerState state = consumer().state();
    text_ = json_text(Json{{"chip", state.chip},
                           {"consumers", state.consumers},
                           {"samples", state.samples},
                           {"lost", state.lost},
                           {"overflows", state.overflows},
                           {"problem", state.problem}});
    *text = text_.c_str();
  });
}
