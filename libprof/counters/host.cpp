// The functions of gpuprof.h for the metrics of chips. No exception crosses them.
#include "libprof/counters/host.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "libprof/base/installation.hpp"
#include "libprof/base/json_text.hpp"
#include "libprof/c_api/gpuprof.h"
#include "libprof/c_api/guard.hpp"
#include "libprof/counters/consumer.hpp"
#include "libprof/cupti/host.hpp"
#include "libprof/metrics/sample_values.hpp"

using namespace gpuprof;
using Json = nlohmann::ordered_json;

namespace gpuprof::counters {

std::vector<std::string> cupti_candidates(const std::string& chosen) {
  Dl_info info{};
  std::filesystem::path folder = library_folder();
  if (dladdr(reinterpret_cast<const void*>(&gpuprof_abi_version), &info) && info.dli_fname) {
    std::error_code error;
    const auto file = std::filesystem::canonical(info.dli_fname, error);
    if (!error) folder = file.parent_path();
  }
  return host_cupti_candidates(chosen, folder);
}

std::vector<std::string> read_names(const char* json) {
  std::vector<std::string> names;
  const Json list = Json::parse(json, nullptr, false);
  if (!list.is_array()) throw Error("metrics are a list of names", "", ExitCode::bad_option);
  for (const Json& each : list) {
    if (!each.is_string()) throw Error("a metric's name is a text", "", ExitCode::bad_option);
    names.push_back(each.get<std::string>());
  }
  return names;
}

}  // namespace gpuprof::counters

struct gpuprof_host : public gpuprof::c_api::Guard {
  int open(const char* request);
  const cupti::HostChip& chip() const;

  std::shared_ptr<const cupti::HostLibrary> library;
  std::unique_ptr<metrics::SampleValues> values;  // null: no chip was named
  // The last ones returned.
  std::string text;
  cupti::Image image;
};

namespace {

Json read_object(const char* request) {
  Json object = Json::parse(request, nullptr, false);
  if (!object.is_object()) {
    throw Error("the question is not a JSON object", "gpuprof.h says what it is",
                ExitCode::bad_option);
  }
  return object;
}

std::string text_of(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return {};
  if (!found->is_string()) {
    throw Error(std::string(name) + " must be a string", "", ExitCode::bad_option);
  }
  return found->get<std::string>();
}

std::optional<int> number_of(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return {};
  if (!found->is_number_integer()) {
    throw Error(std::string(name) + " must be a whole number", "", ExitCode::bad_option);
  }
  return found->get<int>();
}

cupti::MetricType type_of(const Json& object) {
  const int number = number_of(object, "type").value_or(0);
  if (number < 0 || number > static_cast<int>(cupti::MetricType::throughput)) {
    throw Error("there is no type of metrics " + std::to_string(number), "", ExitCode::bad_option);
  }
  return static_cast<cupti::MetricType>(number);
}

Json properties_of(const cupti::HostChip& chip, const std::string& name) {
  const auto found = chip.properties(name);
  if (!found) {
    throw Error(chip.name() + " has no metric " + name, "gpuprof --query-metrics lists them",
                ExitCode::bad_option);
  }
  return {{"description", found->description},
          {"hw_unit", found->unit},
          {"dim_unit", found->dimension},
          {"type", static_cast<int>(found->type)},
          {"device_level", found->device_level}};
}

Json sub_metrics_of(const cupti::HostChip& chip, const std::string& base, cupti::MetricType type) {
  std::vector<std::string> found = chip.sub_metrics(base, type);
  if (found.empty()) {
    throw Error(chip.name() + " has no metric " + base + " of this type",
                "gpuprof --query-metrics lists them", ExitCode::bad_option);
  }
  return found;
}

}  // namespace

int gpuprof_host::open(const char* request) {
  return guarded([&] {
    const Json wanted = read_object(request);
    std::string chip = text_of(wanted, "chip");
    const std::string profiler = text_of(wanted, "profiler");
    if (!profiler.empty() && profiler != "samples") {
      throw Error("there is no profiler " + profiler, "samples, or none for ranges",
                  ExitCode::bad_option);
    }
    const auto candidates = counters::cupti_candidates(text_of(wanted, "cupti"));
    cupti::Image available;
    if (const auto device = number_of(wanted, "device")) {
      counters::DeviceChip its = counters::chip_of_device(*device, candidates);
      chip = its.chip;
      available = std::move(its.available);
      library = std::make_shared<const cupti::HostLibrary>(std::vector{its.cupti});
    } else {
      library = std::make_shared<const cupti::HostLibrary>(candidates);
    }
    if (chip.empty()) return;
    values = std::make_unique<metrics::SampleValues>(
        library, chip, profiler.empty() ? cupti::Counting::ranges : cupti::Counting::samples,
        std::move(available), text_of(wanted, "set"));
  });
}

