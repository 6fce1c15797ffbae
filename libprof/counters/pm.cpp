// The functions of gpuprof.h for PM sampling. No exception crosses them.
#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "libprof/base/json_text.hpp"
#include "libprof/c_api/gpuprof.h"
#include "libprof/c_api/guard.hpp"
#include "libprof/counters/consumer.hpp"
#include "libprof/counters/host.hpp"

using namespace gpuprof;
using Json = nlohmann::ordered_json;

struct gpuprof_samples {
  counters::TakenSamples taken;
};

struct gpuprof_pm : public gpuprof::c_api::Guard {
  int open(const char* request);
  counters::Consumer& consumer() const;

  std::unique_ptr<counters::Consumer> opened;
  std::string text;  // the last one returned
};

namespace {

constexpr std::int64_t most_samples = std::numeric_limits<std::uint32_t>::max();

Json read_pm_request(const char* request) {
  Json object = Json::parse(request, nullptr, false);
  if (!object.is_object()) {
    throw Error("the request is not a JSON object", "gpuprof.h says what it is",
                ExitCode::bad_option);
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
    opened =
        counters::open_consumer(member(wanted, "device", 0),
                                counters::cupti_candidates(member(wanted, "cupti", std::string())));
  });
}

counters::Consumer& gpuprof_pm::consumer() const {
  if (!opened) throw Error("PM sampling was not opened", "", ExitCode::bad_option);
  return *opened;
}

int gpuprof_pm_open(const char* request, gpuprof_pm** pm) {
  return c_api::open_handle(request, pm);
}
void gpuprof_pm_close(gpuprof_pm* pm) { delete pm; }
const char* gpuprof_pm_error(const gpuprof_pm* pm) { return pm->error(); }
const char* gpuprof_pm_hint(const gpuprof_pm* pm) { return pm->hint(); }
int gpuprof_pm_cupti_result(const gpuprof_pm* pm) { return pm->cupti_result(); }

int gpuprof_pm_configure(gpuprof_pm* pm, const char* request) {
  return pm->guarded([&] {
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
    pm->consumer().configure(settings);
  });
}

int gpuprof_pm_start(gpuprof_pm* pm, int64_t ring) {
  return pm->guarded([&] {
    pm->consumer().start(static_cast<std::size_t>(std::clamp<std::int64_t>(ring, 0, most_samples)));
  });
}

int gpuprof_pm_stop(gpuprof_pm* pm) {
  return pm->guarded([&] { pm->consumer().stop(); });
}

void gpuprof_pm_wait(gpuprof_pm* pm, int64_t milliseconds) {
  const auto patience = std::clamp<std::int64_t>(milliseconds, 0, 3'600'000);
  if (pm->opened) pm->opened->wait(std::chrono::milliseconds(patience));
}

int gpuprof_pm_take(gpuprof_pm* pm, int64_t most, gpuprof_samples** samples) {
  *samples = nullptr;
  return pm->guarded([&] {
    auto taken = std::make_unique<gpuprof_samples>();
    taken->taken = pm->consumer().take(checked_count(most));
    *samples = taken.release();
  });
}

int gpuprof_pm_image_bytes(gpuprof_pm* pm, const char* metrics, int64_t samples, int64_t* bytes) {
  return pm->guarded([&] {
    *bytes = static_cast<std::int64_t>(
        pm->consumer().image_bytes(counters::read_names(metrics), checked_count(samples)));
  });
}

int gpuprof_pm_state(gpuprof_pm* pm, const char** text) {
  return pm->guarded([&] {
    const counters::ConsumerState state = pm->consumer().state();
    pm->text = json_text(Json{{"chip", state.chip},
                              {"consumers", state.consumers},
                              {"samples", state.samples},
                              {"lost", state.lost},
                              {"overflows", state.overflows},
                              {"problem", state.problem}});
    *text = pm->text.c_str();
  });
}

void gpuprof_samples_close(gpuprof_samples* samples) { delete samples; }

int64_t gpuprof_samples_count(const gpuprof_samples* samples) {
  return static_cast<int64_t>(samples->taken.starts.size());
}

int64_t gpuprof_samples_populated(const gpuprof_samples* samples) {
  return static_cast<int64_t>(samples->taken.populated);
}

const uint64_t* gpuprof_samples_starts(const gpuprof_samples* samples) {
  return samples->taken.starts.data();
}

const uint64_t* gpuprof_samples_ends(const gpuprof_samples* samples) {
  return samples->taken.stops.data();
}

const double* gpuprof_samples_values(const gpuprof_samples* samples) {
  return samples->taken.evaluated ? samples->taken.values.data() : nullptr;
}

int64_t gpuprof_samples_images(const gpuprof_samples* samples) {
  return static_cast<int64_t>(samples->taken.windows.size());
}

const uint8_t* gpuprof_samples_image(const gpuprof_samples* samples, int64_t number, int64_t* size,
                                     const int64_t** places, int64_t* count) {
  const auto& windows = samples->taken.windows;
  if (number < 0 || number >= static_cast<int64_t>(windows.size())) return nullptr;
  const auto& window = windows[static_cast<std::size_t>(number)];
  *size = static_cast<int64_t>(window.image->size());
  *places = window.places.data();
  *count = static_cast<int64_t>(window.places.size());
  return window.image->data();
}

void gpuprof_samples_clocks(const gpuprof_samples* samples, int64_t clocks[3]) {
  const auto& its = samples->taken.clocks;
  clocks[0] = its.cupti;
  clocks[1] = its.unix;
  clocks[2] = its.monotonic;
}
