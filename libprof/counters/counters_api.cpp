// The functions of gpuprof.h for chip metrics and PM sampling. No exception crosses them.
#include <new>

#include "libprof/counters/host.hpp"
#include "libprof/counters/pm.hpp"

namespace {

// Returns a handle even if opening fails, so that the error can be read.
template <class Handle>
int open_handle(const char* request, Handle** handle) {
  *handle = new (std::nothrow) Handle();
  if (!*handle) return static_cast<int>(gpuprof::ExitCode::internal);
  return (*handle)->open(request);
}

}  // namespace

int gpuprof_host_open(const char* request, gpuprof_host** host) {
  return open_handle(request, host);
}
void gpuprof_host_close(gpuprof_host* host) { delete host; }
const char* gpuprof_host_error(const gpuprof_host* host) { return host->error(); }
const char* gpuprof_host_hint(const gpuprof_host* host) { return host->hint(); }
int gpuprof_host_cupti_result(const gpuprof_host* host) { return host->cupti_result(); }

int gpuprof_host_ask(gpuprof_host* host, const char* request, const char** text) {
  return host->ask(request, text);
}

int gpuprof_host_config_image(gpuprof_host* host, const char* metrics, const uint8_t** image,
                              int64_t* size) {
  return host->config_image(metrics, image, size);
}

int gpuprof_host_passes(gpuprof_host* host, const uint8_t* image, int64_t size, int64_t* passes) {
  return host->passes(image, size, passes);
}

int gpuprof_host_evaluate(gpuprof_host* host, const uint8_t* image, int64_t size,
                          const int64_t* places, int64_t count, const char* metrics,
                          double* values) {
  return host->evaluate(image, size, places, count, metrics, values);
}

int gpuprof_pm_open(const char* request, gpuprof_pm** pm) { return open_handle(request, pm); }
void gpuprof_pm_close(gpuprof_pm* pm) { delete pm; }
const char* gpuprof_pm_error(const gpuprof_pm* pm) { return pm->error(); }
const char* gpuprof_pm_hint(const gpuprof_pm* pm) { return pm->hint(); }
int gpuprof_pm_cupti_result(const gpuprof_pm* pm) { return pm->cupti_result(); }

int gpuprof_pm_configure(gpuprof_pm* pm, const char* request) { return pm->configure(request); }
int gpuprof_pm_start(gpuprof_pm* pm, int64_t ring) { return pm->start(ring); }
int gpuprof_pm_stop(gpuprof_pm* pm) { return pm->stop(); }
void gpuprof_pm_wait(gpuprof_pm* pm, int64_t milliseconds) { pm->wait(milliseconds); }

int gpuprof_pm_take(gpuprof_pm* pm, int64_t most, gpuprof_samples** samples) {
  *samples = nullptr;
  return pm->take(most, samples);
}

int gpuprof_pm_image_bytes(gpuprof_pm* pm, const char* metrics, int64_t samples, int64_t* bytes) {
  return pm->image_bytes(metrics, samples, bytes);
}

int gpuprof_pm_state(gpuprof_pm* pm, const char** text) { return pm->state(text); }

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