const cupti::HostChip& gpuprof_host::chip() const {
  if (!values) throw Error("no chip was named", "", ExitCode::bad_option);
  return values->chip();
}

int gpuprof_host_open(const char* request, gpuprof_host** host) {
  return c_api::open_handle(request, host);
}
void gpuprof_host_close(gpuprof_host* host) { delete host; }
const char* gpuprof_host_error(const gpuprof_host* host) { return host->error(); }
const char* gpuprof_host_hint(const gpuprof_host* host) { return host->hint(); }
int gpuprof_host_cupti_result(const gpuprof_host* host) { return host->cupti_result(); }

int gpuprof_host_ask(gpuprof_host* host, const char* request, const char** text) {
  return host->guarded([&] {
    const Json wanted = read_object(request);
    const std::string question = text_of(wanted, "ask");
    const std::string metric = text_of(wanted, "metric");
    Json answer;
    if (question == "chips") {
      answer = host->library->chips();
    } else if (question == "chip") {
      answer = host->chip().name();
    } else if (question == "sets") {
      answer = host->library->single_pass_sets(host->chip().name());
    } else if (question == "metrics_in_set") {
      answer = host->library->metrics_in_set(host->chip().name(), text_of(wanted, "set"));
    } else if (question == "most_per_pass") {
      answer = host->library->most_per_pass(host->chip().name(), host->chip().counting());
    } else if (question == "base_metrics") {
      answer = host->chip().base_metrics(type_of(wanted));
    } else if (question == "sub_metrics") {
      answer = sub_metrics_of(host->chip(), metric, type_of(wanted));
    } else if (question == "properties") {
      answer = properties_of(host->chip(), metric);
    } else {
      throw Error("there is no question " + question, "gpuprof.h lists them", ExitCode::bad_option);
    }
    host->text = json_text(answer);
    *text = host->text.c_str();
  });
}

int gpuprof_host_config_image(gpuprof_host* host, const char* metrics, const uint8_t** image,
                              int64_t* size) {
  return host->guarded([&] {
    const std::vector<std::string> names = counters::read_names(metrics);
    auto made = names.empty() ? std::nullopt : host->chip().config_image(names);
    if (!made) {
      for (const std::string& name : names) {
        if (host->chip().config_image(std::vector{name})) continue;
        throw Error(host->chip().name() + " cannot count " + name,
                    "a full name has its roll-up (.sum, .avg …)", ExitCode::bad_option);
      }
      throw Error("CUPTI cannot collect these metrics together", "", ExitCode::bad_option);
    }
    host->image = std::move(*made);
    *image = host->image.data();
    *size = static_cast<std::int64_t>(host->image.size());
  });
}

int gpuprof_host_passes(gpuprof_host* host, const uint8_t* image, int64_t size, int64_t* passes) {
  return host->guarded([&] {
    const std::string any = host->values ? std::string() : host->library->chips().front();
    // Any chip will do: passes do not depend on it.
    if (!host->values) {
      host->values =
          std::make_unique<metrics::SampleValues>(host->library, any, cupti::Counting::ranges);
    }
    cupti::Image copy(image, image + std::max<std::int64_t>(size, 0));
    *passes = static_cast<std::int64_t>(host->values->chip().passes(copy));
    if (*passes == 0) throw Error("this is not a config image", "", ExitCode::bad_option);
  });
}

int gpuprof_host_evaluate(gpuprof_host* host, const uint8_t* image, int64_t size,
                          const int64_t* places, int64_t count, const char* metrics,
                          double* values) {
  return host->guarded([&] {
    if (size < 0 || count < 0) throw Error("less than nothing", "", ExitCode::bad_option);
    host->chip();
    host->values->evaluate({image, static_cast<std::size_t>(size)},
                           {places, static_cast<std::size_t>(count)}, counters::read_names(metrics),
                           values);
  });
}
